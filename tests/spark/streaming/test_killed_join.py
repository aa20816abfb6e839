"""A network that joins, killed at the worst moments and started again: each pair within the windows once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.spark.sinks import parquet_sink
from tests.spark.streaming.files import at, write_parquet
from tests.spark.streaming.harness import finish
from tests.spark.streaming.killed_program import HELD_SECONDS, run_joined
from tests.spark.streaming.killing import kill, rows_of
from tests.thoroughness import thorough

pytestmark = thorough

FILES = 6
FILE_SECONDS = 5
ROWS_PER_SECOND = 12
SIDES = {"events": "in", "others": "other"}


@dataclass(frozen=True)
class Joined:
    """Answers of a network that was killed twice, and all pairs as DuckDB finds them: those of `held` by window."""

    answers: list[dict[str, Any]]
    pairs: list[tuple[Any, ...]]
    held: dict[datetime, int]


def _rows(name: str, file: int) -> pa.Table:
    """Rows up to a second off their place."""
    draws = random.Random(f"{name} {file}")
    seconds = [
        max(0.0, round(file * FILE_SECONDS + index / ROWS_PER_SECOND - draws.random(), 2))
        for index in range(FILE_SECONDS * ROWS_PER_SECOND)
    ]
    return pa.table(
        {
            "ts": pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC")),
            "v": pa.array([draws.randrange(10) for _ in seconds], pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def joined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Joined:
    path = tmp_path_factory.mktemp("killed_join")
    written = {name: [_rows(name, file) for file in range(FILES)] for name in SIDES}
    for name, folder in SIDES.items():
        for file, rows in enumerate(written[name]):
            write_parquet(path / folder / f"{file}.parquet", rows)
    kill(path, "joined", 1, "unwritten")
    kill(path, "joined", 3, "written")
    finish(run_joined(spark, path, path / "checkpoint", parquet_sink(str(path / "answers"))), FILES)
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, files in written.items():
            database.register(name, pa.concat_tables(files))
        pairs = database.execute(
            "SELECT greatest(a.ts, b.ts), a.v, b.ts FROM events a JOIN others b ON a.v = b.v"
            " AND b.ts >= a.ts - INTERVAL 1 SECOND AND b.ts <= a.ts + INTERVAL 3 SECOND"
        ).fetchall()
        held = database.execute(
            "SELECT time_bucket(INTERVAL 5 SECOND, greatest(a.ts, b.ts)), count(*)"
            f" FROM events a JOIN others b ON a.v = b.v AND abs(epoch_ms(a.ts) - epoch_ms(b.ts)) <= {HELD_SECONDS}000"
            " GROUP BY ALL"
        ).fetchall()
    return Joined(rows_of(path / "answers"), pairs, dict(held))


def test_each_pair_is_counted_once(joined: Joined) -> None:
    rows = [row for row in joined.answers if (row["query"], row["aggregate"]) == ("by_v", "n")]
    found = {(row["window_start"], row["key"][0]): int(row["value"]) for row in rows}
    assert len(found) == len(rows)
    assert all(row["exact"] for row in rows)
    windows = [at(start) for start in range(0, FILES * FILE_SECONDS + 5, 5)]
    expected = Counter((max(start for start in windows if start <= later), str(v)) for later, v, _ in joined.pairs)
    assert found == dict(expected)


def test_each_pair_comes_as_a_row_once(joined: Joined) -> None:
    rows = [row for row in joined.answers if row["query"] == "sevens" and row["aggregate"] is None]
    expected = Counter(later for later, v, _ in joined.pairs if v == 7)
    assert Counter(row["window_start"] for row in rows) == expected


def test_pairs_of_windows_that_had_no_memory_are_missed_and_that_is_said(joined: Joined) -> None:
    held = [row for row in joined.answers if row["query"] == "held"]
    told = {row["window_start"]: row for row in held}
    assert len(told) == len(held)
    # While nothing comes, time goes on, and windows without pairs pass.
    assert set(told) >= set(joined.held)
    for start, row in told.items():
        true = joined.held.get(start, 0)
        assert row["value"] == true if row["exact"] else row["value"] <= true
        assert row["exact"] or row["reason"] == "partly joined"
    first, last = min(joined.held), max(joined.held)
    assert told[first]["exact"]
    assert told[last]["value"] < joined.held[last]
    assert not told[last]["exact"]
