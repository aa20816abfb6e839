"""Spark keeps the code that it generates for a micro-batch of a join, and does not compile it in every one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from tests.spark.event_times import at
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, Collected, wait_for_micro_batch

FILES, FIRST = 3, 2
MOST_COMPILED = 20
"""Per micro-batch: code that has the watermark in it is another one each time, and is that of few stages of many."""


def test_the_code_of_a_join_is_compiled_in_its_first_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(FILES):
        for name in ("calls", "alerts"):
            rows = pa.table({"at": [at(number + step / 10) for step in range(10)], "n": list(range(10))})
            write_parquet(tmp_path / name / f"{number}.parquet", rows)
    calls, alerts = (
        stream(
            name,
            folder(tmp_path / name, "parquet", schema="at timestamp, n bigint", max_files_per_micro_batch=1),
            time="at",
        )
        for name in ("calls", "alerts")
    )
    pairs = calls.join(alerts, on="n", within="10 s")
    queries = network(pairs.window("2 seconds").agg(n="count(*)", total="sum(calls_n)").query("windows"))
    with queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK) as run:
        wait_for_micro_batch(run, FIRST)
        before, first = _compiled(spark), run.status().micro_batch_id
        wait_for_micro_batch(run, FILES + FIRST)
        after, last = _compiled(spark), run.status().micro_batch_id
    assert after - before < MOST_COMPILED * (last - first)


def _compiled(spark: SparkSession) -> int:
    """How many classes Spark has compiled so far; its names end here."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - generated code has no public way
    return int(jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount())
