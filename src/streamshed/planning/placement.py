"""Where samplers go, and at which rates, so that every query gets its effective sampling rate at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.planning.work_tree import Vector, WorkTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A sampler on the edge into a node; into a stream: directly behind its source.

    Args:
        node: Index of the node.
        sampling_rate: p, the probability that it keeps a row which has come so far, in [0, 1).
        effective_sampling_rate: P, that a row comes so far and is kept: the product of the p on the path.
    """

    node: int
    sampling_rate: float
    effective_sampling_rate: float


def samplers(tree: WorkTree, query_rates: Vector) -> tuple[Sampler, ...]:
    """Place samplers as SetSamplingRate does ([B04] Algorithm 1).

    Down the tree, the edge into a node whose queries ask for less than comes along, P_x < P_parent, gets one with
    p = P_x / P_parent. So the child that asks for most has none (Observation 3.4), streams have the one that all agree
    on (Observation 3.5), and inside a shared segment there is none (Observation 3.3).

    In execution all are comparisons of one number u of the row's own with P_x, not coins of their own: the rates are
    the same, and samples are nested.

    Args:
        tree: The nodes.
        query_rates: Effective sampling rates of the queries, each above 0.

    Example:
        [B04] Example 3.1: two queries below a shared operator, to be answered from 0.5 and 0.8 of their rows.

        >>> from streamshed.planning.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="A", parent=None, seconds=1.0),
        ...     WorkNode(name="B", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="C", parent=0, seconds=1.0, query=1),
        ... ))
        >>> [(tree.nodes[s.node].name, round(s.sampling_rate, 3)) for s in samplers(tree, np.array([0.5, 0.8]))]
        [('A', 0.8), ('B', 0.625)]
    """
    return _on_edges(tree, tree.node_rates(query_rates))


def edge_rates(tree: WorkTree, query_rates: Vector) -> dict[int, float]:
    """Return the sampling rates of `samplers`, by node."""
    passing = tree.node_rates(query_rates)
    arriving = np.where(tree.parents < 0, 1.0, passing[tree.parents])
    placed = np.flatnonzero(passing < arriving)
    return dict(zip(placed.tolist(), (passing[placed] / arriving[placed]).tolist(), strict=True))


def _on_edges(tree: WorkTree, node_rates: Vector) -> tuple[Sampler, ...]:
    placed = []
    for index, node in enumerate(tree.nodes):
        arriving = 1.0 if node.parent is None else float(node_rates[node.parent])
        passing = float(node_rates[index])
        if passing < arriving:
            placed.append(Sampler(node=index, sampling_rate=passing / arriving, effective_sampling_rate=passing))
    return tuple(placed)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyPlacement:
    """Where samplers go if they cost something themselves.

    Args:
        samplers: The samplers.
        seconds: What nodes and samplers take.
    """

    samplers: tuple[Sampler, ...]
    seconds: float


def costly_samplers(tree: WorkTree, query_rates: Vector, sampler_seconds: Sequence[float]) -> CostlyPlacement:
    """Place samplers at the least cost of nodes and samplers together ([B04] §4.3, by dynamic programming).

    A sampler has to look at every row that comes to its edge. So it may be cheaper to let rows through that a node does
    not need, and to drop them further down, where there are fewer; or in one place instead of in two.

    For a node x, and rows that come with the effective rate R, an effective rate of somebody above:

        cost(x, R) = min( pass(x, R), R · sampler_x + pass(x, P_x) )
        pass(x, R) = seconds_x · R + Σ_children cost(child, R)

    A query's rows must come at its own rate exactly. Below R, only P_x is worth a sampler.

    Args:
        tree: The nodes; their costs are taken to be in proportion to rows.
        query_rates: Effective sampling rates of the queries, each above 0.
        sampler_seconds: For each node, what a sampler on the edge into it takes if nothing is shed before it.

    Example:
        At a tenth of an operator's cost, the one before A and the one before B pay; at nearly its whole cost, the one
        before B is cheaper than both.

        >>> from streamshed.planning.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="A", parent=None, seconds=1.0),
        ...     WorkNode(name="B", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="C", parent=0, seconds=1.0, query=1),
        ... ))
        >>> for cost in (0.1, 0.9):
        ...     placement = costly_samplers(tree, np.array([0.5, 1.0]), [cost] * 3)
        ...     print([tree.nodes[s.node].name for s in placement.samplers], round(placement.seconds, 3))
        ['B'] 2.6
        ['B'] 3.4
    """
    wanted = tree.node_rates(query_rates)
    cheapest_seconds: dict[tuple[int, float], tuple[float, bool]] = {}

    def passing(index: int, arriving: float) -> float:
        below = sum(cheapest(child, arriving)[0] for child in tree.children[index])
        return float(tree.node_seconds[index]) * arriving + below

    def cheapest(index: int, arriving: float) -> tuple[float, bool]:
        """The least cost, and whether it takes a sampler on the edge into this node."""
        if (index, arriving) not in cheapest_seconds:
            node_rate = float(wanted[index])
            has_query = tree.nodes[index].query is not None
            if node_rate == arriving:
                cheapest_seconds[index, arriving] = passing(index, arriving), False
            else:
                with_sampler = arriving * sampler_seconds[index] + passing(index, node_rate)
                without = float("inf") if has_query else passing(index, arriving)
                cheapest_seconds[index, arriving] = min((without, False), (with_sampler, True))
        return cheapest_seconds[index, arriving]

    streams = [index for index, node in enumerate(tree.nodes) if node.parent is None]
    seconds = sum(cheapest(index, 1.0)[0] for index in streams)
    node_rates = np.ones(len(tree.nodes))
    for index, node in enumerate(tree.nodes):
        arriving = 1.0 if node.parent is None else float(node_rates[node.parent])
        node_rates[index] = wanted[index] if cheapest(index, arriving)[1] else arriving
    return CostlyPlacement(samplers=_on_edges(tree, node_rates), seconds=seconds)
