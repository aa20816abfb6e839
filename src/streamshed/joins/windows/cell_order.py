"""Cells one after the other, until an amount is spent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.joins.model.arrays import Floats


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
