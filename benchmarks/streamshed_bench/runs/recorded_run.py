"""A recording run as a stream at sampling rates that never change, to the last window that it closes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.fixed_sampling import FixedSampling
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_QUIET = 2
"""So many micro-batches without rows follow those with: the first moves the watermark on, the next answers."""
_PATIENCE_SECONDS = 300.0
_POLL_SECONDS = 0.1


def run_recording(
    network_over: Callable[[Path], QueryNetwork],
    spark: SparkSession,
    place: Workplace,
    recording: Path,
    take: Callable[[DataFrame, int], None],
    *,
    sampling: FixedSampling,
    confidence: float = 0.95,
) -> None:
    """Answer a network of one stream over a recorded file.

    Args:
        network_over: The network, given the folder that holds the recording.
        spark: The session.
        place: Where the folder and the checkpoint are made.
        recording: The file.
        take: Told the answers of each micro-batch.
        sampling: How rows are sampled.
        confidence: Of the bounds of answers.

    Raises:
        UnfinishedBenchmarkError: It takes too long, or the query has failed.
    """
    from streamshed.spark import each_micro_batch
    from streamshed_bench.runs.fixed_plan import start_fixed

    watched = place.new("recording")
    watched.mkdir()
    (watched / "rows.parquet").symlink_to(recording.resolve())
    query = start_fixed(
        network_over(watched),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(take),
        sampling=sampling,
        confidence=confidence,
    )
    try:
        await_answers(query)
    finally:
        query.stop()


def await_answers(query: StreamingQuery, *, patience_seconds: float = _PATIENCE_SECONDS) -> None:
    """Wait until a query of one stream has taken all rows, and answered the windows that they close.

    Spark's own way of waiting ends when there is nothing more to do, but there is: a stream's carrier brings a row
    every second.

    Args:
        query: The query.
        patience_seconds: For how long at most.

    Raises:
        UnfinishedBenchmarkError: It takes too long, or the query has failed.
    """
    deadline = time.monotonic() + patience_seconds
    while not is_answered([progress["numInputRows"] for progress in query.recentProgress]):
        if (failure := query.exception()) is not None:
            raise UnfinishedBenchmarkError(f"the query has failed: {failure}")
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"its rows were not taken within {patience_seconds:g} seconds")
        time.sleep(_POLL_SECONDS)


def is_answered(rows: Sequence[int]) -> bool:
    """Tell whether the latest micro-batches had no rows but the carrier's, after others that had.

    Args:
        rows: Of each micro-batch, in order.

    Example:
        >>> [is_answered(rows) for rows in ([0, 1, 1], [1, 500, 1], [500, 1, 1], [500, 1, 0, 1])]
        [False, False, True, True]
    """
    had_rows = [count > 1 for count in rows]
    return any(had_rows) and not any(had_rows[-_QUIET:])
