"""What is far apart, and so remembered for long: large rows that samples have missed, and values that differ.

Of the samples that are trusted without their largest row, W, some are not trusted with it. Had they missed it, as
others have, nothing would tell. For a row that was kept at the rate P there are (1−P)/P that were not: M in all.
Squared errors are larger than they are taken for by the share L·(1 + M/W)/W, L = Σ P·q/Σq, q of the row to all others.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.answering.estimate.carried_rows import CarriedSums
from streamshed.answering.estimate.value_ranges import RANGE_SUMS, RangeSums, UsualRange

KEPT_LONG = 0.999
"""What is left of a measurement's weight one micro-batch later: large rows are far apart, a thousand count."""

_NO_RANGES = RangeSums()

MOST_MISSED = 0.02
"""If M/W is no more than this, bounds hold nearly as often as they say."""

MOST_ADDED = 0.1
"""So they do if squared errors are larger than they look by no more than this share."""


def with_large_rows(
    earlier: Mapping[str, float], carried: CarriedSums, ranges: RangeSums = _NO_RANGES
) -> dict[str, float]:
    """Add what a micro-batch tells to W, M and L: "windows", "missed", "lead"; and to the sums of ranges."""
    newest = {"windows": carried.windows, "missed": carried.missed, "lead": carried.lead}
    newest |= {name: getattr(ranges, name) for name in RANGE_SUMS}
    return {name: KEPT_LONG * earlier.get(name, 0.0) + added for name, added in newest.items()}


def are_missed(sums: Mapping[str, float]) -> bool:
    """Tell whether so many samples have missed so large rows that none is to be trusted.

    Example:
        Of ten samples one has a row that has 300 times what all others have, and was kept at 0.01.

        >>> seen = with_large_rows({}, CarriedSums(windows=10.0, missed=99.0, lead=3.0))
        >>> are_missed(seen), are_missed(with_large_rows({}, CarriedSums(windows=10.0))), are_missed({})
        (True, False, False)
    """
    windows = sums.get("windows", 0.0)
    if windows <= 0:
        return False
    missed, lead = sums["missed"] / windows, sums["lead"] / windows
    return missed > MOST_MISSED and lead * (1.0 + missed) > MOST_ADDED


def usual_range(sums: Mapping[str, float]) -> UsualRange | None:
    """Return how far apart values are as a rule; None: no window has told.

    >>> usual_range(with_large_rows({}, CarriedSums(), RangeSums(ranges=8.0, ranged=2.0))).distance
    2.0
    """
    ranges = RangeSums(**{name: sums.get(name, 0.0) for name in RANGE_SUMS})
    return UsualRange.of(ranges) if ranges.ranged > 0 or ranges.sized > 0 else None
