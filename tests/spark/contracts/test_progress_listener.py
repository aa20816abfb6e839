"""A listener hears of each micro-batch of its query, when the query's last progress tells of it."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.spark.carrier import carrier_frame
from streamshed.spark.progress_listener import ProgressListener

_PATIENCE_SECONDS = 60


def running_query(spark: SparkSession, checkpoint: Path) -> StreamingQuery:
    writer = carrier_frame(spark).writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime="200 milliseconds").start()


def test_each_micro_batch_is_told_of_once_it_can_be_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    own, other = (running_query(spark, tmp_path / name) for name in ("own", "other"))
    told: list[int] = []
    enough = threading.Event()

    def look_up() -> None:
        progress = own.lastProgress
        assert progress is not None
        told.append(progress.batchId)
        if len(told) >= 3:
            enough.set()
            raise ValueError("enough")

    listener = ProgressListener(str(own.runId), look_up)
    spark.streams.addListener(listener)
    try:
        assert enough.wait(_PATIENCE_SECONDS)
    finally:
        spark.streams.removeListener(listener)
        own.stop()
        other.stop()
    assert told == sorted(told)
    assert len(set(told)) >= 2


def test_what_fails_is_logged_and_the_query_goes_on(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    query = running_query(spark, tmp_path)
    calls: list[int] = []
    again = threading.Event()

    def fail() -> None:
        calls.append(1)
        if len(calls) > 1:
            again.set()
        raise ValueError("on purpose")

    listener = ProgressListener(str(query.runId), fail)
    spark.streams.addListener(listener)
    try:
        with caplog.at_level(logging.ERROR):
            assert again.wait(_PATIENCE_SECONDS)
        assert query.isActive
    finally:
        spark.streams.removeListener(listener)
        query.stop()
    assert "will be tried again" in caplog.text
