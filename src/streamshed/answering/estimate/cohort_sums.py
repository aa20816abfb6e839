"""How far off totals over a sample of rows may be of which each brings many: from what random groups of them add up to.

A row i that is drawn with the rate P brings t_i, all at once or little by little: the pairs of a join that it is in.
Nobody knows t_i, but into which of K cohorts, chosen by chance, each row belongs, and the sums of these.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from streamshed.answering.estimate.cohort_spread import Spread, summed_squares
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.network.terms.join_shedding import COHORTS

_LOST = 1e-9
"""A difference that is this much smaller than what it is of has no digits left."""


@dataclass(frozen=True)
class CohortSums:
    """What the rows of each cohort bring to each window, by the rate P of what they bring.

    Args:
        count: How many windows there are.
        windows: Per sum, its window.
        cohorts: Its cohort.
        weights: 1/P.
        rows: Pairs.
        present: Values that are not null.
        total: Their sum.
        squares: That of their squares.
    """

    count: int
    windows: Longs
    cohorts: Longs
    weights: Doubles
    rows: Doubles
    present: Doubles
    total: Doubles
    squares: Doubles

    @classmethod
    def of(cls, partials: WindowPartials) -> CohortSums:
        """Read the column `cohorts` of window partials."""
        if "cohorts" not in partials.memo:
            lists = partials.array("cohorts")
            windows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
            entries = pc.list_flatten(lists)
            cohorts, *others = (
                pc.fill_null(pc.cast(pc.struct_field(entries, name), kind), 0).to_numpy(zero_copy_only=False)
                for name, kind in [("cohort", "int64"), *((name, "float64") for name in _FIELDS)]
            )
            partials.memo["cohorts"] = cls(len(partials), windows, cohorts, *others)
        cohort_sums: CohortSums = partials.memo["cohorts"]
        return cohort_sums

    def centered(self, mean: Doubles) -> Doubles:
        """Return Σ(v − m) per sum; NaN where that leaves no digits.

        Args:
            mean: m, one per window.
        """
        means = mean[self.windows]
        return _difference(self.total, means * self.present)

    def centered_squares(self, mean: Doubles, variance: Doubles) -> Doubles:
        """Return Σ((v − m)² − s²) per sum; NaN where that leaves no digits.

        Args:
            mean: m, one per window.
            variance: s², likewise.
        """
        means, variances = mean[self.windows], variance[self.windows]
        return _difference(
            self.squares + means * means * self.present, 2.0 * means * self.total + variances * self.present
        )

    def spread(self, brought: Doubles) -> Spread:
        """Return the variance of the totals Σ brought/P of the windows.

        A row i brings t_ip at the rate P, which is there iff its number u_i < P. A total is off by the variance
        Σ_i Σ_{P,Q} t_iP·t_iQ·(1/max(P, Q) − 1). With Z_kP what cohort k brings at P, divided by P, and S² the variance
        of K numbers times K (so that of numbers put into cohorts at random the mean is the sum of their squares), it is
        estimated by ∫ S²(Σ_{P < 1 − x} Z_kP) dx over x from 0 to 1. There min(1 − P, 1 − Q)·Z_P·Z_Q is what counts of
        two rates, and the mean of Z_P·Z_Q is t_P·t_Q/max(P, Q): no bias, whatever rates there are.

        Args:
            brought: Per sum, what it contributes.

        Example:
            Two rows of 5, one of 20, each kept at 0.5, in cohorts of their own.

            >>> sums = CohortSums(
            ...     1, np.zeros(3, np.int64), np.array([1, 4, 9]), np.full(3, 2.0), *(np.array([5.0, 5.0, 20.0]),) * 4)
            >>> found = sums.spread(sums.rows)
            >>> found.variance.round().tolist(), found.cohorts.tolist()
            ([840.0], [3])
        """
        places = self.windows * COHORTS + self.cohorts
        shape, size = (self.count, COHORTS), self.count * COHORTS
        sheds = self.weights > 1.0
        shed_share = 1.0 - 1.0 / self.weights
        added, variance = np.zeros(shape), np.zeros(self.count)
        levels = np.unique(shed_share[sheds])[::-1]
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = brought * self.weights
            for level, lower in itertools.pairwise([*levels.tolist(), 0.0]):
                is_of_level = shed_share == level
                added += np.bincount(places[is_of_level], scaled[is_of_level], size).reshape(shape)
                variance += (level - lower) * summed_squares(added)
            by_cohort = (
                np.asarray(np.bincount(places, numbers, size), np.float64).reshape(shape)
                for numbers in (scaled * np.sqrt(shed_share), brought * sheds, self.rows * sheds)
            )
            return Spread(variance, *by_cohort)


_FIELDS = ("weight", "rows", "present", "total", "squares")


def _difference(first: Doubles, second: Doubles) -> Doubles:
    with np.errstate(invalid="ignore"):
        difference = first - second
        is_lost = (np.abs(difference) <= _LOST * (np.abs(first) + np.abs(second))) & (difference != 0)
    return np.where(is_lost, np.nan, difference)
