"""A network whose program is killed: run as a process of its own, it stops dead at a given point."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamshed.network.aggregate import user_aggregate
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark import local_session
from streamshed.spark.run import Run, start
from streamshed.spark.sinks import ParquetSink, Sink
from tests.spark.streaming.deadly import DeadlyFunction
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.in_order import InOrder, Merges

CODES = {1: 6, 2: 13, 3: 20, 5: 9}
"""Sampling codes by micro-batch; all others are whole."""

KEPT_SHARES = {1: 0.5, 2: 0.3, 3: 0.6, 4: 0.4, 5: 0.5}
"""Shares of windows kept of those queries that miss some, by micro-batch; in all others, all are."""

MISSING = ("missing", "missing_by_v", "missing_nested")
"""These queries."""

MAX_GAP = 3

LETHAL_FILE, LETHAL_ROW, ROWS_PER_FILE = 3, 250, 400
"""In the middle of a task: where the function stops that is killed, and how many rows a file has."""

ROWS_AT_A_TIME = 50
"""So many rows the function is handed."""

SHARES_BEFORE, SHARES_AFTER = {1: 0.5, 2: 0.3, LETHAL_FILE: 0.3}, {4: 0.4, 5: 0.5}
"""Shares of windows kept by micro-batch, of the process that is killed and of the one that goes on; in others, all."""


@dataclass(frozen=True)
class DeadlySink(ParquetSink):
    """Writes Parquet until a micro-batch, then tells so and waits to be killed, before or after it has written it."""

    last: int
    writes_it: bool
    marker: str

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Write one micro-batch, unless it is the last."""
        if micro_batch_id != self.last:
            super().write(answers, query_id, micro_batch_id)
            return
        if self.writes_it:
            super().write(answers, query_id, micro_batch_id)
        Path(self.marker).write_text(str(micro_batch_id))
        threading.Event().wait()


def build(path: Path) -> QueryNetwork:
    """The network; its stream has rows that can be told apart, a few without time."""
    source = folder(path / "in", "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark="2 seconds")
    return network(
        events.window("15 seconds", every="5 seconds").agg(n="count(*)", total="sum(v)").query("sliding"),
        events.filter("v > 3").window("10 seconds").by("v").agg(n="count(*)").query("grouped"),
        events.filter("v = 7").query("sevens"),
        events.window("30 rows", every="10 rows").by("v").agg(n="count(*)", total="sum(v)").query("last_rows"),
        events.window("15 seconds", every="5 seconds")
        .agg(
            told=user_aggregate(InOrder, columns=["v"], returns="string"),
            merges=user_aggregate(Merges, columns=["v"], returns="bigint"),
        )
        .query("in_order", mode="exact"),
        events.window("2 seconds").agg(top="max(v)").query("missing", mode="subset", max_gap=MAX_GAP),
        events.window("1 second").by("v").agg(n="count(*)").query("missing_by_v", mode="subset", max_gap=MAX_GAP),
        events.window("1 second")
        .by("v")
        .agg(n="count(*)")
        .filter("n > 1")
        .window("4 seconds", every="2 seconds")
        .agg(most="max(n)", total="sum(n)")
        .query("missing_nested", mode="subset", max_gap=MAX_GAP),
    )


def build_mid_task(path: Path) -> QueryNetwork:
    """A network with a function that stops in the middle of a task; some windows may be missing."""
    source = folder(path / "in", "parquet", schema="ts timestamp, id bigint, v bigint", max_files_per_micro_batch=1)
    events = stream("events", source, time="ts", watermark="2 seconds")
    deadly = DeadlyFunction(str(path), LETHAL_FILE * ROWS_PER_FILE + LETHAL_ROW)
    by_v = events.window("1 second").by("v").agg(n="count(*)", total="sum(id)")
    return network(
        events.apply(deadly, columns=["id"], into="same", returns="bigint")
        .window("5 seconds")
        .agg(n="count(*)", total="sum(same)")
        .query("whole", mode="exact"),
        events.window("2 seconds").agg(n="count(*)", total="sum(id)").query("missing", mode="subset", max_gap=MAX_GAP),
        by_v.query("missing_by_v", mode="subset", max_gap=MAX_GAP),
        by_v.window("4 seconds", every="2 seconds")
        .agg(n="sum(n)", total="sum(total)")
        .query("missing_nested", mode="subset", max_gap=MAX_GAP),
    )


def codes_of(micro_batch_id: int) -> Mapping[str, int]:
    """What the control loop is to decide."""
    return {"events": CODES.get(micro_batch_id, 0), "last_rows": 0, "in_order": 0, **dict.fromkeys(MISSING, 0)}


def kept_shares(micro_batch_id: int) -> Mapping[str, float]:
    """What it is to decide on windows."""
    share = KEPT_SHARES.get(micro_batch_id, 1.0)
    return dict.fromkeys(MISSING, share)


def run_it(spark: SparkSession, path: Path, checkpoint: Path, sink: Sink) -> Run:
    """Start the network, or go on with it."""
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, codes_of, kept_shares=kept_shares)
        return start(build(path), spark, checkpoint=str(checkpoint), sink=sink, trigger="100 ms", partitions=1)


def run_mid_task(
    spark: SparkSession, path: Path, checkpoint: Path, sink: Sink, shares: Mapping[int, float] = SHARES_BEFORE
) -> Run:
    """Start the network with the function, or go on with it, as a process that has shares of its own in mind."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", ROWS_AT_A_TIME)
    with pytest.MonkeyPatch.context() as patch:
        kept = partial(_kept_by_all, shares)
        force_sampling(patch, lambda _: {}, kept_shares=kept)
        queries = build_mid_task(path)
        return start(queries, spark, checkpoint=str(checkpoint), sink=sink, trigger="100 ms", partitions=1)


def _kept_by_all(shares: Mapping[int, float], micro_batch_id: int) -> Mapping[str, float]:
    return dict.fromkeys(MISSING, shares.get(micro_batch_id, 1.0))


RUNS: Mapping[str, Callable[[SparkSession, Path, Path, Sink], Run]] = {
    "all": run_it,
    "mid_task": run_mid_task,
}
"""What can be run, by name."""


def main() -> None:
    """Run until killed: arguments are what is run, the folder, the micro-batch, and whether it is written at all."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    runs, path, last, writes_it = RUNS[sys.argv[1]], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "written"
    sink = DeadlySink(str(path / "answers"), last=last, writes_it=writes_it, marker=str(path / "marker"))
    with runs(local_session(cores=2, memory="2g"), path, path / "checkpoint", sink) as run:
        run.await_termination()


if __name__ == "__main__":
    main()
