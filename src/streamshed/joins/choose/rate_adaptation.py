"""Rate adaptation: new rows are compared with a fraction r of the opposite window, its youngest part ([G05] §4.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.joins.choose.selection import CellWork, Selection
from streamshed.joins.model.side import Side
from streamshed.joins.windows.cell_order import filled


def rate_adaptation(work: CellWork, budget: float) -> Selection:
    """Return the youngest r·|W_i| of either window.

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
