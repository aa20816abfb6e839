"""Plans for another load of the same network, without planning anew: [B04] §3.2.1, stability."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from streamshed.planning.rates.rate_policies import RatePolicy
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.tight_scale import TightScale
from streamshed.planning.tree.work_tree import Vector, WorkTree

_NEXT_TO_NOTHING = 1e-9


class RatePlanner:
    """Effective sampling rates for one tree, at any load.

    When only as many rows come as before times some factor, rates that are below 1 keep their proportions: who is
    pooled with whom, and whose error is worth what, stays as it is, and the samplers further down keep their rates as
    long as none reaches 1. What is left to find is one scale, by bisection among points that were sorted once.

    Where that does not hold (several priorities, goals, groups that cost, `equal_error`, and by `least_error` queries
    for rows), each plan is a new one.

    Args:
        tree: What rows cost at load factor 1, and where queries take them.
        demands: The queries, in the tree's order.
        policy: How rates are chosen.

    Example:
        >>> from streamshed.planning.rates.least_error import least_error_rates
        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=0.0),
        ...     WorkNode(name="cheap", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="dear", parent=0, seconds=4.0, query=1),
        ... ))
        >>> planner = RatePlanner(
        ...     tree, [Demand(query=name, coefficient=0.01) for name in ("cheap", "dear")], least_error_rates)
        >>> planner.rates(1.5, 1.0).round(3).tolist(), planner.rates(1.5, 2.0).round(3).tolist()
        ([0.5, 0.25], [0.25, 0.125])
    """

    def __init__(self, tree: WorkTree, demands: Sequence[Demand], policy: RatePolicy) -> None:
        self._tree, self._demands, self._policy = tree, demands, policy
        protected = np.array([demand.is_protected for demand in demands], np.bool_)
        self._floors: Vector = np.where(protected, 1.0, 0.0)

    def rates(self, budget_seconds: float, load_factor: float) -> Vector:
        """Return the effective sampling rate of each query when so many times the rows come.

        Args:
            budget_seconds: What the tree's work may take.
            load_factor: Times the rows that the tree's seconds are of.
        """
        scales = self._scales
        if scales is None:
            return self._policy(self._tree, self._demands, budget_seconds / load_factor)
        scale = scales.within(budget_seconds / load_factor)
        if np.isinf(scale):
            return np.ones(len(self._slopes))
        with np.errstate(invalid="ignore"):
            query_rates: Vector = np.where(np.isinf(self._slopes), 1.0, np.minimum(1.0, scale * self._slopes))
        return query_rates

    @cached_property
    def _scales(self) -> TightScale | None:
        """Which scale fits which budget; None: rates do not keep their proportions."""
        tree, free = self._tree, np.isinf(self._slopes)
        if not self._is_linear:
            return None
        finite = np.where(free, 0.0, self._slopes)
        node_floors = tree.node_rates(np.where(free, 1.0, self._floors))
        return TightScale(tree.node_seconds, tree.node_rates(finite), node_floors)

    @cached_property
    def _slopes(self) -> Vector:
        """With next to nothing to spend, rates are in proportion to their slopes, and only what is free is whole."""
        tree = self._tree
        least_seconds = tree.load_seconds(self._floors)
        rates = self._policy(tree, self._demands, least_seconds + _NEXT_TO_NOTHING * float(tree.node_seconds.sum()))
        return np.where(rates >= 1, np.inf, rates)

    @property
    def _is_linear(self) -> bool:
        """Whether rates below 1 keep their proportions: asked of the policy itself, with half of the work allowed."""
        demands, tree = self._demands, self._tree
        priorities = {demand.priority for demand in demands if not demand.is_protected}
        has_goals = any(demand.goal is not None for demand in demands)
        if any(demand.is_set_valued for demand in demands):
            return False
        if tree.grouped_nodes or has_goals or len(priorities) > 1 or not (self._slopes > 0).any():
            return False
        least_seconds = tree.load_seconds(self._floors)
        half = self._policy(tree, demands, (least_seconds + float(tree.node_seconds.sum())) / 2)
        below = np.isfinite(self._slopes) & (half < 1) & (half > 0)
        scales = half[below] / self._slopes[below]
        return bool(np.allclose(scales, scales[0] if len(scales) else 1.0, rtol=1e-6))
