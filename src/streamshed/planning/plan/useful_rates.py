"""Effective sampling rates where some queries have no use for more than a share of their rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streamshed.planning.tree.work_tree import Vector, WorkTree

_HALVINGS = 20
_ROUNDING = 1e-9


def useful_rates(rates_of: Callable[[float], Vector], largest: Vector, tree: WorkTree, budget_seconds: float) -> Vector:
    """Return the rates with which a policy fills a budget, where none is to be larger than what is of use.

    What a query has no use for is there for others: the policy is given more than the budget, as much as makes its
    rates, each cut down to what is of use, fill it.

    Args:
        rates_of: The policy's rates for a number of seconds; with more of them, none is smaller.
        largest: Per query, the largest rate that is of use.
        tree: The work.
        budget_seconds: What it may take.

    Example:
        Two queries of equal cost; the first can use no more than a tenth of its rows.

        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=0.0),
        ...     WorkNode(name="a", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="b", parent=0, seconds=1.0, query=1),
        ... ))
        >>> alike = lambda seconds: np.full(2, min(1.0, seconds / 2))
        >>> useful_rates(alike, np.array([0.1, 1.0]), tree, 1.0).round(3).tolist()
        [0.1, 0.9]
    """

    def cut(seconds: float) -> Vector:
        cut_rates: Vector = np.minimum(rates_of(seconds), largest)
        return cut_rates

    if tree.load_seconds(largest) <= budget_seconds * (1 + _ROUNDING):
        return largest
    low, high = budget_seconds, float(tree.node_seconds.sum())
    best = cut(low)
    if np.all(largest >= 1):
        return best
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        cut_rates = cut(middle)
        if tree.load_seconds(cut_rates) <= budget_seconds:
            low, best = middle, cut_rates
        else:
            high = middle
    return best
