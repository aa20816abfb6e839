"""Spark takes a micro-batch that is called off while its query is stopped for no failure."""

from __future__ import annotations

import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.loop.interruption import call_off


def test_a_query_that_is_stopped_ends_without_an_error(spark: SparkSession, tmp_path: Path) -> None:
    begun = threading.Event()

    def write(rows: DataFrame, micro_batch_id: int) -> None:
        rows.count()
        if micro_batch_id == 1:
            begun.set()
            call_off(micro_batch_id, lambda: query.isActive)

    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = ticks.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path))
    query = writer.trigger(processingTime="0 seconds").start()
    assert begun.wait(60)
    query.stop()
    assert query.exception() is None
    assert not (tmp_path / "commits" / "1").exists()
