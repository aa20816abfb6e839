"""Join direction: the window that yields more comes first, within it the cells that do ([G05] §5.2)."""

from __future__ import annotations

import numpy as np

from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.model.side import Side
from streamshed.joins.windows.cell_order import best_first, filled


def direction(work: CellWork, budget: float) -> Selection:
    """Return r1·|W_1| and r2·|W_2| rows' worth of cells, the better window first, o_i = mean_j o_ij (Algorithm 4).

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    costs, worth = work.costs, work.yields.per_comparison
    sides = {side: work.expected.windows.cells_of_side(side) for side in Side}
    totals = {side: float(costs[cells].sum()) for side, cells in sides.items()}
    fractions = direction_fractions(work.fraction(budget), totals, {side: _mean(worth, sides[side]) for side in Side})
    parts = [filled(best_first(sides[side], worth), costs, fractions[side] * totals[side]) for side in Side]
    return Selection(tuple(np.sum(parts, axis=0).tolist()))


def direction_fractions(fraction: float, lengths: dict[Side, float], worth: dict[Side, float]) -> dict[Side, float]:
    """Return r1 and r2 with r1·w1 + r2·w2 = r·(w1 + w2), the better window's as large as it can be.

    Args:
        fraction: r.
        lengths: w1 and w2, or what comparing over all of them costs.
        worth: o_1 and o_2.

    Example:
        >>> worth = {Side.LEFT: 0.2, Side.RIGHT: 0.1}
        >>> list(direction_fractions(0.5, {Side.LEFT: 10.0, Side.RIGHT: 20.0}, worth).values())
        [1.0, 0.25]
        >>> list(direction_fractions(0.5, {Side.LEFT: 10.0, Side.RIGHT: 10.0}, worth).values())
        [1.0, 0.0]
    """
    better = Side.LEFT if worth[Side.LEFT] >= worth[Side.RIGHT] else Side.RIGHT
    total = fraction * (lengths[Side.LEFT] + lengths[Side.RIGHT])
    fractions = dict.fromkeys(Side, 0.0)
    for side in (better, better.opposite):
        if lengths[side]:
            fractions[side] = min(1.0, total / lengths[side])
        total -= fractions[side] * lengths[side]
    return fractions


def _mean(worth: tuple[float, ...], cells: range) -> float:
    return sum(worth[cell] for cell in cells) / len(cells) if cells else 0.0
