"""Hears of each micro-batch as soon as Spark reports it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import StreamingQueryListener

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_log = logging.getLogger(__name__)


class ProgressListener(StreamingQueryListener):
    """Calls a function after each micro-batch of one query.

    What is learned from a micro-batch is so worked out while Spark looks for new input, on cores that are idle, and not
    when the next micro-batch waits for its plan. Spark promises no time by which a listener hears of something: who
    needs to know must ask.

    Args:
        run_id: Spark's id of the query's run.
        on_progress: Called, from a thread of Spark's; what it raises is logged.
    """

    def __init__(self, run_id: str, on_progress: Callable[[], None]) -> None:
        super().__init__()
        self._run_id = run_id
        self._on_progress = on_progress

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Call the function, if it is the query's."""
        if str(event.progress.runId) != self._run_id:
            return
        try:
            self._on_progress()
        except Exception:  # noqa: BLE001 - whatever it is, the next plan asks again, and raises it where it is seen
            _log.exception("a finished micro-batch could not be taken in; it will be tried again")

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing."""
