"""How long micro-batches take by the share of windows that are kept, and what could be delivered at which excess."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPoint:
    """A stretch in which one share of the windows is kept.

    Args:
        kept_share: The share that was answered.
        seconds: What a micro-batch took, on average.
    """

    kept_share: float
    seconds: float


@dataclass(frozen=True, slots=True)
class DropCurve:
    """Seconds of a micro-batch over the share of windows kept, with drops at one place.

    Args:
        points: What was measured, at two shares at least.
        gap_windows: B: no more than B of B + 1 windows may be dropped.

    Example:
        A third of the work is saved where the last of three equal operators is spared.

        >>> points = DropPoint(kept_share=1.0, seconds=3.0), DropPoint(kept_share=0.5, seconds=2.5)
        >>> output = DropCurve(points, gap_windows=10)
        >>> round(output.delivered(0.2), 6), output.delivered(0.6)
        (0.5, 0.0)
        >>> round(output.stops_at, 2)
        0.43
    """

    points: tuple[DropPoint, ...]
    gap_windows: int

    @property
    def fixed_and_kept_seconds(self) -> tuple[float, float]:
        """The line through the points: what a micro-batch takes with nothing kept, and what all windows add."""
        slope, fixed = np.polyfit(
            [point.kept_share for point in self.points], [point.seconds for point in self.points], 1
        )
        return float(fixed), float(slope)

    def seconds(self, kept_share: float) -> float:
        """Return what a micro-batch takes where a share of the windows is kept."""
        fixed, slope = self.fixed_and_kept_seconds
        return fixed + kept_share * slope

    def delivered(self, excess: float) -> float:
        """Return the share of windows that is delivered at rate (1 + x) · capacity; 0: it cannot keep up at all.

        Args:
            excess: x.
        """
        kept_share = self.kept_at(excess)
        return kept_share if kept_share >= self._least else 0.0

    def kept_at(self, excess: float) -> float:
        """Return the share of windows that there is time for, whatever B allows; below 0: not even for none."""
        fixed, slope = self.fixed_and_kept_seconds
        if slope <= 0:
            return 1.0 if excess <= 0 else -math.inf
        return min(1.0, (self.seconds(1.0) / (1 + excess) - fixed) / slope)

    @property
    def stops_at(self) -> float:
        """From which excess on nothing is delivered: the rest takes too long with as few windows as B allows."""
        return self.seconds(1.0) / self.seconds(self._least) - 1

    @property
    def _least(self) -> float:
        return 1 / (self.gap_windows + 1)

    def to_document(self, excesses: Sequence[float]) -> dict[str, object]:
        """Return what JSON can hold.

        Args:
            excesses: Those at which it says what is delivered.
        """
        return {
            "points": [{"kept": point.kept_share, "seconds": point.seconds} for point in self.points],
            "stops_at_excess": self.stops_at,
            "delivered": {f"{excess:g}": self.delivered(excess) for excess in excesses},
        }


def points_of(
    seconds: Sequence[float], answered: Sequence[int], *, stretches: int, windows: int, skipped: int
) -> tuple[DropPoint, ...]:
    """Condense a run: equally many micro-batches per stretch, the first of each not counted.

    Args:
        seconds: Per micro-batch with rows, how long it took.
        answered: Windows answered, by the stretch in which they start.
        stretches: How many stretches there are.
        windows: Windows that start in one.
        skipped: So many micro-batches of each do not count: they still answer windows of the one before.

    Example:
        >>> points_of([9, 3, 3, 3, 2, 2], [10, 5], stretches=2, windows=10, skipped=1)
        (DropPoint(kept_share=1.0, seconds=3.0), DropPoint(kept_share=0.5, seconds=2.0))
    """
    each = len(seconds) // stretches
    return tuple(
        DropPoint(
            kept_share=answered[number] / windows,
            seconds=float(np.mean(seconds[number * each + skipped : (number + 1) * each])),
        )
        for number in range(stretches)
    )
