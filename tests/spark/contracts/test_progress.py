"""Spark's progress report tells what each stream was offered and admitted."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import SourceMismatchError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FolderSource, folder, rate
from streamshed.spark.checkpoint.source_places import SourcePlaces, source_places
from streamshed.spark.common.set_apart import UNREADABLE_CLASS
from streamshed.spark.source.carrier import carrier_frame
from streamshed.spark.source.progress import observed, report_of
from streamshed.spark.source.source_frame import streaming_frame
from tests.spark.event_times import EPOCH, EPOCH_MICROSECONDS
from tests.spark.files import timed_values, write_parquet

SECOND = 1_000_000
ORDINARY_CLASS = 12345
STEPS = ["look_for_rows", "note_offsets", "open_sources", "plan_query", "compute", "commit"]


def test_rows_offered_are_told_by_stream(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        write_parquet(tmp_path / "a" / f"{number}.parquet", timed_values([number] * 5, [1] * 5))
        write_parquet(tmp_path / "aa" / f"{number}.parquet", timed_values([number, 0], [1, 1]))
    # A source of the carrier's kind, which is not to be taken for the carrier.
    frame = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 7).load()
    (tmp_path / "link").symlink_to(tmp_path / "aa")
    reader = spark.readStream.schema("ts timestamp, v int").option("maxFilesPerTrigger", 1)
    both = reader.parquet(str(tmp_path / "a")).unionByName(reader.parquet(f"file://{tmp_path}/aa"))
    streams = [
        stream("frame", frame, time="timestamp"),
        stream("both", both, time="ts"),
        stream("long", _one_by_one(f"{tmp_path}/a/.././/link"), time="ts"),
        stream("short", _one_by_one(f"{tmp_path}/a/"), time="ts"),
        stream("ticks", rate(1000), time="timestamp"),
        stream("frame_again", frame, time="timestamp"),
    ]
    frames = {known.stream.name: streaming_frame(spark, known.stream) for known in streams}
    rows = [_observed(frames[known.stream.name], known.stream, index) for index, known in enumerate(streams)]
    rows.append(carrier_frame(spark).select(F.lit(EPOCH).alias("event_time"), F.lit(0).alias("class_id")))
    # A stream of so many rows a second offers its first ones once a whole second is over, however many micro-batches
    # that takes.
    places = source_places(_together(rows), {name: [frame] for name, frame in frames.items()})
    progress = _progress(rows, tmp_path / "checkpoint", lambda found: found["batchId"] >= 4 and _ticks(found) > 0)
    reports = [report_of(found, [known.stream for known in streams], places) for found in progress]
    assert [report.micro_batch_id for report in reports] == list(range(len(reports)))
    assert [report.offered_rows["long"] for report in reports[:4]] == [2, 2, 2, 0]
    assert [report.offered_rows["short"] for report in reports[:4]] == [5, 5, 5, 0]
    assert [report.offered_rows["both"] for report in reports[:4]] == [7, 7, 7, 0]
    for report in reports:
        assert report.offered_rows == report.admitted_rows
        assert report.offered_rows["frame"] == report.offered_rows["frame_again"] == 7
        assert report.processing_seconds > 0
        assert list(report.steps_seconds) == STEPS
    assert sum(report.offered_rows["ticks"] for report in reports) % 1000 == 0
    assert reports[-1].offered_rows["ticks"] > 0


def _ticks(progress: Mapping[str, Any]) -> int:
    sources = progress["sources"]
    return sum(source["numInputRows"] for source in sources if source["description"].startswith("RateStream"))


def test_a_report_of_other_sources_is_refused() -> None:
    with pytest.raises(SourceMismatchError, match="reports 1 sources, but the network's plan reads 2"):
        report_of({"batchId": 0, "sources": [{"numInputRows": 3}]}, [], SourcePlaces(streams=((), ())))


def _one_by_one(path: Path | str) -> FolderSource:
    return folder(path, "parquet", schema="ts timestamp, v int", max_files_per_micro_batch=1)


def _observed(rows: DataFrame, known: Stream, index: int) -> DataFrame:
    return observed(rows.select(F.col(known.time).alias("event_time"), F.lit(ORDINARY_CLASS).alias("class_id")), index)


def test_events_are_those_of_readable_rows(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(2):
        write_parquet(tmp_path / "in" / f"{number}.parquet", timed_values([60 + number, 3 + number, 7], [1, 2, 3]))
    known = stream("s", folder(tmp_path / "in", "parquet", max_files_per_micro_batch=1), time="ts")
    source = streaming_frame(spark, known.stream).select("ts", F.col("v").cast("bigint").alias("v"))
    kinds = F.when(F.col("v") == 3, UNREADABLE_CLASS).otherwise(ORDINARY_CLASS)
    marked = source.withColumn("kind", kinds)
    carriers = carrier_frame(spark).select(F.lit(EPOCH).alias("event_time"))
    for number, columns in enumerate([_of_one_class(), _of_several_classes()]):
        rows = observed(marked.select(F.col("ts").alias("event_time"), *columns), 0).select("event_time")
        progress = _progress(
            [rows.unionByName(carriers)], tmp_path / f"checkpoint {number}", lambda found: found["batchId"] >= 2
        )
        reports = [report_of(found, [known.stream], SourcePlaces((("s",), ()))) for found in progress]
        assert [report.admitted_rows["s"] for report in reports[:3]] == [3, 3, 0]
        assert [_seconds(report.earliest_event) for report in reports[:3]] == [3, 4, None]
        assert [_seconds(report.latest_event) for report in reports[:3]] == [60, 61, None]


def _of_one_class() -> list[Column]:
    return [F.col("kind").alias("class_id")]


def _of_several_classes() -> list[Column]:
    """The first class may not want a row; what is set apart it always carries."""
    first = F.when((F.col("kind") != ORDINARY_CLASS) | (F.col("v") == 1), F.struct(F.col("kind").alias("class_id")))
    return [F.array(first, F.struct(F.lit(ORDINARY_CLASS).alias("class_id"))).alias("entries")]


def _seconds(events: Mapping[str, int]) -> float | None:
    return (events["s"] - EPOCH_MICROSECONDS) / SECOND if events else None


def _together(rows: list[DataFrame]) -> DataFrame:
    return functools.reduce(DataFrame.unionByName, rows)


def _progress(rows: list[DataFrame], checkpoint: Path, ends: Callable[[Any], bool]) -> list[dict[str, Any]]:
    """The reports of all micro-batches up to the first that ``ends`` says yes to."""
    writer = _together(rows).writeStream.format("noop")
    running = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="100 milliseconds").start()
    try:
        while True:
            found = [json.loads(progress.json) for progress in running.recentProgress]
            last = next((at for at, progress in enumerate(found) if ends(progress)), None)
            if last is not None:
                return found[: last + 1]
            assert not running.awaitTermination(1)
    finally:
        running.stop()
