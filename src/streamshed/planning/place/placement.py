"""Where samplers go, and at which rates, so that every query gets its effective sampling rate at the least cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.planning.tree.work_tree import Vector, WorkTree


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


def query_place(name: str) -> str:
    """Return what samplers before a query are called by; those before streams and operators are by their addresses.

    Names have no spaces, and in an address `>` follows the first, so no two things are called alike.

    Args:
        name: Of the query.

    Example:
        >>> query_place("packets")
        'query packets'
    """
    return f"query {name}"


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

        >>> from streamshed.planning.tree.work_tree import WorkNode
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
