"""How much rows bring each, as far as sums of cohorts tell, into which chance has put them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.answering.table.window_partials import Doubles, Longs
from streamshed.network.terms.join_shedding import COHORTS


@dataclass(frozen=True)
class Spread:
    """How far off totals are, one each.

    What a row i brings counts with y_i = Σ_P sqrt(1 − P)·t_iP/P: in a sample at one rate, y_i² is its part of the
    variance.

    Attributes:
        variance: Estimated, without bias.
        sums: Σy of each cohort; shape (totals, cohorts).
        brought: Σt of the same rows, whatever the rates.
        pairs: How many pairs these bring.
    """

    variance: Doubles
    sums: Doubles
    brought: Doubles
    pairs: Doubles

    @property
    def cohorts(self) -> Longs:
        """In how many cohorts there is anything."""
        return np.asarray((self.pairs > 0).sum(axis=1))

    @property
    def row_square(self) -> Doubles:
        """The square of what one row brings, on average over pairs; NaN of no pairs."""
        with np.errstate(invalid="ignore", divide="ignore"):
            of_pairs = summed_squares(self.pairs) / self.pairs.sum(axis=1) ** 2
        squares: Doubles = summed_squares(self.brought) * of_pairs
        return squares

    def effective_rows(self) -> Doubles:
        """Return (Σy²)²/Σy⁴: as if so many rows had brought as much each; infinite where that cannot be told from more.

        The fourth powers are estimated from those of the cohorts' deviations, less what many rows alike would give.
        """
        return _effective(self.sums)

    def with_another(self, sampling_rate: Doubles) -> Doubles:
        """Return how many effective rows there would be with one row more, like others, drawn at a rate.

        It is no more than there are. It is little where few rows of that rate are there, and one would change all.

        Args:
            sampling_rate: P, one per total.
        """
        squares, effective = summed_squares(self.sums), self.effective_rows()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            added = (1.0 - sampling_rate) / sampling_rate**2 * self.row_square
            return np.fmin(effective, (squares + added) ** 2 / (squares**2 / effective + added**2))

    def largest_row(self) -> LargestOfCohorts:
        """Look for a row that brings far more than others, in the cohort that is farthest from the others.

        Example:
            One row of 40 among many of 1.

            >>> brought = np.array([[40.0, *[1.0, 2.0] * 7, 1.0]])
            >>> found = Spread(np.ones(1), brought, brought, np.ones((1, 16))).largest_row()
            >>> found.lead.round().tolist(), found.effective_rows.round(1).tolist(), found.others.tolist()
            ([371.0], [1.0], [inf])
        """
        sums = self.brought
        largest = np.abs(_centered(sums)).argmax(axis=1)
        others = sums[np.arange(COHORTS) != largest[:, np.newaxis]].reshape(-1, COHORTS - 1)
        squares = summed_squares(others)
        with np.errstate(invalid="ignore", divide="ignore"):
            leading = (sums[np.arange(len(largest)), largest] - others.mean(axis=1)) ** 2 - squares / (COHORTS - 1)
            lead = np.nan_to_num(np.maximum(leading, 0.0) / squares)
        return LargestOfCohorts(lead, _effective(sums), _effective(others))


@dataclass(frozen=True)
class LargestOfCohorts:
    """The row that brings most, as if all rows were of one rate.

    Attributes:
        lead: t²/Σt² of it to all others.
        effective_rows: Of all.
        others: Of the cohorts that it is not in.
    """

    lead: Doubles
    effective_rows: Doubles
    others: Doubles


def summed_squares(sums: Doubles) -> Doubles:
    """Estimate Σx² of numbers x that were put into cohorts at random, from the sums of the cohorts."""
    k = sums.shape[1]
    squares: Doubles = k / (k - 1) * (_centered(sums) ** 2).sum(axis=1)
    return squares


def _centered(sums: Doubles) -> Doubles:
    with np.errstate(invalid="ignore"):
        centered: Doubles = sums - sums.mean(axis=1, keepdims=True)
    return centered


def _effective(sums: Doubles) -> Doubles:
    """Estimate (Σx²)²/Σx⁴ of numbers x that were put into cohorts at random, from the sums of the cohorts.

    With M = Σ(sum − mean)⁴, A = (1 − 1/K)(1 − 3/K + 3/K²) and B = (1 − 1/K)²/K, the mean of M is
    A·Σx⁴ + 3B·((Σx²)² − Σx⁴). The mean of the square of an estimate of Σx² is (Σx²)² + 2/(K − 1)·((Σx²)² − Σx⁴).
    """
    k = sums.shape[1]
    first, second = (1 - 1 / k) * (1 - 3 / k + 3 / k**2), (1 - 1 / k) ** 2 / k
    squares, fourths = summed_squares(sums), (_centered(sums) ** 4).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_fourths = fourths - 3 * second * (k - 1) / (k + 1) * squares**2
        of_fourths /= first - 3 * second + 6 * second / (k + 1)
        effective_rows = np.where(of_fourths > 0, squares**2 / of_fourths, np.inf)
    return np.maximum(np.where(squares > 0, effective_rows, 0.0), 1.0)
