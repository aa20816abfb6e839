"""Time correlation: the basic windows that yield most, r·|W_i| rows of either window ([G05] §5.1)."""

from __future__ import annotations

import numpy as np

from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.model.side import Side
from streamshed.joins.windows.cell_order import best_first, filled


def time_correlation(work: CellWork, budget: float) -> Selection:
    """Return cells in falling order of o_ij until r·|W_i| is spent, the last in part (Algorithm 3).

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    costs, fraction = work.costs, work.fraction(budget)
    order = {side: best_first(work.expected.windows.cells_of_side(side), work.yields.per_comparison) for side in Side}
    parts = [filled(cells, costs, fraction * float(costs[cells].sum())) for cells in order.values()]
    return Selection(tuple(np.sum(parts, axis=0).tolist()))
