"""What Spark will read in a micro-batch is written down before its tasks ask for the plan; it reports it soon after."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark.loop.micro_batch_planner import MicroBatchPlanner
from tests.spark.files import timed_values, write_parquet
from tests.spark.harness import wait_until


def test_plans_are_ready_when_tasks_ask(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the first one, to which nobody can look ahead; any other, too, may win on a machine that is busy."""
    by_whom: list[tuple[int, str]] = []
    plan = MicroBatchPlanner.plan

    def noting(self: MicroBatchPlanner, micro_batch_id: int) -> str:
        by_whom.append((micro_batch_id, threading.current_thread().name))
        return plan(self, micro_batch_id)

    monkeypatch.setattr(MicroBatchPlanner, "plan", noting)
    run = counting(tmp_path).start(
        spark, checkpoint=str(tmp_path / "checkpoint"), sink=write, trigger="1 second", partitions=1
    )
    try:
        wait_until(run, lambda: run.status().micro_batch_id >= 3, "four micro-batches")
    finally:
        run.stop()
    first = dict(reversed(by_whom))
    assert first[0] != "streamshed-ahead"
    assert "streamshed-ahead" in {first[number] for number in (1, 2, 3)}


def test_how_a_micro_batch_went_is_known_before_the_next_one_comes(spark: SparkSession, tmp_path: Path) -> None:
    run = counting(tmp_path).start(
        spark, checkpoint=str(tmp_path / "checkpoint"), sink=write, trigger="10 minutes", partitions=1
    )
    try:
        wait_until(run, lambda: run.status().micro_batch_id == 0, "how the first micro-batch went")
    finally:
        run.stop()


def counting(path: Path) -> QueryNetwork:
    write_parquet(path / "input" / "first.parquet", timed_values([0.0, 1.0, 2.0], [1, 2, 3]))
    rows = stream("rows", folder(str(path / "input"), "parquet", schema="ts timestamp, v bigint"), time="ts")
    return network(rows.window("5 seconds").agg(n="count(*)").query("counts"))


def write(answers: DataFrame, _micro_batch_id: int) -> None:
    answers.write.format("noop").mode("overwrite").save()
