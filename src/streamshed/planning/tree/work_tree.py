"""What a micro-batch's rows cost, node by node: the load equation of [B04] §2.2 for any effective sampling rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from streamshed.statistics.group_sizes import GroupSizes

Vector = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkNode:
    """A stream, an operator, or what a query does with its rows.

    Args:
        name: Its name, for those who read a plan.
        parent: Index of the node that its rows come from; None: it is a stream.
        seconds: What its work takes if nothing is shed: n · Π s · t, the rows that reach it by what each costs, or for
            groups the number of groups by what each costs.
        query: Index of the query whose own work this is; None: others take its rows.
        groups: How its rows are spread over groups, where it is groups that cost; None: its rows do.
    """

    name: str
    parent: int | None
    seconds: float
    query: int | None = None
    groups: GroupSizes | None = None


@dataclass(frozen=True)
class WorkTree:
    """The nodes of all streams of a network, each after its parent.

    A row passes node x iff its own number u in [0, 1) is below P_x, the largest effective sampling rate of the queries
    at x and below. So x sees the share P_x of its rows, wherever the others were dropped, and the load is

        Σ_x seconds_x · share_x(P_x),    share_x(P) = P, or for groups D(P)/D(1)

    which for given rates of the queries is the least possible ([B04] Theorem 3.6).

    Args:
        nodes: The nodes; the leaves are those of the queries, one each.

    Raises:
        ValueError: A node stands before its parent or costs less than nothing, or the leaves are not the queries,
            numbered from 0 without gaps.

    Example:
        Two queries below a shared operator.

        >>> tree = WorkTree((
        ...     WorkNode(name="parse", parent=None, seconds=1.0),
        ...     WorkNode(name="tcp", parent=0, seconds=0.5, query=0),
        ...     WorkNode(name="udp", parent=0, seconds=0.2, query=1),
        ... ))
        >>> tree.node_rates(np.array([0.5, 0.8])).tolist()
        [0.8, 0.5, 0.8]
        >>> round(tree.load_seconds(np.array([0.5, 0.8])), 3)
        1.21
    """

    nodes: tuple[WorkNode, ...]

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            if node.parent is not None and not 0 <= node.parent < index:
                raise ValueError(f"work tree: {node.name!r} must stand after its parent, got parent {node.parent}")
            if not node.seconds >= 0:
                raise ValueError(f"work tree: {node.name!r} cannot take {node.seconds} s")
        queries = sorted(node.query for node in self.nodes if node.query is not None)
        if queries != list(range(len(queries))):
            raise ValueError(f"work tree: its queries must be 0 to {len(queries) - 1}, each at one node, got {queries}")
        for node, children in zip(self.nodes, self.children, strict=True):
            if bool(children) is (node.query is not None):
                raise ValueError(f"work tree: a query is at each leaf, and nowhere else, but not so at {node.name!r}")

    @cached_property
    def query_nodes(self) -> tuple[int, ...]:
        """Per query, its node."""
        node_of_query = {node.query: index for index, node in enumerate(self.nodes) if node.query is not None}
        return tuple(node_of_query[query] for query in range(len(node_of_query)))

    @cached_property
    def queries_below(self) -> tuple[tuple[int, ...], ...]:
        """Per node, the queries at it or below it, sorted."""
        below: list[list[int]] = [[] if node.query is None else [node.query] for node in self.nodes]
        for index in range(len(self.nodes) - 1, 0, -1):
            parent = self.nodes[index].parent
            if parent is not None:
                below[parent] += below[index]
        return tuple(tuple(sorted(queries)) for queries in below)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Per node, the nodes that take its rows."""
        children: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.parent is not None:
                children[node.parent].append(index)
        return tuple(map(tuple, children))

    @cached_property
    def parents(self) -> npt.NDArray[np.int64]:
        """Per node, the one above it; −1: there is none."""
        return np.array([-1 if node.parent is None else node.parent for node in self.nodes], np.int64)

    @cached_property
    def node_seconds(self) -> Vector:
        """What each node's work takes if nothing is shed."""
        return np.array([node.seconds for node in self.nodes])

    @cached_property
    def grouped_nodes(self) -> tuple[int, ...]:
        """The nodes whose groups cost."""
        return tuple(index for index, node in enumerate(self.nodes) if node.groups is not None)

    def node_rates(self, query_rates: Vector) -> Vector:
        """Return P_x of every node: the largest of the queries' rates at it and below."""
        places, starts = self._flat
        node_rates: Vector = np.maximum.reduceat(query_rates[places], starts)
        return node_rates

    def shares(self, node_rates: Vector) -> Vector:
        """Return the share of its work that each node does at its rate: fewer rows meet almost as many groups."""
        shares = node_rates.copy()
        for index in self.grouped_nodes:
            groups = self.nodes[index].groups
            if groups is not None:
                shares[index] = groups.share_met(float(node_rates[index]))
        return shares

    def load_seconds(self, query_rates: Vector) -> float:
        """Return what all nodes take at these effective sampling rates of the queries."""
        return float(self.node_seconds @ self.shares(self.node_rates(query_rates)))

    @cached_property
    def _flat(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """All of `queries_below` in one array, and where each node's begin."""
        lengths = [len(below) for below in self.queries_below]
        places = np.array([query for below in self.queries_below for query in below], np.int64)
        return places, np.concatenate(([0], np.cumsum(lengths[:-1]))).astype(np.int64)
