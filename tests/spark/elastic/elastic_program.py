"""A network on a standalone cluster, whose operator waits: fed by the clock until it is told to end.

It runs in a process of its own, since a process has one Spark. What is to be fed stands in a file that others write;
what came of it is written at the end.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import local_session, parquet_sink
from streamshed.spark.executors import executor_ids
from streamshed.spark.run import Run, start
from streamshed.statistics.load_prior import LoadPrior
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.harness import wait_for_micro_batch

TRIGGER_SECONDS = 8
FILES_PER_TRIGGER = 6
SECONDS_PER_ROW = 0.004
FIXED_SECONDS = 1.0
MOST_WORKERS = 3
PARTITIONS = 3
WINDOW_SECONDS = 4
FILES_PER_WINDOW = WINDOW_SECONDS * FILES_PER_TRIGGER // TRIGGER_SECONDS


def waited(values: pd.Series[int]) -> pd.Series[int]:
    """Wait for each value, as for an answer from elsewhere."""
    time.sleep(len(values) * SECONDS_PER_ROW)
    return values


def network_over(path: Path) -> QueryNetwork:
    """Counts and sums by group, over rows each of which is waited for."""
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v bigint")
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    answered = rows.apply(waited, columns=["v"], into="w", returns="bigint")
    counts = answered.window(f"{WINDOW_SECONDS} seconds").by(g="id % 3").agg(n="count(*)", total="sum(w)")
    return network(counts.query("q"))


def write_rows(path: Path, number: int, count: int) -> None:
    """Write the file of one moment; rows are numbered through."""
    first = number * 100_000
    start = EPOCH_MICROSECONDS + number * TRIGGER_SECONDS * 1_000_000 // FILES_PER_TRIGGER
    span = TRIGGER_SECONDS * 1_000_000 // FILES_PER_TRIGGER
    ids = list(range(first, first + count))
    instants = [start + index * span // count for index in range(count)]
    columns = {
        "id": pa.array(ids, pa.int64()),
        "ts": pa.array(instants, pa.timestamp("us", "UTC")),
        "v": pa.array([one % 7 for one in ids], pa.int64()),
    }
    write_parquet(path / "in" / f"{number:06d}.parquet", pa.table(columns))


def main(path: Path, master: str) -> None:
    """Run until the load is told to be nothing."""
    (path / "in").mkdir()
    options = {
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": ":".join(sys.path),
        "spark.driver.host": "127.0.0.1",
        "spark.sql.files.openCostInBytes": str(2**27),
    }
    spark = local_session("elastic", memory="1g", master=master, options=options)
    elastic = ElasticSettings(
        limits=WorkerLimits(least=1, most=MOST_WORKERS),
        thresholds=Thresholds(initial=0.6, shed=0.8),
        start_seconds=10.0,
        rescale_price_seconds=3.0,
        release_after_seconds=3 * TRIGGER_SECONDS,
        look_ahead_seconds=60.0,
    )
    sink = parquet_sink(str(path / "answers"))
    running = start(
        network_over(path),
        spark,
        checkpoint=str(path / "checkpoint"),
        sink=sink,
        trigger=f"{TRIGGER_SECONDS} seconds",
        prior=LoadPrior(fixed_seconds=FIXED_SECONDS, seconds_per_row=SECONDS_PER_ROW, read_share=0.01),
        partitions=PARTITIONS,
        elastic=elastic,
    )
    with running:
        _warm_up(running, path)
        _feed(running, path, spark)
        drained = running.drain(240.0)
    running.journal().to_json(path / "journal.json", orient="records")
    (path / "end.json").write_text(json.dumps({"drained": drained}))
    spark.stop()


def _warm_up(running: Run, path: Path) -> None:
    """Let the first micro-batches, which are spent on compiling, have next to nothing to do.

    The first is planned from what is known beforehand, so that nothing of its window is shed on any machine.
    """
    write_rows(path, 0, 3)
    wait_for_micro_batch(running, 1)


def _feed(running: Run, path: Path, spark: SparkSession) -> None:
    """Write a file at each moment, of as many rows as are asked for, and what is known of the run."""
    started, number = time.monotonic(), 0
    while (rows := _asked_rows(path)) is not None:
        write_rows(path, FILES_PER_WINDOW + number, rows)
        number += 1
        due = started + number * TRIGGER_SECONDS / FILES_PER_TRIGGER
        stopped = running.await_termination(max(0.01, due - time.monotonic()))
        if stopped:
            raise RuntimeError("the run has stopped")
        scaling = running.status().scaling
        if scaling is not None:
            told = {
                "micro_batch_id": running.status().micro_batch_id,
                "is_shedding": running.status().is_shedding,
                "executors": executor_ids(spark),
                "running": scaling.workers_running,
                "starting": scaling.workers_starting,
                "replaced": scaling.workers_replaced,
                "reason": scaling.scaling_reason,
                "explanation": scaling.scaling_explanation,
            }
            draft = path / ".status"
            draft.write_text(json.dumps(told))
            draft.rename(path / "status.json")


def _asked_rows(path: Path) -> int | None:
    text = (path / "rows").read_text()
    return int(text) if text else None


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
