"""Where a load is going: a slope that both halves of the recent past agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_OBSERVATIONS = 6
"""Fewer tell nothing of a slope."""

MOST_OBSERVATIONS = 64
"""So many are remembered; beyond, every second one is forgotten, never the latest."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Observations of the recent past.

    A jump is no trend: the slope is the smaller one of those of the older and the newer half, and 0 where they point in
    different ways. Behind a jump one of the halves is level, within noise.

    Args:
        span_seconds: How far back it looks.
        observations: Pairs of time and value, in the order of time.

    Example:
        >>> rising = jumped = Trend(span_seconds=100.0)
        >>> for now in range(0, 100, 10):
        ...     rising = rising.observed(now, 1.0 + now / 50)
        ...     jumped = jumped.observed(now, 1.0 if now < 60 else 3.0)
        >>> round(rising.slope, 6), round(jumped.slope, 6)
        (0.02, 0.0)
    """

    span_seconds: float
    observations: tuple[tuple[float, float], ...] = ()

    def observed(self, now_seconds: float, value: float) -> Trend:
        """Take in a value."""
        recent = [seen for seen in self.observations if seen[0] > now_seconds - self.span_seconds]
        recent.append((now_seconds, value))
        if len(recent) > MOST_OBSERVATIONS:
            recent = recent[::-2][::-1]
        return Trend(self.span_seconds, tuple(recent))

    @property
    def slope(self) -> float:
        """The change per second; 0 while there is none to speak of."""
        seen = self.observations
        if len(seen) < LEAST_OBSERVATIONS:
            return 0.0
        middle = len(seen) // 2
        older, newer = _slope(seen[:middle]), _slope(seen[middle:])
        return min(older, newer, key=abs) if older * newer > 0 else 0.0

    @property
    def latest(self) -> float:
        """The last value; 0 before the first."""
        return self.observations[-1][1] if self.observations else 0.0

    @property
    def largest(self) -> float:
        """The largest value that is remembered; 0 before the first."""
        return max((value for _, value in self.observations), default=0.0)

    def ahead(self, seconds: float) -> float:
        """Return what the latest value becomes in so many seconds if it goes on like this, at least 0."""
        return max(0.0, self.latest + self.slope * seconds)


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line with the least squares."""
    middle = sum(time for time, _ in points) / len(points)
    squares = sum((time - middle) ** 2 for time, _ in points)
    return sum((time - middle) * value for time, value in points) / squares if squares > 0 else 0.0
