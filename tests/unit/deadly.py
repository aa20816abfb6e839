"""A process that dies between two changes of files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class DiedError(Exception):
    """The process is no more."""


class Deadly:
    """Wraps what changes files: the change of a number kills, before or after it is done.

    Args:
        fatal: Which, counted from 0.
        done: Whether it is done then.
    """

    def __init__(self, fatal: int, *, done: bool) -> None:
        self._fatal, self._done = fatal, done
        self._count = itertools.count()

    def __call__(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **settings: Any) -> None:
            dies = next(self._count) == self._fatal
            if dies and not self._done:
                raise DiedError
            change(*arguments, **settings)
            if dies:
                raise DiedError

        return changed
