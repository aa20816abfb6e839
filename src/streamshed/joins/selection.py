"""What a shedding policy is told, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.joins.arrays import Floats
from streamshed.joins.expected_comparisons import ExpectedComparisons
from streamshed.joins.yields import Yields


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a micro-batch pays for, in any one unit; by default budgets are numbers of comparisons.

    Args:
        comparison: a, of a comparison.
        result: e, of a result.
        read: s, of reading a basic window.
    """

    comparison: float = 1.0
    result: float = 0.0
    read: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWork:
    """What there is to choose from.

    Args:
        expected: What comparing over all lags would take.
        yields: What comparisons yield, by weight where results have one.
        prices: What they cost.
        found: Results per comparison, where they have a weight; None: `yields` are.
    """

    expected: ExpectedComparisons
    yields: Yields
    prices: Prices = Prices()
    found: Yields | None = None

    @property
    def costs(self) -> Floats:
        """What each cell costs: a·comparisons + e·results + s·reads."""
        comparisons = self.expected.comparisons
        results = comparisons * np.array((self.found or self.yields).per_comparison)
        reads = np.array(self.expected.reads)
        total: Floats = comparisons * self.prices.comparison + results * self.prices.result + reads * self.prices.read
        return total

    def fraction(self, budget: float) -> float:
        """Return r, the share of the full join that a budget is enough for, in [0, 1]."""
        total = float(self.costs.sum())
        return 1.0 if total <= budget else max(0.0, budget) / total


@dataclass(frozen=True, slots=True)
class Selection:
    """What is kept.

    Args:
        fractions: Per cell, the share of its lags that is compared.
        keep_share: The share of new rows that is kept at all.
    """

    fractions: tuple[float, ...]
    keep_share: float = 1.0


def filled(order: Sequence[int], costs: Floats, amount: float) -> Floats:
    """Return fractions of cells, taken in some order until an amount is spent, the last in part.

    Args:
        order: Numbers of cells, first choice first; others get nothing.
        costs: Of all cells.
        amount: What may be spent.

    Example:
        >>> filled([2, 0], np.array([10.0, 10.0, 5.0]), 9.0).tolist()
        [0.4, 0.0, 1.0]
    """
    fractions = np.zeros(len(costs))
    amount = max(0.0, amount)
    for cell in order:
        fractions[cell] = 1.0 if costs[cell] <= amount else amount / costs[cell]
        amount = max(0.0, amount - costs[cell])
    return fractions


def best_first(cells: Sequence[int], worth: Sequence[float]) -> list[int]:
    """Return cells in falling order of their worth; of equals the younger first.

    Example:
        >>> best_first([0, 1, 2], [0.1, 0.3, 0.1])
        [1, 0, 2]
    """
    return sorted(cells, key=lambda cell: -worth[cell])
