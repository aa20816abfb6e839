"""After a downtime rows older than `max_age` are skipped: each window is a gap that needs one, or exact."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.spark.run import Run
from tests.spark.event_times import EPOCH_MICROSECONDS, at
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, Collected, finish, wait_for_micro_batch
from tests.thoroughness import thorough

SECONDS_PER_FILE = 10
READ_SECONDS = 60
"""So long the network ran before it was down."""
NEWEST = 659.5
AGE = 100
SKIPPED = (READ_SECONDS, NEWEST - AGE)
"""From when until when rows are too old."""


@dataclass(frozen=True)
class CaughtUp:
    """What came before, during and after the downtime."""

    collected: Collected
    journal: pd.DataFrame
    truth: duckdb.DuckDBPyConnection


def _write(path: Path, name: str, first: int, last: int) -> None:
    """A file for each ten seconds; a row of each half second."""
    for start in range(first, last, SECONDS_PER_FILE):
        halves = np.arange(2 * start, 2 * (start + SECONDS_PER_FILE))
        columns = {
            "ts": pa.array(EPOCH_MICROSECONDS + halves * 500_000, pa.timestamp("us", "UTC")),
            "half": halves,
            "k": halves * 7 % 5 + (name == "alerts"),
        }
        write_parquet(path / name / f"{start:04}.parquet", pa.table(columns))


def _stream(path: Path, name: str) -> Rows:
    schema = "ts timestamp, half bigint, k bigint"
    return stream(name, folder(path / name, "parquet", schema=schema, max_files_per_micro_batch=12), time="ts")


def _network(path: Path) -> QueryNetwork:
    calls, alerts = (_stream(path, name) for name in ("calls", "alerts"))
    counts = calls.window("10 seconds").by("k").agg(n="count(*)", total="sum(half)")
    return network(
        calls.window("20 seconds", every="5 seconds").agg(total="sum(half)").query("sliding", mode="exact"),
        counts.query("by_key", mode="exact"),
        counts.window("1 minute").agg(most="max(total)").query("nested", mode="exact"),
        calls.window("10 seconds").agg(most="max(half)").query("subset", mode="subset", max_gap=2),
        calls.filter("k = 2").query("rows", mode="exact"),
        calls.join(alerts, on="k", within="8 s").window("15 s").agg(n="count(*)").query("pairs", mode="exact"),
    )


def _start(path: Path, spark: SparkSession, collected: Collected) -> Run:
    run: Run = _network(path).start(
        spark, checkpoint=str(path / "checkpoint"), sink=collected, max_age=f"{AGE} seconds", **QUICK
    )
    return run


@pytest.fixture(scope="module")
def caught_up(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaughtUp:
    path, collected = tmp_path_factory.mktemp("max_age"), Collected()
    for name in ("calls", "alerts"):
        _write(path, name, 0, READ_SECONDS)
    with _start(path, spark, collected) as run:
        wait_for_micro_batch(run, 2)
    for name in ("calls", "alerts"):
        _write(path, name, READ_SECONDS, 660)
    with _start(path, spark, collected) as run:
        wait_for_micro_batch(run, max(collected.tables, default=0) + 3)  # in the midst of the backlog
    run = _start(path, spark, collected)
    finish(run, max(collected.tables, default=0) + 2)
    truth = duckdb.connect()
    for name in ("calls", "alerts"):
        truth.execute(f"CREATE VIEW {name} AS SELECT half / 2.0 AS s, * FROM read_parquet('{path / name}/*.parquet')")
    return CaughtUp(collected, run.journal(), truth)


WINDOWED = """
    SELECT w.start, {key} AS key, {value} AS value
    FROM (SELECT range - {size} AS start FROM range({slide}, {until}, {slide})) w
    JOIN ({rows}) r ON r.s >= w.start AND r.s < w.start + {size}
    GROUP BY ALL
"""
PAIRS = "SELECT greatest(c.s, a.s) AS s FROM calls c JOIN alerts a ON c.k = a.k AND abs(c.s - a.s) <= 8"
NESTED = "SELECT floor(s / 10) * 10 AS s, sum(half) AS total FROM calls GROUP BY floor(s / 10), k"
CASES = {
    "sliding": ("total", 20, 5, "NULL", "sum(r.half)", "SELECT * FROM calls"),
    "by_key": ("total", 10, 10, "r.k", "sum(r.half)", "SELECT * FROM calls"),
    "nested": ("most", 60, 60, "NULL", "max(r.total)", NESTED),
    "subset": ("most", 10, 10, "NULL", "max(r.half)", "SELECT * FROM calls"),
    "pairs": ("n", 15, 15, "NULL", "count(*)", PAIRS),
}


@thorough
@pytest.mark.parametrize("query", CASES)
def test_each_window_is_a_gap_or_exact(caught_up: CaughtUp, query: str) -> None:
    aggregate, size, slide, key, value, rows = CASES[query]
    asked = WINDOWED.format(size=size, slide=slide, key=key, value=value, rows=rows, until=660 + size)
    truth = caught_up.truth.execute(asked).fetchall()
    waits = 8 if query == "pairs" else 0
    skipped_until = SKIPPED[1] + waits
    gone = {start for start, _, _ in truth if start + size > SKIPPED[0] and start < skipped_until}
    gaps = caught_up.collected.rows(query, "gap")
    inside = [row for row in gaps if at(0) <= row.window_start < at(660)]
    assert {row.window_start for row in inside} == {at(start) for start in gone if start >= 0}
    assert {row.reason for row in inside} == {"too old"}
    answers = {
        (row.window_start, row.key): row.value
        for row in caught_up.collected.rows(query)
        if row.aggregate == aggregate and row.rows_used
    }
    expected = {(at(s), () if k is None else (str(k),)): float(v) for s, k, v in truth if s not in gone}
    assert len(expected) > 1
    assert answers == expected
    assert all(row.exact for row in caught_up.collected.rows(query))


@thorough
def test_rows_that_are_too_old_are_not_delivered(caught_up: CaughtUp) -> None:
    starts = [row.window_start for row in caught_up.collected.rows("rows", "row")]
    first, until = SKIPPED
    truth = caught_up.truth.execute(f"SELECT s FROM calls WHERE k = 2 AND (s < {first} OR s >= {until})").fetchall()
    assert sorted(starts) == sorted(at(s) for (s,) in truth)


@thorough
def test_the_journal_tells_what_was_skipped(caught_up: CaughtUp) -> None:
    journal = caught_up.journal
    rows = 2 * (SKIPPED[1] - SKIPPED[0])  # of calls; what only a join asks for is counted with its results
    assert 0.5 * rows < journal.skipped_rows.sum() < 1.1 * rows
    assert journal.explanation.str.contains("older than max_age").any()
    assert not journal.explanation.iloc[-1].endswith("older than max_age")
