"""Effective sampling rates under which the weighted squared errors of all queries sum up to the least: our default."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.planning.rates.effective_rates import Curve, effective_rates, linear
from streamshed.planning.rates.pooling import pooled_slopes
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree


def least_error_rates(tree: WorkTree, demands: Sequence[Demand], budget_seconds: float) -> Vector:
    """Minimize Σ_q w_q²·c_q/P_q subject to the load: the sum of the squared relative errors but for a constant.

    [B04] makes all errors equal, for it minimizes the largest (§3.1.2), as bounded by Hoeffding. But a bound is not an
    error: it does not vanish at P = 1; and a query that is hard to answer takes from all others to no avail. The
    variance c·(1−P)/P is exact, and its weighted sum is least where the last second of work, wherever it is spent,
    saves as much error. A dear operator lowers the rate of those below it only, and what a query below a node gets the
    others there get for little: neighbors are pooled, see `pooling`.

    Of a set-valued query the error is the share missing, 1 − P: P = 1 − λ·a/(2w²), a its seconds and λ the error that
    a second saves. In a pool with others it is what the pool's scale makes of that: near the best, not it.

    Returns:
        The rate of each query, in [0, 1]; those of protected queries are 1.

    Example:
        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=0.0),
        ...     WorkNode(name="cheap", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="dear", parent=0, seconds=4.0, query=1),
        ... ))
        >>> alike = [Demand(query="cheap", coefficient=0.01), Demand(query="dear", coefficient=0.01)]
        >>> least_error_rates(tree, alike, 1.5).round(3).tolist()
        [0.5, 0.25]
    """
    strengths = [demand.weight**2 * demand.coefficient for demand in demands]

    def slopes(tree: WorkTree, seconds: Vector, sunk: Truths, members: Truths) -> Vector:
        counting = [strength if member else 0.0 for strength, member in zip(strengths, members, strict=True)]
        query_slopes: Vector = pooled_slopes(tree, seconds, counting, [bool(node) for node in sunk])[
            list(tree.query_nodes)
        ]
        return query_slopes

    def missing(scaled: Vector) -> Vector:
        return 1 - 1 / (2 * scaled**2)

    return effective_rates(tree, demands, budget_seconds, slopes, _beside(linear, missing, demands))


def equal_error_rates(tree: WorkTree, demands: Sequence[Demand], budget_seconds: float) -> Vector:
    """Make the weighted errors w·sqrt(c·(1−P)/P) of all queries equal, and as small as the load allows.

    P_q = c_q/(c_q + (t/w_q)²), t the error that all have; as with [B04] but with the variance instead of its bound. For
    a set-valued query, whose error is 1 − P, it is P_q = 1 − t/w_q.

    Returns:
        The rate of each query, in [0, 1]; those of protected queries are 1.

    Example:
        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=0.0),
        ...     WorkNode(name="cheap", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="dear", parent=0, seconds=4.0, query=1),
        ... ))
        >>> alike = [Demand(query="cheap", coefficient=0.01), Demand(query="dear", coefficient=0.02)]
        >>> rates = equal_error_rates(tree, alike, 1.5)
        >>> [round(demand.relative_error(rate), 4) for demand, rate in zip(alike, rates)]
        [0.2032, 0.2032]
    """
    variances = np.array([demand.weight**2 * demand.coefficient for demand in demands])

    def slopes(_tree: WorkTree, _seconds: Vector, _sunk: Truths, _members: Truths) -> Vector:
        return variances

    def equal_error(scaled: Vector) -> Vector:
        return scaled / (1 + scaled)

    def equal_share(scaled: Vector) -> Vector:
        return 1 - 1 / np.sqrt(scaled)

    return effective_rates(tree, demands, budget_seconds, slopes, _beside(equal_error, equal_share, demands))


def _beside(of_aggregates: Curve, of_sets: Curve, demands: Sequence[Demand]) -> Curve:
    """Let set-valued queries follow a curve of their own, from where it is above 0."""
    is_set_valued = np.array([demand.is_set_valued for demand in demands], np.bool_)
    if not is_set_valued.any():
        return of_aggregates

    def both(scaled: Vector) -> Vector:
        with np.errstate(divide="ignore"):
            return np.where(is_set_valued, np.maximum(of_sets(scaled), 0.0), of_aggregates(scaled))

    return both
