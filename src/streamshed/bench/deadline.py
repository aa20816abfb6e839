"""Ending in time: steps that may be left out when there is no time for them, and a list of those that were."""

import time
from collections.abc import Callable


class Deadline:
    """Tells whether there is still time for a step.

    Args:
        seconds: From now; None: there is always time.
        clock: Seconds that only grow.

    Example:
        >>> deadline = Deadline(60.0, clock=iter([0.0, 10.0, 50.0]).__next__)
        >>> deadline.allows("growth", seconds=20), deadline.allows("group keys", seconds=20)
        (True, False)
        >>> deadline.left_out
        ('group keys',)
    """

    def __init__(self, seconds: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._left_out: list[str] = []

    @property
    def left_out(self) -> tuple[str, ...]:
        """What there was no time for, in order."""
        return tuple(self._left_out)

    def allows(self, step: str, *, seconds: float) -> bool:
        """Tell whether a step that takes about so long still ends in time; note it as left out if not."""
        if self._end is None or self._clock() + seconds <= self._end:
            return True
        self._left_out.append(step)
        return False
