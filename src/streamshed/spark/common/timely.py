"""Calls that may hang, and of which the answer is waited for only so long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

_Answer = TypeVar("_Answer")

_log = logging.getLogger(__name__)


class Timely:
    """Makes calls one after another, each on a thread of its own; none is made while one is still under way.

    Args:
        seconds: How long an answer is waited for.

    Example:
        >>> calls = Timely(5.0)
        >>> calls.call(lambda: 1, 0), calls.call(lambda: 1 // 0, 0), calls.is_waiting
        (1, 0, False)
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._under_way: threading.Thread | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a call is still under way whose answer is not waited for any longer."""
        return self._under_way is not None and self._under_way.is_alive()

    def call(self, function: Callable[[], _Answer], default: _Answer) -> _Answer:
        """Return what a function returns; the default where it fails, takes too long, or cannot be called yet."""
        with self._lock:
            if self.is_waiting:
                return default
            answers: list[_Answer] = []
            self._under_way = threading.Thread(
                target=_answered, args=(function, answers), name="streamshed-call", daemon=True
            )
            self._under_way.start()
            self._under_way.join(self._seconds)
            return answers[0] if answers else default


def _answered(function: Callable[[], _Answer], answers: list[_Answer]) -> None:
    try:
        answers.append(function())
    except Exception:  # noqa: BLE001 - whatever it is, there is no answer
        _log.debug("a call has failed", exc_info=True)
