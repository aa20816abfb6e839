"""Waits for what Spark does for a query in a thread of its own."""

from __future__ import annotations

import time

from pyspark.sql.streaming.query import StreamingQuery

_PATIENCE_SECONDS = 10.0
_REPORT_SECONDS = 5.0
_LOOK_EVERY_SECONDS = 0.01
_BEFORE_SOURCES_ARE_MADE = frozenset({"Initializing StreamExecution", "Initializing sources"})
"""What Spark says of a query until its sources are there."""


def await_sources(query: StreamingQuery) -> None:
    """Wait until a query has made its sources.

    It copies the session's settings at once, but its sources, which it makes later in a thread of its own, look at the
    session itself. Where that has its own settings back by then, a folder's source writes its log by starting ten
    processes per micro-batch, 0.03 s; see `LOCAL_CHECKPOINT_SETTINGS`. As that costs no more, and a log of many files
    may take long to read, the wait has an end.

    Args:
        query: That was started; it may have failed since.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while query.isActive and query.status["message"] in _BEFORE_SOURCES_ARE_MADE and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_SECONDS)


def await_report(query: StreamingQuery, micro_batch_id: int) -> None:
    """Wait until Spark has reported a micro-batch that was written, which it does once it has committed it.

    A query that is stopped before it has committed runs the micro-batch again; one that is stopped before it has
    reported says nothing of it any more, and the journal would lack it. What takes too long is not waited for.

    Args:
        query: That runs; it may have failed since.
        micro_batch_id: Whose answers are written.
    """
    deadline = time.monotonic() + _REPORT_SECONDS
    while query.isActive and _last_reported(query) < micro_batch_id and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_SECONDS)


def end_query(query: StreamingQuery, last_written: int | None) -> None:
    """Stop a query, once Spark has reported the micro-batch that was written last.

    Args:
        query: It begins no other micro-batch, or calls it off.
        last_written: The latest micro-batch of which answers may have gone to the sink; None: there is none.
    """
    if last_written is not None:
        await_report(query, last_written)
    query.stop()


def _last_reported(query: StreamingQuery) -> int:
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
