"""What a shedding policy is given, and its choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.model.arrays import Floats
from streamshed.joins.windows.yields import Yields


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
        result_yields: Results per comparison, where they have a weight; None: `yields` are.
    """

    expected: ExpectedComparisons
    yields: Yields
    prices: Prices = Prices()
    result_yields: Yields | None = None

    @property
    def costs(self) -> Floats:
        """What each cell costs: a·comparisons + e·results + s·reads."""
        comparisons = self.expected.comparisons
        results = comparisons * np.array((self.result_yields or self.yields).per_comparison)
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
        fractions: Per cell, the share of new rows that are compared over it.
        keep_share: The share of new rows that is kept at all.
    """

    fractions: tuple[float, ...]
    keep_share: float = 1.0
