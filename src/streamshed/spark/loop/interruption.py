"""How a micro-batch is called off when its run is being stopped, without Spark taking it for a failure.

Rests on Spark's internals: tests/spark/contracts/test_interruption.py.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from streamshed.errors import StreamshedError

_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 60.0
"""A stop that has not begun by then will not: the micro-batch then fails, and is run again after a restart."""


class StoppedError(StreamshedError):
    """A micro-batch was not written because its run is being stopped; Spark runs it again after a restart."""


def call_off(micro_batch_id: int, is_active: Callable[[], bool]) -> None:
    """Leave a micro-batch whose query is about to be stopped.

    Spark ends a query in silence if it is being stopped and the error says that Python was interrupted, which it
    recognizes by its words; so they are said here, once the stop has begun.

    Args:
        micro_batch_id: Which micro-batch.
        is_active: Whether Spark still takes the query for active; it does not from the moment the stop begins.

    Raises:
        StoppedError: Always.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while is_active() and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    raise StoppedError(
        f"micro-batch {micro_batch_id} was not begun, the run is being stopped"
        " (py4j.protocol.Py4JJavaError: An error occurred while calling it: java.lang.InterruptedException)"
    )


def _is_no_stop(record: logging.LogRecord) -> bool:
    return record.exc_info is None or not isinstance(record.exc_info[1], StoppedError)


logging.getLogger("py4j.clientserver").addFilter(_is_no_stop)
