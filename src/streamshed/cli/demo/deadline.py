"""Ending in time: how much time is left, and what is left out where it does not suffice."""

import math
import time
from collections.abc import Callable, Iterable, Iterator


class Deadline:
    """The time at which something has to be over.

    Args:
        seconds: From now.
        clock: Seconds that only grow.

    Example:
        >>> deadline = Deadline(60.0, clock=iter([0.0, 10.0, 50.0, 55.0]).__next__)
        >>> deadline.allows("tcp", seconds=20), deadline.allows("udp", seconds=20)
        (True, False)
        >>> deadline.left_out, deadline.seconds_left
        (('udp',), 5.0)
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self._left_out: list[str] = []

    @property
    def seconds_left(self) -> float:
        """How long there is still time; less than 0 when it is over."""
        return self._end - self._clock()

    @property
    def left_out(self) -> tuple[str, ...]:
        """What there was no time for, in order."""
        return tuple(self._left_out)

    def allows(self, step: str, *, seconds: float) -> bool:
        """Tell whether a step that takes about so long still ends in time; note it as left out if not."""
        if seconds <= self.seconds_left:
            return True
        self._left_out.append(step)
        return False

    def each(self, steps: Iterable[str]) -> Iterator[str]:
        """Go through steps of about equal length while there is time, the first one in any case.

        Yields:
            The steps that may be taken; each is expected to take as long as the one before.
        """
        seconds = -math.inf
        for step in steps:
            if self.allows(step, seconds=seconds):
                begin = self._clock()
                yield step
                seconds = self._clock() - begin
