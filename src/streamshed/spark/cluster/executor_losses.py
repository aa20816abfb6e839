"""Losses of executors over time: single ones, which the cluster makes up for, or a loop in which it does not."""

from __future__ import annotations

from dataclasses import dataclass

FREQUENT_MOMENTS = 4
"""So many times something was lost before that is the rule."""

APART_SECONDS = 5.0
"""What is lost in less time is lost at once, as with a machine that has several executors."""


@dataclass(frozen=True, slots=True)
class ExecutorLosses:
    """When executors were lost of late.

    Args:
        window_seconds: How long one is remembered.
        times: When, of each, in order.

    Example:
        The only worker dies every forty seconds.

        >>> losses = ExecutorLosses(window_seconds=360.0)
        >>> for now in (0.0, 40.0, 80.0, 120.0):
        ...     losses = losses.observed(1, now)
        ...     print(losses.are_frequent, losses.is_loop(wanted=1))
        False False
        False False
        False False
        True True
        >>> losses.observed(0, 400.0).is_loop(wanted=1)
        False
    """

    window_seconds: float
    times: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """How many executors were lost."""
        return len(self.times)

    @property
    def span_seconds(self) -> float:
        """From the first loss that is remembered to the last one."""
        return self.times[-1] - self.times[0] if self.times else 0.0

    @property
    def are_frequent(self) -> bool:
        """Whether executors that come and go are the rule; what a micro-batch takes is with them."""
        moments, last = 0, float("-inf")
        for time in self.times:
            if time - last >= APART_SECONDS:
                moments, last = moments + 1, time
        return moments >= FREQUENT_MOMENTS

    def is_loop(self, *, wanted: int) -> bool:
        """Tell whether more were lost than there should be, so that those that replace them are not to be counted on.

        In a large cluster some worker dies every few minutes; that alone is no loop.

        Args:
            wanted: How many executors there should be.
        """
        return self.are_frequent and self.count > wanted

    def observed(self, count: int, now_seconds: float) -> ExecutorLosses:
        """Take in how many executors were found to be lost since the last look.

        Args:
            count: How many; may be 0.
            now_seconds: Not earlier than before.
        """
        recent_times = tuple(time for time in self.times if now_seconds - time <= self.window_seconds)
        return ExecutorLosses(self.window_seconds, recent_times + (now_seconds,) * count)
