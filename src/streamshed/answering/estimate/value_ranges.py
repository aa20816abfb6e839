"""How far apart the values of a window are as a rule: what windows tell of others in which all rows kept are alike."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields

import numpy as np

from streamshed.answering.table.window_partials import Doubles

_LARGEST = 1e140
"""Squares of larger numbers have no sum."""


@dataclass(frozen=True, slots=True)
class RangeSums:
    """Sums over windows and groups, of the least and the greatest value that was kept.

    Attributes:
        ranges: Σ (greatest − least)².
        ranged: How many have a greatest value above the least.
        sizes: Σ max(|least|, |greatest|)².
        negative: How many have a value below 0.
        positive: How many have one above 0.
        sized: How many have either.
    """

    ranges: float = 0.0
    ranged: float = 0.0
    sizes: float = 0.0
    negative: float = 0.0
    positive: float = 0.0
    sized: float = 0.0

    def __add__(self, other: RangeSums) -> RangeSums:
        return RangeSums(*(here + there for here, there in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def of(cls, least: Doubles, greatest: Doubles) -> RangeSums:
        """Add up windows and groups; those without finite extremes tell nothing.

        >>> RangeSums.of(np.array([1.0, -2.0, np.nan]), np.array([1.0, 1.0, np.nan]))
        RangeSums(ranges=9.0, ranged=1.0, sizes=5.0, negative=1.0, positive=2.0, sized=2.0)
        """
        with np.errstate(invalid="ignore"):
            is_told = np.maximum(np.abs(least), np.abs(greatest)) < _LARGEST
        least, greatest = least[is_told], greatest[is_told]
        sizes, ranges = np.maximum(np.abs(least), np.abs(greatest)), greatest - least
        counts = (float(counted.sum()) for counted in (least < 0, greatest > 0, sizes > 0))
        return cls(float((ranges**2).sum()), float((ranges > 0).sum()), float((sizes**2).sum()), *counts)


RANGE_SUMS = tuple(field.name for field in fields(RangeSums))


@dataclass(frozen=True, slots=True)
class UsualRange:
    """What is usual of a query's values.

    Attributes:
        distance: Root mean square of greatest − least, where they differ.
        ranged: How many windows and groups tell it; 0: it is not known.
        below: Root mean square of the largest |v|, where it is not 0, if any value was below 0; else 0.
        above: The same if any was above 0.
        sized: How many windows and groups tell it; 0: it is not known.
    """

    distance: float = 0.0
    ranged: float = 0.0
    below: float = 0.0
    above: float = 0.0
    sized: float = 0.0

    @classmethod
    def of(cls, sums: RangeSums) -> UsualRange:
        """Take the means of sums.

        >>> UsualRange.of(RangeSums(ranges=18.0, ranged=2.0, sizes=5.0, negative=0.0, positive=2.0, sized=5.0))
        UsualRange(distance=3.0, ranged=2.0, below=0.0, above=1.0, sized=5.0)
        """
        distance = math.sqrt(sums.ranges / sums.ranged) if sums.ranged > 0 else 0.0
        size = math.sqrt(sums.sizes / sums.sized) if sums.sized > 0 else 0.0
        below, above = (size if count > 0 else 0.0 for count in (sums.negative, sums.positive))
        return cls(distance, sums.ranged, below, above, sums.sized)
