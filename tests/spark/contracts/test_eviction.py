"""Spark evicts, emits and drops by our interval as it does by its own `window()`."""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.eviction import evictable_interval
from tests.spark.streaming.files import timed_values, write_parquet

SECOND = 1_000_000
FILES = 6


def test_intervals_close_as_native_windows_do(spark: SparkSession, tmp_path: Path) -> None:
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
    branches = {
        "native, 10 seconds": rows.groupBy(F.window("ts", "10 seconds").alias("w")),
        "interval, 10 seconds": rows.select(_interval(_start(10), 10), "v").groupBy("w"),
        "native, 30 every 10": rows.groupBy(F.window("ts", "30 seconds", "10 seconds").alias("w")),
        "interval of intervals": _of_slices(rows),
    }
    emitted = _emitted(
        [
            grouped.agg(F.sum("v").alias("n")).select(F.lit(name).alias("name"), "w.start", "n")
            for name, grouped in branches.items()
        ],
        tmp_path / "checkpoint",
    )
    assert emitted["native, 10 seconds"] == emitted["interval, 10 seconds"]
    assert emitted["native, 30 every 10"] == emitted["interval of intervals"]
    assert sum(map(len, emitted["native, 10 seconds"].values())) == 11
    assert sum(map(len, emitted["native, 30 every 10"].values())) == 11


def _start(seconds: int) -> Column:
    return F.unix_micros("ts") - F.pmod(F.unix_micros("ts"), F.lit(seconds * SECOND))


def _interval(start: Column, seconds: int) -> Column:
    return evictable_interval(start, start + seconds * SECOND, "w")


def _of_slices(rows: DataFrame) -> GroupedData:
    """A second stage over the closed intervals of a first, as windows are put together from slices."""
    slices = rows.select(_interval(_start(10), 10), "v").groupBy("w").agg(F.sum("v").alias("v"))
    last = F.unix_micros("w.start")
    starts = F.sequence(last - 20 * SECOND, last, F.lit(10 * SECOND))
    started = slices.select("v", F.explode(starts).alias("start"))
    return started.select(_interval(F.col("start"), 30), "v").groupBy("w")


def _emitted(branches: list[DataFrame], checkpoint: Path) -> dict[str, dict[int, set[tuple[object, int]]]]:
    """Which windows, with which sums, each branch emits in which micro-batch."""
    found: dict[str, dict[int, set[tuple[object, int]]]] = defaultdict(lambda: defaultdict(set))

    def keep(answers: DataFrame, micro_batch_id: int) -> None:
        for name, start, total in answers.collect():
            found[name][micro_batch_id].add((start, total))

    writer = functools.reduce(DataFrame.unionByName, branches).writeStream.outputMode("append")
    running = writer.foreachBatch(keep).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    running.start().awaitTermination()
    return found
