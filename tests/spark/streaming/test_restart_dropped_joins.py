"""Windows over a join across a restart: those that were dropped, and those of a query that is added beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_for_micro_batch
from tests.thoroughness import thorough

pytestmark = thorough

FILES_BEFORE, FILES, FILE_SECONDS, ROWS_PER_SECOND = 5, 9, 10, 4
SECONDS = FILES * FILE_SECONDS
RESTARTED_AT = FILES_BEFORE * FILE_SECONDS
WAITS_SECONDS = 15


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    return {"dropping": 0.1} if micro_batch_id >= 1 else {}


def _table(factor: int) -> pa.Table:
    ids = np.arange(SECONDS * ROWS_PER_SECOND)
    times = pa.array(EPOCH_MICROSECONDS + ids * 1_000_000 // ROWS_PER_SECOND, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "host": (ids * factor) % 5})


INPUTS = {"calls": _table(7), "alerts": _table(3)}


def _network(path: Path, run: int) -> QueryNetwork:
    def side(name: str) -> Stream:
        source = folder(path / name, "parquet", schema="ts timestamp, host bigint", max_files_per_micro_batch=1)
        return stream(name, source, time="ts", watermark="2 seconds")

    windows = side("calls").join(side("alerts"), on="host", within=f"{WAITS_SECONDS} s").window("5 seconds")
    counts, hosts = windows.agg(n="count(*)"), windows.agg(n="count(calls_host)", most="max(calls_host)")
    if run == 0:
        return network(counts.query("dropping", mode="subset", max_gap=20))
    return network(counts.query("dropping", mode="exact"), hosts.query("added", mode="subset", max_gap=2))


def _expected() -> dict[int, float]:
    """How many pairs DuckDB finds, by the second at which a window starts."""
    with duckdb.connect() as database:
        for name, table in INPUTS.items():
            database.register(name, table.append_column("t", table["ts"].cast(pa.int64())))
        rows = database.execute(
            f"SELECT (greatest(a.t, b.t) - {EPOCH_MICROSECONDS}) // 5000000 * 5 AS start, count(*) FROM calls a"
            f" JOIN alerts b ON a.host = b.host AND abs(a.t - b.t) <= {WAITS_SECONDS * 1_000_000} GROUP BY ALL"
        ).fetchall()
    return {start: float(count) for start, count in rows}


@pytest.fixture(scope="module")
def collected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    path, collected = tmp_path_factory.mktemp("restart_dropped_joins"), Collected()
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, **QUICK}

    def write(files: range) -> None:
        size = FILE_SECONDS * ROWS_PER_SECOND
        for number in files:
            for name, table in INPUTS.items():
                write_parquet(path / name / f"{number}.parquet", table.slice(number * size, size))

    write(range(FILES_BEFORE))
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: {}, kept_shares=kept_shares)
        with _network(path, 0).start(spark, **settings) as run:
            wait_for_micro_batch(run, FILES_BEFORE - 1)
    first = max(collected.tables) + 1
    write(range(FILES_BEFORE, FILES))
    # Nothing is shed for want of time, whatever else the machine does.
    finish(_network(path, 1).start(spark, advisory=True, **settings), first + FILES - FILES_BEFORE)
    return collected


@pytest.mark.parametrize("query", ["dropping", "added"])
def test_what_is_answered_is_what_duckdb_finds_and_the_rest_are_gaps(collected: Collected, query: str) -> None:
    expected = {start: count for start, count in _expected().items() if query == "dropping" or start >= RESTARTED_AT}
    gaps = {round(seconds_of(row.window_start)): row.reason for row in collected.rows(query, kind="gap")}
    values = {round(seconds_of(start)): value for start, value in collected.values(query, "n").items()}
    assert all(row.exact for row in collected.rows(query))
    assert {start: values.get(start) for start in expected if start not in gaps} == {
        start: count for start, count in expected.items() if start not in gaps
    }
    assert gaps.keys().isdisjoint(values)
    if query == "dropping":
        assert any(start >= RESTARTED_AT - 5 for start in gaps)
        assert any(start >= RESTARTED_AT and start not in gaps for start in expected)
    else:
        assert set(gaps.values()) == {"before the query"}
        assert RESTARTED_AT + WAITS_SECONDS - 5 <= max(gaps) < RESTARTED_AT + WAITS_SECONDS
