"""Sums over the rows of a window of powers of v − m, from sums of powers of v."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from streamshed.answering.window_partials import Doubles, WindowPartials

_POWERS = ("present", "total", "squares", "cubes", "quads")

_LOST = 1e-9
"""A sum that is this much smaller than what it is the difference of has no digits left."""


@dataclass(frozen=True)
class CentralSums:
    """Σ f·(v−m)^k over the rows of each window, f their factor: e = (1−P)/P², or e².

    Attributes:
        sums: Per power of v from 0 to 4, Σ f·v^power.
        center: m.
    """

    sums: tuple[Doubles, ...]
    center: Doubles

    @classmethod
    def of(cls, partials: WindowPartials, factor: str, center: Doubles) -> CentralSums:
        """Take the sums from window partials.

        Args:
            partials: Of what.
            factor: "excess" or "excess_squared".
            center: m, one per row.
        """
        return cls(tuple(np.nan_to_num(partials.doubles(f"{name}_{factor}")) for name in _POWERS), center)

    def power(self, k: int) -> Doubles:
        """Return Σ f·(v−m)^k of an even k up to 4; NaN where the differences of large sums leave no digits of it.

        >>> sums = CentralSums(tuple(np.array([float(s)]) for s in (3, 6, 14, 36, 98)), np.array([2.0]))
        >>> float(sums.power(2)[0]), float(sums.power(4)[0])
        (2.0, 2.0)
        """
        with np.errstate(invalid="ignore", over="ignore"):
            terms = [comb(k, j) * self.sums[j] * (-self.center) ** (k - j) for j in range(k + 1)]
            found = np.sum(terms, axis=0)
            largest = np.sum(np.abs(terms), axis=0)
        return np.where((found <= _LOST * largest) & (largest > 0) & (self.center != 0), np.nan, found)
