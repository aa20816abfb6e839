"""Streams of two clocks: two streaming queries under one handle, each with micro-batches and a time of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import IncompatibleCheckpointError, InvalidNetworkError
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import at, timed_values, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, Found, found_in

FILES = 3
YEAR_SECONDS = 366 * 86_400.0


@dataclass
class CollectedById:
    """A sink function that tells the micro-batches of several queries apart."""

    tables: dict[tuple[str, int], pa.Table] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, answers: DataFrame, micro_batch_id: int, query_id: str) -> None:
        found = answers.toArrow()
        with self.lock:
            self.tables[query_id, micro_batch_id] = found

    def rows(self, query: str) -> list[Found]:
        found = [row for (_, number), table in self.tables.items() for row in found_in(table, number)]
        return [row for row in found if row.query == query]


@dataclass(frozen=True)
class Both:
    """What both queries answered, and the journal of both clocks."""

    path: Path
    collected: CollectedById
    journal: pd.DataFrame
    clocks: set[str]


def _stream(path: Path, name: str, clock: str) -> Stream:
    source = folder(path / name, "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark="1 second", clock=clock)


def _network(path: Path) -> QueryNetwork:
    """One stream a year behind the other: with one clock, all its rows would be late."""
    return network(
        _stream(path, "now", "time").window("10 seconds").agg(n="count(*)").query("now"),
        _stream(path, "then", "history").window("10 seconds").agg(n="count(*)").query("then"),
    )


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    path = tmp_path_factory.mktemp("two_clocks")
    for number in range(FILES):
        seconds = [number * 10.0 + index for index in range(10)]
        write_parquet(path / "now" / f"{number}.parquet", timed_values(seconds, [1] * 10))
        past = [second - YEAR_SECONDS for second in seconds]
        write_parquet(path / "then" / f"{number}.parquet", timed_values(past * 2, [1] * 20))
    collected = CollectedById()
    settings = {"checkpoint": str(path / "checkpoint"), "sink": collected, "advisory": True, **QUICK}
    with _network(path).start(spark, **settings) as run:
        assert run.drain(120)
        return Both(path, collected, run.journal(), set(run.statuses()))


def test_each_is_answered_in_its_own_time(both: Both) -> None:
    for query, rows, since in (("now", 10.0, 0.0), ("then", 20.0, -YEAR_SECONDS)):
        answers = {row.window_start: row.value for row in both.collected.rows(query)}
        assert answers == {at(since + 10 * number): rows for number in range(FILES)}
        assert len(both.collected.rows(query)) == FILES


def test_the_journal_and_the_statuses_tell_them_apart(both: Both) -> None:
    assert both.clocks == {"time", "history"}
    assert set(both.journal.clock) == {"time", "history"}
    assert {clock: rows.offered_rows.sum() for clock, rows in both.journal.groupby("clock")} == {
        "time": 10 * FILES,
        "history": 20 * FILES,
    }


def test_a_function_that_cannot_tell_them_apart_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": Collected(), **QUICK}
    with pytest.raises(InvalidNetworkError, match=r"clocks history, time .* \(answers, micro_batch_id, query_id\)"):
        _network(tmp_path).start(spark, **settings)
    assert not (tmp_path / "checkpoint").exists()


def test_a_clock_without_streams_is_refused_under_the_checkpoint(both: Both, spark: SparkSession) -> None:
    alone = _stream(both.path, "now", "time").window("10 seconds").agg(n="count(*)").query("now")
    settings = {"checkpoint": str(both.path / "checkpoint"), "sink": Collected(), **QUICK}
    with pytest.raises(IncompatibleCheckpointError, match='clock "history", which the network no longer has'):
        network(alone).start(spark, **settings)
