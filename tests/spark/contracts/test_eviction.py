"""Spark evicts, emits and drops by our closing time as it does by its own `window()`."""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.windows.eviction import closing_time
from tests.spark.files import timed_values, write_parquet

SLICE = 10_000_000
FILES = 6


def test_groups_close_as_native_windows_do(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(FILES):
        late = [number * 20 - 60.0] * (number >= 3)
        seconds = [*(number * 20.0 + second for second in range(20)), *late]
        write_parquet(tmp_path / "in" / f"{number}.parquet", timed_values(seconds, [1] * len(seconds)))
    rows = (
        spark.readStream.schema("ts timestamp, v bigint")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
        .withWatermark("ts", "5 seconds")
    )
    slices = {"native": _native(rows, "10 seconds", "10 seconds"), "ours": _slices(rows)}
    windows = {"native": _native(rows, "30 seconds", "10 seconds"), "ours": _windows_of(_slices(rows))}
    for number, branches in enumerate([slices, windows]):
        emitted = _emitted(branches, tmp_path / f"checkpoint_{number}")
        assert emitted["native"] == emitted["ours"]
        assert sum(map(len, emitted["native"].values())) == 11


def _native(rows: DataFrame, size: str, slide: str) -> DataFrame:
    grouped = rows.groupBy(F.window("ts", size, slide).alias("w")).agg(F.sum("v").alias("total"))
    return grouped.select(F.unix_micros("w.start").alias("start"), "total")


def _slices(rows: DataFrame) -> DataFrame:
    instant = F.unix_micros("ts")
    started = rows.select((instant - F.pmod(instant, F.lit(SLICE))).alias("start"), "v")
    closing = started.select(closing_time(F.col("start") + SLICE), "start", "v")
    return closing.groupBy("closes", "start").agg(F.sum("v").alias("total")).select("start", "total")


def _windows_of(slices: DataFrame) -> DataFrame:
    """A second stage over the closed groups of a first, as windows are put together from slices."""
    starts = F.sequence(F.col("start") - 2 * SLICE, F.col("start"), F.lit(SLICE))
    started = slices.select("total", F.explode(starts).alias("start"))
    closing = started.select(closing_time(F.col("start") + 3 * SLICE), "start", "total")
    return closing.groupBy("closes", "start").agg(F.sum("total").alias("total")).select("start", "total")


def _emitted(branches: dict[str, DataFrame], checkpoint: Path) -> dict[str, dict[int, set[tuple[int, int]]]]:
    """Which windows, with which sums, each branch emits in which micro-batch."""
    found: dict[str, dict[int, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))

    def keep(answers: DataFrame, micro_batch_id: int) -> None:
        for name, start, total in answers.collect():
            found[name][micro_batch_id].add((start, total))

    named = [answers.select(F.lit(name).alias("name"), "start", "total") for name, answers in branches.items()]
    writer = functools.reduce(DataFrame.unionByName, named).writeStream.outputMode("append")
    running = writer.foreachBatch(keep).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    running.start().awaitTermination()
    return found
