"""Following a run from outside: each micro-batch that finishes is handed on once, in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import RunStatus

_LOOK_EVERY_SECONDS = 1.0
"""A run has the states after its latest hundred micro-batches: none is missed."""


class Reporting(Protocol):
    """A run, as far as following it needs it."""

    @property
    def is_active(self) -> bool:
        """Whether it runs."""

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> Sequence[RunStatus]:
        """The states after the micro-batches that finished later than those, by clock."""


class Follower:
    """Hands on the state after each micro-batch, from a thread of its own, until it is closed.

    Args:
        run: The run.
        take: Takes a state; it is called by one thread at a time.
        name: Of the thread.
    """

    def __init__(self, run: Reporting, take: Callable[[RunStatus], None], *, name: str) -> None:
        self._run, self._take = run, take
        self._micro_batch_ids: dict[str, int] = {}
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name=name, daemon=True)
        self._thread.start()

    def look(self) -> None:
        """Hand on at once what has finished meanwhile."""
        with self._lock:
            for status in self._run.statuses_since(self._micro_batch_ids):
                self._micro_batch_ids[status.clock] = status.micro_batch_id
                self._take(status)

    def close(self) -> None:
        """Hand on what has finished meanwhile, and follow no longer."""
        self._closed.set()
        self._thread.join()
        self.look()

    def _follow(self) -> None:
        while not self._closed.wait(_LOOK_EVERY_SECONDS):
            self.look()
