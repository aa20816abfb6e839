"""Greedy: the cells of both windows together, by results per cost."""

from __future__ import annotations

import numpy as np

from streamshed.joins.selection import CellWork, Selection, best_first, filled


def greedy(work: CellWork, budget: float) -> Selection:
    """Return cells of either window in falling order of results ÷ cost until the budget is spent, the last in part.

    The fractional knapsack's optimum at the yields it is told. It contains time correlation and join direction, and
    assumes neither a better direction nor equal rates.

    Args:
        work: What there is to compare.
        budget: What it may cost.

    Example:
        >>> from streamshed.joins.join_windows import JoinWindows
        >>> from streamshed.joins.outlook import Outlook
        >>> from streamshed.joins.yields import Yields
        >>> windows = JoinWindows(20, 10, 10)
        >>> stored, new = (90.0, 100.0, 100.0), (10.0, 0.0, 0.0)
        >>> outlook = Outlook(windows=windows, with_stored=stored, among_new=new, reads=(2, 2, 2))
        >>> yields = Yields((1e6, 1e6, 1e6), (1e4, 3e4, 2e4))
        >>> work = CellWork(outlook=outlook, yields=yields)
        >>> greedy(work, 225.0).fractions
        (0.25, 1.0, 1.0)
    """
    costs = work.costs
    results = work.outlook.comparisons * np.array(work.yields.per_comparison)
    density = np.divide(results, costs, out=np.zeros(len(costs)), where=costs > 0)
    order = best_first(range(len(costs)), density.tolist())
    return Selection(tuple(filled(order, costs, budget).tolist()))
