"""Spark calls `foreachBatch` before a micro-batch runs and when it knows what to read; it reports it soon after."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from tests.spark.streaming.files import timed_values, write_parquet
from tests.spark.streaming.harness import PATIENCE_SECONDS, wait_until


def awaited(file: Path) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not file.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_a_micro_batch_is_planned_before_any_of_its_tasks_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_parquet(tmp_path / "input" / "first.parquet", timed_values([0.0, 1.0, 2.0], [1, 2, 3]))
    plans = tmp_path / "checkpoint" / "time" / "plans"
    planned: dict[int, bool] = {}

    def write(answers: DataFrame, micro_batch_id: int) -> None:
        planned[micro_batch_id] = awaited(plans / f"{micro_batch_id:012d}.json")
        answers.write.format("noop").mode("overwrite").save()

    rows = stream("rows", folder(str(tmp_path / "input"), "parquet", schema="ts timestamp, v bigint"), time="ts")
    asked = network(rows.window("5 seconds").agg(n="count(*)").query("counts"))
    # The trigger is long: no second micro-batch takes in how the first went.
    run = asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=write, trigger="10 minutes", partitions=1)
    try:
        wait_until(run, lambda: run.status().micro_batch_id == 0, "how the first micro-batch went")
    finally:
        run.stop()
    assert planned == {0: True}
    assert json.loads((plans / "000000000000.json").read_text())["micro_batch_id"] == 0
