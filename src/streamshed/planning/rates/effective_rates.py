"""Effective sampling rates that fill a budget, whatever a policy wants them to be in proportion to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from streamshed.planning.rates.strata import by_priority
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.tight_scale import tight_scale
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree

Slopes = Callable[[WorkTree, Vector, Truths, Truths], Vector]
"""A policy: (tree, seconds of each node, sunk nodes, queries that count now) to what the queries' rates are in
proportion to, at least 0."""

LEAST_WORK = 0.02
"""There is always time for so much work on samples, as a share of what nothing can save, or of what windows take."""

_ROUNDS = 4
"""So often what groups cost at the rates found is taken for what they cost; then it has settled."""

Curve = Callable[[Vector], Vector]
"""What rates are at a scale, given scale · slope: from 0 at 0 up to 1."""

_HALVINGS = 60
_NEXT_TO_NOTHING = 1e-9


def linear(scaled: Vector) -> Vector:
    """In proportion to slopes, up to 1."""
    return np.minimum(1.0, scaled)


def effective_rates(
    tree: WorkTree, demands: Sequence[Demand], budget_seconds: float, slopes: Slopes, curve: Curve = linear
) -> Vector:
    """Return the effective sampling rate of each query: as high as the budget allows.

    Priorities are served one after the other, the highest first: while its queries are not exact, those of lower
    priority get nothing ([B04] §4.1). Protected queries are exact first of all. Among those of one priority, goals are
    met before anything else is shared out: all of them, or else as many as fit, the heaviest queries first.

    Args:
        tree: What rows cost, and where queries take them.
        demands: The queries, in the tree's order.
        budget_seconds: What the tree's work may take.
        slopes: The policy.
        curve: How rates follow from slopes.

    Returns:
        Rates in [0, 1]. Their load is the budget, unless they are all 1, or what is protected needs more than that.
    """
    protected = np.array([demand.is_protected for demand in demands], np.bool_)

    def raised(rates: Vector, members: list[int]) -> Vector:
        those = np.isin(np.arange(len(demands)), members)
        with_goals = _with_goals(tree, demands, rates, those, budget_seconds)
        return _raised(tree, with_goals, those, budget_seconds, slopes, curve)

    return by_priority(
        {number: demand.priority for number, demand in enumerate(demands) if not demand.is_protected},
        np.where(protected, 1.0, 0.0),
        raised,
        lambda rates, members: bool((rates[members] >= 1).all()),
    )


def _with_goals(
    tree: WorkTree, demands: Sequence[Demand], rates: Vector, members: Truths, budget_seconds: float
) -> Vector:
    """Raise the rates of some queries to those that meet their goals, as far as the budget allows."""
    goals = np.where(members, [demand.goal_rate for demand in demands], 0.0)
    with_all = np.maximum(rates, goals)
    if tree.load_seconds(with_all) <= budget_seconds:
        return with_all
    for query in sorted(np.flatnonzero(goals).tolist(), key=lambda query: (-demands[query].weight, goals[query])):
        raised = rates.copy()
        raised[query] = goals[query]
        if tree.load_seconds(raised) <= budget_seconds:
            rates = raised
    return rates


def _raised(
    tree: WorkTree, rates: Vector, members: Truths, budget_seconds: float, slopes: Slopes, curve: Curve
) -> Vector:
    """Raise the rates of some queries, from those of their goals, as far as the budget allows."""
    floors = tree.node_rates(rates)
    seconds = tree.node_seconds
    raised = rates
    for _ in range(_ROUNDS if tree.grouped_nodes else 1):
        wanted = np.where(members, slopes(tree, seconds, floors >= 1, members), 0.0)
        raised = _filling(tree, rates, wanted, seconds, budget_seconds, curve)
        node_rates = tree.node_rates(raised)
        dearer = np.divide(tree.shares(node_rates), node_rates, out=np.ones_like(seconds), where=node_rates > 0)
        seconds = tree.node_seconds * dearer
    return raised


def _filling(
    tree: WorkTree, rates: Vector, wanted: Vector, seconds: Vector, budget_seconds: float, curve: Curve
) -> Vector:
    """Return what the curve makes of s · wanted, where something is wanted, for the largest s that fits."""
    free = np.isinf(wanted)
    finite = np.where(free, 0.0, wanted)
    positive = finite[finite > 0]

    def at(scale: float) -> Vector:
        return np.maximum(rates, np.where(free, 1.0, curve(finite * scale)))

    whole = np.where(wanted > 0, 1.0, rates)
    if not len(positive) or tree.load_seconds(whole) <= budget_seconds:
        return whole
    if curve is linear and not tree.grouped_nodes:
        floors = tree.node_rates(np.where(free, 1.0, rates))
        return at(tight_scale(seconds, tree.node_rates(finite), floors, budget_seconds))
    low, high = _NEXT_TO_NOTHING / float(positive.max()), 1 / _NEXT_TO_NOTHING / float(positive.min())
    if tree.load_seconds(at(low)) > budget_seconds:
        return at(0.0)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if tree.load_seconds(at(middle)) <= budget_seconds else (low, middle)
    return at(low)
