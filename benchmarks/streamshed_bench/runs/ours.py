"""Running a query network through a folder of files, as fast as it goes, nothing shed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.micro_batches import MicroBatchTime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamshed.spark import Run
    from streamshed.spark.sinks.sinks import Sink

Collect = Callable[["DataFrame", int], None]
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 1800.0


def run_through(
    network: QueryNetwork,
    spark: SparkSession,
    *,
    checkpoint: Path,
    micro_batches: int,
    collect: Collect | Sink | None = None,
) -> tuple[MicroBatchTime, ...]:
    """Run a network as a user would, samplers and plan table compiled in, until the files are through.

    Args:
        network: What runs; its stream takes a few files per micro-batch from a folder that holds them all.
        spark: The session.
        checkpoint: A new folder.
        micro_batches: How many the files make.
        collect: Takes the answers of each micro-batch, a function or a sink; None: they are computed and dropped.

    Returns:
        The micro-batches with input, in order.

    Raises:
        UnfinishedBenchmarkError: The time ran out.
    """
    from streamshed.spark import noop_sink, start

    sink = noop_sink() if collect is None else collect
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    with start(network, spark, checkpoint=str(checkpoint), sink=sink, trigger="10 milliseconds", advisory=True) as run:
        while not _is_through(run, micro_batches):
            if time.monotonic() > deadline:
                done = run.status().micro_batch_id + 1
                raise UnfinishedBenchmarkError(
                    f"{done} of {micro_batches} micro-batches within {_TIMEOUT_SECONDS:g} seconds"
                )
            run.await_termination(_POLL_SECONDS)
        journal = run.journal()
    with_input = journal[journal["offered_rows"] > 0]
    return tuple(
        MicroBatchTime(rows=int(rows), started_at_seconds=float(started), seconds=float(seconds))
        for rows, started, seconds in zip(
            with_input["offered_rows"], with_input["started_at_seconds"], with_input["processing_seconds"], strict=True
        )
    )


def _is_through(run: Run, micro_batches: int) -> bool:
    """Whether so many micro-batches are in the journal, into which they come after their status."""
    last = micro_batches - 1
    return run.status().micro_batch_id >= last and bool(run.journal()["micro_batch_id"].max() >= last)
