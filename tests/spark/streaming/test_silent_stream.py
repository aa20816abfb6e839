"""A silent stream holds up nobody: the carrier tells how far its time has come."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import at, timed_values, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, wait_until

FILES = 3


@dataclass(frozen=True)
class Heard:
    """What was answered before the network was drained, and in all."""

    before: set[tuple[str, float]]
    collected: Collected


@pytest.fixture(scope="module")
def heard(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    path = tmp_path_factory.mktemp("silent")
    (path / "silent").mkdir()
    for number in range(FILES):
        seconds = [number * 10 + index / 2 for index in range(20)]
        write_parquet(path / "talking" / f"{number}.parquet", timed_values(seconds, [1] * len(seconds)))
    talking, silent = _stream(path, "talking"), _stream(path, "silent", idle_after="1 second")
    queries = network(
        talking.window("5 seconds").agg(n="count(*)").query("talking"),
        talking.filter("v > 1").window("5 seconds").agg(n="count(*)", total="sum(v)").query("nothing"),
        silent.window("5 seconds").agg(n="count(*)", most="max(v)").query("silent"),
        silent.window("5 seconds").by("v").agg(n="count(*)").query("silent_groups"),
    )
    collected = Collected()
    settings = {"advisory": True, "unscalable": "keep", **QUICK}
    run = queries.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
    with run:
        wait_until(run, lambda: at(20.0) in collected.values("talking", "n"), "an answer of the talking stream")
        before = {(row.query, row.value or 0.0) for row in collected.rows()}
        assert run.drain()
    return Heard(before, collected)


def _stream(path: Path, name: str, idle_after: str | None = None) -> Stream:
    source = folder(path / name, "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark="1 second", idle_after=idle_after)


def test_the_other_stream_is_answered(heard: Heard) -> None:
    assert ("talking", 10.0) in heard.before
    expected = {at(start): 10.0 for start in range(0, FILES * 10, 5)}
    assert heard.collected.values("talking", "n") == expected


def test_its_windows_without_rows_are_answered(heard: Heard) -> None:
    starts = {at(start) for start in range(0, FILES * 10, 5)}
    assert heard.collected.values("nothing", "n") == dict.fromkeys(starts, 0.0)
    assert heard.collected.values("nothing", "total") == dict.fromkeys(starts)


def test_the_silent_stream_is_answered_from_when_its_time_is_known(heard: Heard) -> None:
    counts = heard.collected.values("silent", "n")
    assert counts
    assert set(counts.values()) == {0.0}
    assert max(counts) == at(25)
    assert set(heard.collected.values("silent", "most").values()) == {None}
    assert heard.collected.rows("silent_groups") == []
    assert all(row.exact for row in heard.collected.rows())
