"""Letting streaming queries run one micro-batch at a time, in whatever order one likes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamshed_bench.errors import StuckQueryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Turnstile:
    """Holds a query back at the end of each micro-batch until it is its turn again.

    The query calls `passed` when the answers of a micro-batch are written, and is kept there. So what `turn`
    measures is one whole cycle: commit, planning, the next micro-batch up to its written answers.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._may_go = threading.Semaphore(0)
        self._has_come = threading.Semaphore(0)
        self._is_open = threading.Event()

    def passed(self) -> None:
        """Say that a micro-batch is written, and wait for the next turn; returns at once when it is open."""
        self._has_come.release()
        if not self._is_open.is_set():
            self._may_go.acquire()

    def first(self, *, timeout_seconds: float) -> None:
        """Wait for the first micro-batch, which the query runs unasked.

        Raises:
            StuckQueryError: It did not come.
        """
        self._await(timeout_seconds)

    def turn(self, *, timeout_seconds: float) -> float:
        """Let the query run one micro-batch; returns how long the cycle took, in seconds.

        Raises:
            StuckQueryError: It was not through in time.
        """
        begin = self._clock()
        self._may_go.release()
        self._await(timeout_seconds)
        return self._clock() - begin

    def open(self) -> None:
        """Hold the query back no longer, so that it can be stopped."""
        self._is_open.set()
        self._may_go.release()

    def _await(self, timeout_seconds: float) -> None:
        if not self._has_come.acquire(timeout=timeout_seconds):
            raise StuckQueryError(f"no micro-batch within {timeout_seconds:g} seconds (did the query fail?)")


def dropped_in_turn(turnstile: Turnstile) -> Callable[[DataFrame, int], None]:
    """Return what a query does with each micro-batch: compute its answers, drop them, and pass the turnstile."""

    def write(answers: DataFrame, _micro_batch_id: int) -> None:
        answers.write.format("noop").mode("overwrite").save()
        turnstile.passed()

    return write
