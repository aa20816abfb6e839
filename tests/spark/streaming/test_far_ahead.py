"""A row from the year 2038 amid ordinary ones: it is set aside, and all else goes on as without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import write_lines, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish
from tests.thoroughness import chosen, thorough

FILES, FILE_SECONDS, ROWS_PER_SECOND, ODD_FILE = 8, 10, 20, 2
MAX_GAP = 3
REASON = "event time is too far ahead of the clock"
YEAR_2038 = datetime(2038, 1, 19, tzinfo=UTC)
START = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
SCHEMA = "ts timestamp, v bigint"


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    """Windows are dropped from after the odd row came."""
    return {"subset": 0.4} if ODD_FILE < micro_batch_id < FILES - 1 else {}


@dataclass(frozen=True)
class Outcome:
    """What was answered, set aside and counted, and the ordinary rows."""

    collected: Collected
    set_aside: list[dict[str, Any]]
    unreadable_rows: int
    journal: pd.DataFrame
    ordinary: pa.Table


def _network(path: Path, kind: str) -> QueryNetwork:
    source = folder(path / "in", kind, schema=SCHEMA, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="2 seconds")
    return network(
        rows.window("1 second").agg(n="count(*)", total="sum(v)").query("subset", mode="subset", max_gap=MAX_GAP),
        rows.window("3 seconds", every="1 second").agg(n="count(*)", total="sum(v)").query("exact", mode="exact"),
    )


def _rows(number: int) -> tuple[list[datetime], list[int]]:
    ids = range(number * FILE_SECONDS * ROWS_PER_SECOND, (number + 1) * FILE_SECONDS * ROWS_PER_SECOND)
    return [START + timedelta(seconds=one / ROWS_PER_SECOND) for one in ids], [one * 7919 % 101 for one in ids]


def _write(path: Path, kind: str, number: int) -> pa.Table:
    """Write a file, and return its ordinary rows."""
    times, values = _rows(number)
    ordinary = _table(times, values)
    if number == ODD_FILE:
        times, values = [*times[:50], YEAR_2038, *times[50:]], [*values[:50], 1_000_000, *values[50:]]
    if kind == "parquet":
        write_parquet(path / "in" / f"{number}.parquet", _table(times, values))
    else:
        lines = [json.dumps({"ts": t.isoformat(), "v": v}) for t, v in zip(times, values, strict=True)]
        write_lines(path / "in" / f"{number}.json", lines)
    return ordinary


def _table(times: list[datetime], values: list[int]) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "v": pa.array(values, pa.int64())})


@pytest.fixture(scope="module", params=chosen(["parquet", "json"], "parquet"))
def outcome(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    kind: str = request.param
    path = tmp_path_factory.mktemp(f"far_ahead_{kind}")
    ordinary = pa.concat_tables([_write(path, kind, number) for number in range(FILES)])
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=kept_shares)
        run = _network(path, kind).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, FILES - 1)
    found = dataset.dataset(path / "checkpoint" / "time" / "set_aside", partitioning="hive").to_table().to_pylist()
    return Outcome(collected, found, run.status().unreadable_rows, run.journal(), ordinary)


def _expected(ordinary: pa.Table, size_seconds: int) -> dict[datetime, tuple[int, int]]:
    """What DuckDB answers of the ordinary rows, by the start of the window."""
    tables = duckdb.connect()
    tables.register("ordinary", ordinary)
    first = int(START.timestamp()) * 1_000_000
    query = f"""
        WITH numbered AS (SELECT (epoch_us(ts) - {first}) // 1000000 AS second, v FROM ordinary)
        SELECT second - ahead AS start, count(*), sum(v)::BIGINT
        FROM numbered, range({size_seconds}) AS of_windows(ahead) GROUP BY start
    """
    found = tables.sql(query).fetchall()
    return {START + timedelta(seconds=start): (count, total) for start, count, total in found}


def _answered(outcome: Outcome, query: str) -> dict[datetime, tuple[float | None, float | None]]:
    counts, totals = (outcome.collected.values(query, name) for name in ("n", "total"))
    return {start: (counts[start], totals[start]) for start in counts}


def test_every_window_is_answered_as_without_the_row(outcome: Outcome) -> None:
    assert _answered(outcome, "exact") == _expected(outcome.ordinary, 3)
    assert all(row.exact for row in outcome.collected.rows("exact"))


def test_windows_close_as_their_time_passes(outcome: Outcome) -> None:
    """Not at once as if it were 2038, nor at the end: with the micro-batch after the next."""
    in_micro_batch = {row.window_start: row.micro_batch_id for row in outcome.collected.rows("exact")}
    for number in range(FILES - 3):
        last_of_file = START + timedelta(seconds=(number + 1) * FILE_SECONDS - 6)
        assert number < in_micro_batch[last_of_file] <= number + 2


def test_windows_are_still_dropped_and_no_gap_is_too_long(outcome: Outcome) -> None:
    expected, answered = _expected(outcome.ordinary, 1), _answered(outcome, "subset")
    gaps = [row.window_start for row in outcome.collected.rows("subset", kind="gap")]
    assert answered == {start: values for start, values in expected.items() if start in answered}
    assert set(gaps) | set(answered) == set(expected)
    assert not set(gaps) & set(answered)
    after = START + timedelta(seconds=(ODD_FILE + 2) * FILE_SECONDS)
    assert sum(start >= after for start in gaps) >= 10
    kept = sorted(answered)
    assert max((after - before).total_seconds() for before, after in pairwise(kept)) <= MAX_GAP + 1


def test_the_row_is_set_aside_and_counted(outcome: Outcome) -> None:
    (row,) = outcome.set_aside
    assert (row["stream"], row["reason"], row["rows"]) == ("events", REASON, 1)
    assert "2038" in row["text"] or row["identity"].endswith(f"{ODD_FILE}.parquet#50")
    assert outcome.unreadable_rows == 1
    assert int(outcome.journal.unreadable_rows.iloc[-1]) == 1


def test_nothing_is_late(outcome: Outcome) -> None:
    assert outcome.collected.rows(kind="late") == []


@thorough
def test_far_ahead_nothing_is_joined_and_nobody_waits(spark: SparkSession, tmp_path: Path) -> None:
    """Both sides have such a row, of one time."""
    files = range(ODD_FILE + 2)
    tables = [
        pa.concat_tables([_write(tmp_path / name, "parquet", number) for number in files]) for name in ("left", "right")
    ]
    left, right = (
        stream(
            name,
            folder(tmp_path / name / "in", "parquet", schema=SCHEMA, max_files_per_micro_batch=1),
            time="ts",
            watermark="2 seconds",
        )
        for name in ("left", "right")
    )
    pairs = left.join(right, on="v", within="2 seconds")
    asked = network(pairs.window("5 seconds").agg(n="count(*)").query("pairs", mode="exact"))
    collected = Collected()
    run = asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, advisory=True, **QUICK)
    finish(run, files[-1])
    connection = duckdb.connect()
    for name, table in zip(("l", "r"), tables, strict=True):
        connection.register(name, table)
    expected = connection.sql(
        f"""
        SELECT (epoch_us(greatest(l.ts, r.ts)) - {int(START.timestamp()) * 1_000_000}) // 5000000 AS number, count(*)
        FROM l JOIN r ON l.v = r.v AND abs(epoch_us(l.ts) - epoch_us(r.ts)) <= 2000000 GROUP BY number
        """
    ).fetchall()
    answered = {start: count for start, count in collected.values("pairs", "n").items() if count}
    assert answered == {START + timedelta(seconds=5 * number): count for number, count in expected}
    assert run.status().unreadable_rows == 2
