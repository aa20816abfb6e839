"""How much time a micro-batch may take."""

import math
from dataclasses import dataclass

LASTING_SHARE = 0.95
"""Of the time that rows took to come: where everything takes more, micro-batches fall behind for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The time a plan may fill: headroom · deadline − drain.

    Args:
        trigger_interval_seconds: How often a micro-batch should start.
        deadline_seconds: How long one may take; longer than the trigger interval where the latency goal
            allows larger micro-batches.
        headroom: The share of it that a plan may fill, in (0, 1].
        drain_seconds: What of that is kept free to catch up.

    Raises:
        ValueError: A duration or the headroom is out of range, or nothing is left.

    Example:
        >>> budget = Budget(
        ...     trigger_interval_seconds=2.0, deadline_seconds=2.0, headroom=0.8, drain_seconds=0.4)
        >>> round(budget.seconds, 3), round(budget.lossless_seconds, 3)
        (1.2, 1.2)
    """

    trigger_interval_seconds: float
    deadline_seconds: float
    headroom: float
    drain_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.trigger_interval_seconds) and self.trigger_interval_seconds > 0):
            raise ValueError(f"budget: trigger_interval_seconds must be positive, got {self.trigger_interval_seconds}")
        if not (0 < self.headroom <= 1):
            raise ValueError(f"budget: headroom must be in (0, 1], got {self.headroom}")
        if not 0 <= self.drain_seconds < self.headroom * self.deadline_seconds:
            raise ValueError(
                f"budget: drain_seconds must be at least 0 and leave something of the"
                f" {self.headroom * self.deadline_seconds} s to fill, got {self.drain_seconds}"
            )

    @property
    def seconds(self) -> float:
        """What a plan may fill."""
        return self.headroom * self.deadline_seconds - self.drain_seconds

    @property
    def undrained_seconds(self) -> float:
        """What a plan may fill where nothing has to be caught up."""
        return self.headroom * self.deadline_seconds

    @property
    def utmost_seconds(self) -> float:
        """As `seconds`, but without headroom: a micro-batch that takes longer makes the next one late."""
        return self.deadline_seconds - self.drain_seconds

    @property
    def lossless_seconds(self) -> float:
        """Up to here micro-batches keep pace with the trigger; beyond they grow, or rows are shed."""
        return min(self.seconds, self.headroom * self.trigger_interval_seconds)

    def utilization(self, seconds: float) -> float:
        """Return `seconds` as a share of the trigger interval."""
        return seconds / self.trigger_interval_seconds


def deadline_for(trigger_interval_seconds: float, latency_seconds: float | None) -> float:
    """Return how long a micro-batch may take if it is to be done within a latency goal L, however large it may get.

    A row waits at most for the micro-batch before its own, or one trigger interval T, and then for its own. If none
    takes longer than D, its latency is at most max(T, D) + D. Within L that allows D = L − T up to T, and D = L/2
    beyond.

    Args:
        trigger_interval_seconds: T.
        latency_seconds: L; None: 2·T.

    Example:
        >>> [deadline_for(2.0, latency) for latency in (3.0, None, 10.0)]
        [1.0, 2.0, 5.0]
    """
    goal = 2 * trigger_interval_seconds if latency_seconds is None else latency_seconds
    is_short = goal < 2 * trigger_interval_seconds
    return max(goal - trigger_interval_seconds if is_short else goal / 2, 0.0)
