"""A folder's rows taken in by a streaming query to the last, and the windows answered that they close."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamshed.bench.errors import UnfinishedBenchmarkError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_QUIET = 2
"""So many micro-batches without rows follow those with: the first moves the watermark on, the next answers."""
_PATIENCE_SECONDS = 300.0


def run_through(query: StreamingQuery, *, streams: int = 1) -> None:
    """Wait until a query has taken all rows that its sources hold, then stop it.

    Spark's own way of waiting ends when there is nothing more to do, but there is: each stream's carrier brings a row
    every second.

    Args:
        query: The query.
        streams: How many streams it has.

    Raises:
        UnfinishedBenchmarkError: It takes too long, or the query has failed.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    try:
        while not is_through([progress["numInputRows"] for progress in query.recentProgress], streams=streams):
            if (failure := query.exception()) is not None:
                raise UnfinishedBenchmarkError(f"the query has failed: {failure}")
            if time.monotonic() > deadline:
                raise UnfinishedBenchmarkError(f"its rows were not taken within {_PATIENCE_SECONDS:g} seconds")
            time.sleep(0.1)
    finally:
        query.stop()


def is_through(rows: Sequence[int], *, streams: int) -> bool:
    """Tell whether the latest micro-batches had no rows but those of carriers, after others that had.

    Args:
        rows: Of each micro-batch, in order.
        streams: How many carriers there are.

    Example:
        >>> [is_through(rows, streams=1) for rows in ([0, 1, 1], [1, 500, 1], [500, 1, 1], [500, 1, 0, 1])]
        [False, False, True, True]
    """
    had_rows = [count > streams for count in rows]
    return any(had_rows) and not any(had_rows[-_QUIET:])
