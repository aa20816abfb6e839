"""A stream of which no row can be read: that is reported, and holds up nobody."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from tests.spark.streaming.files import at, write_lines
from tests.spark.streaming.harness import QUICK, Collected, wait_until

FILES = 3
ROWS = 20


def _stream(path: Path, name: str, *, is_broken: bool) -> Stream:
    """Twenty rows a file, two a second; broken ones have another name for the time."""
    for number in range(FILES):
        instants = [at(number * 10 + index / 2).isoformat() for index in range(ROWS)]
        rows = [json.dumps({"at" if is_broken else "ts": instant, "v": 1}) for instant in instants]
        write_lines(path / name / f"{number}.json", rows)
    source = folder(path / name, "json", schema="ts timestamp, v int", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark="1 second", idle_after="1 second")


def test_a_stream_that_was_never_readable_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    broken = _stream(tmp_path, "broken", is_broken=True)
    queries = network(broken.window("2 seconds").agg(n="count(*)").query("q"))
    collected = Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **QUICK}
    with queries.start(spark, **settings) as run:
        wait_until(run, lambda: run.status().unreadable_rows >= ROWS, "unreadable rows")
        assert collected.rows() == []
        later = [json.dumps({"ts": at(100 + index).isoformat(), "v": 1}) for index in range(8)]
        write_lines(tmp_path / "broken" / "readable.json", later)
        wait_until(run, lambda: at(100) in collected.values("q", "n"), "an answer, once rows can be read")
        assert run.drain()
    assert run.status().unreadable_rows == FILES * ROWS
    assert {row.value for row in collected.rows("q") if at(100) <= row.window_start < at(108)} == {2.0}
    assert min(row.window_start for row in collected.rows("q")) >= at(98)


def test_the_others_are_answered(spark: SparkSession, tmp_path: Path) -> None:
    good, broken = (_stream(tmp_path, name, is_broken=name == "broken") for name in ("good", "broken"))
    queries = network(
        good.window("5 seconds").agg(n="count(*)").query("good"),
        broken.window("5 seconds").agg(n="count(*)").query("broken"),
    )
    collected = Collected()
    settings = {"checkpoint": str(tmp_path / "checkpoint"), "sink": collected, **QUICK}
    with queries.start(spark, **settings) as run:
        wait_until(run, lambda: at(20) in collected.values("good", "n"), "an answer of the stream that can be read")
        wait_until(run, lambda: run.status().unreadable_rows >= ROWS, "unreadable rows")
    assert collected.values("good", "n")[at(0)] == 10.0
