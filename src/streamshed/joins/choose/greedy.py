"""Greedy: the cells of both windows together, by results per cost."""

from __future__ import annotations

import numpy as np

from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.windows.cell_order import best_first, filled

_CHEAP_READS = 0.1
"""Of the budget: what reading everything may cost where rows are compared over all lags."""


def greedy(work: CellWork, budget: float) -> Selection:
    """Return cells of either window in falling order of results ÷ cost until the budget is spent, the last in part.

    This is the optimum of the fractional knapsack at the given yields. It contains time correlation and join direction,
    and assumes neither a better direction nor equal rates. Where yields say nothing (`Yields.tell`), the same fraction
    of every cell is taken: any share r of the comparisons then gives a share r of the results, as random drop does.

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    costs = work.costs
    if not work.yields.tell and work.prices.read * sum(work.expected.reads) <= _CHEAP_READS * budget:
        return Selection((work.fraction(budget),) * len(costs))
    results = work.expected.comparisons * np.array(work.yields.per_comparison)
    density = np.divide(results, costs, out=np.zeros(len(costs)), where=costs > 0)
    order = best_first(range(len(costs)), density.tolist())
    return Selection(tuple(filled(order, costs, budget).tolist()))
