"""Joins of streams that stop, lag, or tell the wrong time: nothing is stuck or grows, what is late is counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import Stream, stream
from streamshed.spark.run import Run
from tests.spark.streaming.files import at, write_parquet
from tests.spark.streaming.harness import PATIENCE_SECONDS, Collected, wait_until
from tests.thoroughness import thorough

pytestmark = thorough

WATERMARK_SECONDS, WITHIN_SECONDS, IDLE_SECONDS = 2, 4, 1
FILE_SECONDS, ROWS_PER_SECOND = 5, 4
TOGETHER, ALONE, AGAIN = 3, 10, 3
"""Files of both streams; files of the left one only; files of both again."""

HOUR = 3600.0


@dataclass(frozen=True)
class Course:
    """A left stream that goes on, and a right one that stops, comes back an hour late, and then in time."""

    counts: dict[float, float]
    journal: pd.DataFrame
    all_exact: bool


def _rows(begins: float) -> pa.Table:
    """Rows of one key, evenly in time."""
    seconds = [begins + index / ROWS_PER_SECOND for index in range(FILE_SECONDS * ROWS_PER_SECOND)]
    instants = pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"ts": instants, "v": pa.array([1] * len(seconds), pa.int64())})


def _stream(path: Path, name: str, idle_after: str | None) -> Stream:
    source = folder(path / name, "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    return stream(name, source, time="ts", watermark=f"{WATERMARK_SECONDS} seconds", idle_after=idle_after)


@pytest.fixture(scope="module")
def course(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Course:
    path, numbers = tmp_path_factory.mktemp("odd_clocks"), iter(range(1000))
    collected = Collected()

    def arrive(*names: str, begins: float) -> None:
        for name in names:
            write_parquet(path / name / f"{next(numbers):04d}.parquet", _rows(begins))

    for file in range(TOGETHER):
        arrive("left", "right", begins=HOUR + file * FILE_SECONDS)
    left, right = _stream(path, "left", "1 hour"), _stream(path, "right", f"{IDLE_SECONDS} seconds")
    pairs = left.join(right, on="v", within=f"{WITHIN_SECONDS} s", basic_window="1 s")
    asked = network(
        pairs.window("5 seconds").agg(n="count(*)").query("pairs", mode="exact"),
        left.window("5 seconds").agg(n="count(*)").query("left_alone", mode="exact"),
    )
    settings = {"trigger": "100 ms", "partitions": 1, "advisory": True}
    run = asked.start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **settings)
    with run:
        for file in range(TOGETHER, TOGETHER + ALONE):
            arrive("left", begins=HOUR + file * FILE_SECONDS)
        alone_until = HOUR + (TOGETHER + ALONE) * FILE_SECONDS
        _wait_for_window(run, collected, alone_until - 2 * FILE_SECONDS)
        arrive("right", begins=0.0)
        wait_until(run, lambda: _late_rows(run) > 0, "late rows of the join")
        for file in range(TOGETHER + ALONE, TOGETHER + ALONE + AGAIN):
            # The left one would make those of the right late, which is idle until its rows come.
            arrive("right", "left", begins=HOUR + file * FILE_SECONDS)
        wait_until(run, lambda: _offered(run) == _rows_in_all(), "all rows")
        assert run.drain(PATIENCE_SECONDS)
        journal = run.journal()
    values = collected.values("pairs", "n")
    counts = {(start - at(0.0)).total_seconds(): value or 0.0 for start, value in values.items()}
    return Course(counts, journal, all(row.exact for row in collected.rows()))


def _wait_for_window(run: Run, collected: Collected, start: float) -> None:
    """The stream that goes on is answered though the other one is silent."""
    wait_until(run, lambda: at(start) in collected.values("left_alone", "n"), f"the window of {start}")


def _late_rows(run: Run) -> int:
    return sum(told["left_right"]["late_rows"] for told in _joins(run.journal()))


def _joins(journal: pd.DataFrame) -> list[dict[str, dict[str, int]]]:
    return [told for told in journal["joins"] if told]


def _offered(run: Run) -> int:
    return int(run.journal()["offered_rows"].sum())


def _rows_in_all() -> int:
    """As the journal tells them: those of the join, and once more those of the left stream, which is asked as well."""
    of_join = 2 * TOGETHER + ALONE + 1 + 2 * AGAIN
    return (of_join + TOGETHER + ALONE + AGAIN) * FILE_SECONDS * ROWS_PER_SECOND


def _pairs_of(begins: float, ends: float) -> int:
    """How many pairs of both streams in [begins, ends) there are."""
    step = 1 / ROWS_PER_SECOND
    count = round((ends - begins) / step)
    reach = round(WITHIN_SECONDS / step)
    return sum(min(count, place + reach + 1) - max(0, place - reach) for place in range(count))


def test_each_pair_of_rows_that_came_in_time_is_found(course: Course) -> None:
    together = _pairs_of(0, TOGETHER * FILE_SECONDS)
    again = (TOGETHER + ALONE) * FILE_SECONDS
    of_first = {start: n for start, n in course.counts.items() if start < HOUR + again - FILE_SECONDS}
    rest = WITHIN_SECONDS * ROWS_PER_SECOND
    crossing = rest * (rest + 1) // 2
    assert sum(of_first.values()) == together + crossing
    of_last = sum(n for start, n in course.counts.items() if start >= HOUR + again - FILE_SECONDS)
    assert of_last == _pairs_of(0, AGAIN * FILE_SECONDS) + crossing
    assert course.all_exact


def test_rows_of_an_hour_ago_are_late_and_join_nothing(course: Course) -> None:
    late = sum(told["left_right"]["late_rows"] for told in _joins(course.journal))
    assert late == FILE_SECONDS * ROWS_PER_SECOND
    assert min(course.counts) >= HOUR


def test_what_windows_hold_does_not_grow_while_one_stream_is_silent(course: Course) -> None:
    held = [told["left_right"]["stored_rows"] for told in _joins(course.journal)]
    most = (WITHIN_SECONDS + WATERMARK_SECONDS + 2 * FILE_SECONDS + 2) * ROWS_PER_SECOND
    assert max(held) <= 2 * most
    assert held[-1] <= 2 * most
