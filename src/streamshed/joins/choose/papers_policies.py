"""The policies of the paper: random drop, rate adaptation, time correlation, join direction ([G05] §4.1, §5, §6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.model.side import Side
from streamshed.joins.windows.cell_order import best_first, filled


def random_drop(work: CellWork, budget: float) -> Selection:
    """Random drop, the baseline: return the share p of new rows to keep, of which what is left is joined fully (§6).

    p·(cost with stored rows) + p²·(cost among new ones) = budget. Dropped rows are in no window either, so that in the
    long run both sides of a comparison are fewer by p.

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    ones = (1.0,) * work.expected.windows.cells
    total, comparisons = float(work.costs.sum()), work.expected.total
    if total <= budget:
        return Selection(ones)
    if budget <= 0:
        return Selection(ones, 0.0)
    among_new = total * sum(work.expected.among_new) / max(1.0, comparisons)
    with_stored = total - among_new
    keep_share = 2.0 * budget / (with_stored + math.sqrt(with_stored**2 + 4.0 * among_new * budget))
    return Selection(ones, min(1.0, keep_share))


def rate_adaptation(work: CellWork, budget: float) -> Selection:
    """Rate adaptation: return the youngest r·|W_i| of either window, for new rows to be compared with (§4.1).

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    costs, fraction = work.costs, work.fraction(budget)
    windows = work.expected.windows
    sides = [windows.cells_of_side(side) for side in Side]
    parts = [filled(cells, costs, fraction * float(costs[cells].sum())) for cells in sides]
    return Selection(tuple(np.sum(parts, axis=0).tolist()))


@dataclass(frozen=True, slots=True)
class RateAdaptation:
    """r where what a micro-batch takes is only known afterwards ([G05] Algorithm 1).

    β = budget ÷ what was needed; r ← β·r if β < 1, else min(1, δ_r·r).

    Args:
        fraction: r, 1 at first.
        boost: The fraction boost factor δ_r, above 1.

    Raises:
        ValueError: r is not in (0, 1], or the boost factor not above 1.

    Example:
        >>> adapted = RateAdaptation()
        >>> course = []
        >>> for needed in (5000.0, 2500.0, 2500.0):
        ...     adapted = adapted.update(budget=2500.0, needed=needed)
        ...     course.append(round(adapted.fraction, 9))
        >>> course
        [0.5, 0.6, 0.72]
        >>> RateAdaptation(0.9).update(budget=1.0, needed=1.0).fraction
        1.0
    """

    fraction: float = 1.0
    boost: float = 1.2

    def __post_init__(self) -> None:
        if not 0.0 < self.fraction <= 1.0 or not self.boost > 1.0:
            raise ValueError(
                f"r = {self.fraction} and boost factor {self.boost}, expected r in (0, 1] and a factor above 1"
            )

    def update(self, *, budget: float, needed: float) -> RateAdaptation:
        """Return r for what comes next.

        Args:
            budget: What the last adaptation period had, such as seconds.
            needed: What its rows took, in the same unit.
        """
        if needed <= budget:
            return RateAdaptation(min(1.0, self.boost * self.fraction), self.boost)
        return RateAdaptation(self.fraction * budget / needed, self.boost)


def time_correlation(work: CellWork, budget: float) -> Selection:
    """Time correlation: return cells in falling order of o_ij until r·|W_i| is spent, the last in part.

    They are the basic windows that yield most, r·|W_i| rows of either window (§5.1, Algorithm 3).

    Args:
        work: What there is to compare.
        budget: What it may cost.
    """
    costs, fraction = work.costs, work.fraction(budget)
    order = {side: best_first(work.expected.windows.cells_of_side(side), work.yields.per_comparison) for side in Side}
    parts = [filled(cells, costs, fraction * float(costs[cells].sum())) for cells in order.values()]
    return Selection(tuple(np.sum(parts, axis=0).tolist()))


def direction(work: CellWork, budget: float) -> Selection:
    """Join direction: return r1·|W_1| and r2·|W_2| rows' worth of cells, the better window first.

    The window that yields more is the better one, o_i = mean_j o_ij; within it cells that yield more come first (§5.2,
    Algorithm 4).

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
