"""Sums over the rows of a window of powers of v − m, as far as their digits and the extremes tell."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from streamshed.answering.estimate.slice_moments import SliceMoments
from streamshed.answering.table.window_partials import Doubles, WindowPartials

_POWERS = ("present", "total", "squares", "cubes", "quads")

_UNIT = 2.0**-53
"""How far off, by itself, a double is from the number that it was rounded from."""

_STEPS = 8
"""So many times a sum is rounded besides, on its way through powers, weights and products."""


@dataclass(frozen=True)
class CentralSums:
    """Σ f·(v−m)^k over the rows of each window, f their factor: e = (1−P)/P², or e².

    They are differences of large sums where values lie close together and far from 0. Adding up n numbers, one after
    the other, is off by n/2 units at most where all have one sign; so much may be missing of each term. It is added:
    what is returned is no less than the truth, and as good as equal to it while there are digits.

    Attributes:
        sums: Per power of v from 0 to 4, Σ f·v^power.
        center: m.
        present: n, the values.
        reach: The largest |v−m|; infinite where extremes are not known.
        second: Σ f·(v−m)² from the slices' moments, which lose no digits; None: there are none.
    """

    sums: tuple[Doubles, ...]
    center: Doubles
    present: Doubles
    reach: Doubles
    second: Doubles | None = None

    @classmethod
    def of(cls, partials: WindowPartials, factor: str, center: Doubles | None = None) -> CentralSums:
        """Take the sums from window partials.

        Args:
            partials: Of what.
            factor: "excess" or "excess_squared".
            center: m, one per window; None: the estimated means.
        """
        present, slices = partials.doubles("present"), SliceMoments.of(partials)
        with np.errstate(invalid="ignore", divide="ignore"):
            if center is None:
                center = np.nan_to_num(partials.doubles("total_weighted") / partials.doubles("present_weighted"))
            reach = np.maximum(*(np.abs(partials.doubles(f"{side}_number") - center) for side in ("least", "greatest")))
        # The mean of values that are all alike is off by its own rounding.
        reach = np.where(reach <= _units(present) * np.abs(center), 0.0, reach)
        second = None
        if slices is not None:
            excess = slices.weight * (slices.weight - 1.0)
            second = slices.around(center, excess if factor == "excess" else excess * excess)
        return cls(
            sums=tuple(np.nan_to_num(partials.doubles(f"{name}_{factor}")) for name in _POWERS),
            center=center,
            present=present,
            reach=np.nan_to_num(reach, nan=np.inf),
            second=second,
        )

    def power(self, k: int) -> Doubles:
        """Return Σ f·(v−m)^k for a k of 0, 2 or 4; NaN where neither digits nor extremes tell anything of it.

        No power is larger than reach² times the one two below.

        >>> powers = tuple(np.array([power]) for power in (3.0, 6.0, 14.0, 36.0, 98.0))
        >>> sums = CentralSums(powers, center=np.array([2.0]), present=np.array([3.0]), reach=np.array([1.0]))
        >>> sums.power(2).round(9).tolist(), sums.power(4).round(9).tolist()
        ([2.0], [2.0])
        """
        if k == 0:
            return self.sums[0]
        with np.errstate(invalid="ignore", over="ignore"):
            most = self.reach**2 * self.power(k - 2)
            if k == 2 and self.second is not None:
                return np.asarray(np.fmin(self.second, most), np.float64)
            terms = [comb(k, j) * self.sums[j] * (-self.center) ** (k - j) for j in range(k + 1)]
            seen = np.sum(terms, axis=0)
            hidden = _units(self.present) * np.sum(np.abs(terms), axis=0)
            bounded = np.fmin(np.maximum(seen, 0.0) + hidden, most)
        is_lost = (seen <= hidden) & (hidden > 0) & ~np.isfinite(most)
        return np.where(is_lost | ~np.isfinite(bounded), np.nan, bounded)

    def of_spread(self, variance: Doubles) -> tuple[Doubles, Doubles]:
        """Return Σ f·r² and the most that Σ f·r⁴ may be, r = (v−m)² − s² what a row contributes to a variance.

        No r is larger than reach² − s², or s². Of values that are all alike both are 0.

        Args:
            variance: s², one per window.

        Example:
            Of 100 values one is 10, and 99 are 0: r is 97 of that one, and about 1 of the others.

            >>> values = np.array([10.0] + 99 * [0.0])
            >>> powers = tuple(np.array([(values**k).sum()]) for k in range(5))
            >>> sums = CentralSums(powers, center=np.array([0.1]), present=np.array([100.0]), reach=np.array([9.9]))
            >>> second, fourth = sums.of_spread(np.array([0.99]))
            >>> centered = (values - 0.1) ** 2 - 0.99
            >>> round(float(second[0] / (centered**2).sum()), 3), round(float(fourth[0] / (centered**4).sum()), 2)
            (1.0, 1.01)
        """
        second, fourth = self.power(2), self.power(4)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.maximum(fourth - 2 * variance * second + variance**2 * self.sums[0], 0.0)
            squares = np.where(second == 0, 0.0, squares)
            return squares, np.maximum(variance, np.abs(self.reach**2 - variance)) ** 2 * squares


def _units(present: Doubles) -> Doubles:
    return (present / 2 + _STEPS) * _UNIT
