"""Ctrl-C and SIGTERM as a wish to stop, between two micro-batches of a run."""

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """Notes the wish to stop while it is entered; a second one interrupts at once.

    Args:
        duration_seconds: Stop after so long by itself; None: never.
        clock: Seconds.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        *,
        duration_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        # A flag, since locks must not be taken in a signal handler.
        self._is_asked = False
        self._clock = clock
        self._sleep = sleep
        self._deadline = None if duration_seconds is None else clock() + duration_seconds
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def is_asked(self) -> bool:
        """Whether somebody asked to stop."""
        return self._is_asked

    def wait(self, seconds: float) -> bool:
        """Wait a little, and tell whether it is time to stop."""
        if not self._is_asked:
            self._sleep(seconds)
        return self._is_asked or (self._deadline is not None and self._clock() >= self._deadline)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._is_asked:
            raise KeyboardInterrupt
        self._is_asked = True
