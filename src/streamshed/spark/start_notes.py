"""What a start says to who watches it: a line at each step, until the first micro-batch has finished.

It is said as records of logging. Where nobody has set up logging for streamshed, a terminal or a notebook shows them:
Spark compiles for ten seconds and more before the first answers come.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.wording import count_text, seconds_text
from streamshed.spark.loop.run_status import RunStatus

_log = logging.getLogger(__name__)


class HasStatus(Protocol):
    """What tells its state, such as a time domain."""

    @property
    def status(self) -> RunStatus:
        """The state after the latest micro-batch."""


class StartNotes:
    """Tells how far a start has come.

    Args:
        say: Takes each line.
        clock: Tells seconds, and never goes back.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.model.sources import rate
        >>> from streamshed.network.model.stream import stream
        >>> seconds = iter([0.0, 1.5, 12.0])
        >>> notes = StartNotes(print, clock=lambda: next(seconds))
        >>> notes.begins(network(stream("ticks", rate(9), time="timestamp").query("all")))
        laying out 1 query over 1 stream
        >>> notes.waits()
        laid out in 1.5 s, waiting for the first micro-batch, which takes longest
        >>> class Domain:
        ...     status = RunStatus(clock="time", micro_batch_id=0, offered_rows=500, processing_seconds=9.0)
        >>> notes.look([Domain()])
        the first micro-batch has finished 12 s after the start: 500 rows in 9 s
        >>> notes.look([Domain()])
    """

    def __init__(self, say: Callable[[str], object] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say or _said, clock
        self._begun_at_seconds = clock()
        self._is_over = False

    def begins(self, network: QueryNetwork) -> None:
        """Say that a network is laid out."""
        counts = [(len(network.queries), "query", "queries"), (len(network.streams), "stream", "streams")]
        queries, streams = (f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts)
        self._say(f"laying out {queries} over {streams}")

    def waits(self) -> None:
        """Say that Spark has begun, and what is waited for."""
        took = seconds_text(self._clock() - self._begun_at_seconds)
        self._say(f"laid out in {took}, waiting for the first micro-batch, which takes longest")

    def look(self, domains: Sequence[HasStatus]) -> None:
        """Say once that the first micro-batch has finished.

        Args:
            domains: The time domains.
        """
        first = next((domain.status for domain in domains if domain.status.micro_batch_id >= 0), None)
        if self._is_over or first is None:
            return
        self._is_over = True
        since_start = seconds_text(self._clock() - self._begun_at_seconds)
        rows, took = count_text(first.offered_rows), seconds_text(first.processing_seconds)
        self._say(f"the first micro-batch has finished {since_start} after the start: {rows} rows in {took}")


def _said(text: str) -> None:
    _log.info("%s", text)
    package = logging.getLogger("streamshed")
    is_set_up = package.level != logging.NOTSET or package.handlers or logging.getLogger().handlers
    if not is_set_up and ("ipykernel" in sys.modules or sys.stderr.isatty()):
        print(f"streamshed: {text}", file=sys.stderr, flush=True)  # noqa: T201 - for who watches
