"""Queries that ask the same, as one: they share their windows, so to drop those of one of them alone spares nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork


@dataclass(frozen=True)
class Definitions:
    """The work where of the queries of one definition whose windows may be dropped only the first stands, for all.

    Attributes:
        whole: The work on all queries.
    """

    whole: TolerantWork

    @cached_property
    def work(self) -> TolerantWork:
        """The work on the first ones; they weigh as much as all together, and have the highest priority among them."""
        if not self._has_alike:
            return self.whole
        members: dict[int, list[int]] = {}
        for query, first in enumerate(self._first_of):
            members.setdefault(first, []).append(query)
        demands = self.whole.demands
        together = [
            replace(
                demands[first],
                weight=sum(demands[query].weight for query in alike),
                priority=max(demands[query].priority for query in alike),
            )
            for first, alike in members.items()
        ]
        queries = {one.query: self.whole.queries[one.query] for one in together if one.query in self.whole.queries}
        return TolerantWork(self._tree, together, queries, self.whole.reading_seconds)

    def of_queries(self, values: Vector) -> Vector:
        """Return for all queries what is true of the first of their definition."""
        numbers = {first: number for number, first in enumerate(sorted(set(self._first_of)))}
        return values[[numbers[first] for first in self._first_of]]

    def of_nodes(self, values: Vector) -> Vector:
        """Return for all nodes what is true of those in the tree of the first ones."""
        places = {node: place for place, node in enumerate(sorted(set(self._node_of)))}
        return values[[places[node] for node in self._node_of]]

    @cached_property
    def _first_of(self) -> list[int]:
        """Per query, the first of its definition."""
        first: dict[int, int] = {}
        droppable = self.whole.queries
        return [
            first.setdefault(droppable[demand.query].definition_id, query) if demand.query in droppable else query
            for query, demand in enumerate(self.whole.demands)
        ]

    @cached_property
    def _has_alike(self) -> bool:
        return self._first_of != list(range(len(self._first_of)))

    @cached_property
    def _node_of(self) -> list[int]:
        """Per node, itself, or where only queries below it take its rows for which others stand, the node of these."""
        tree, first_of = self.whole.tree, self._first_of
        return [
            node if any(first_of[query] == query for query in below) else tree.query_nodes[first_of[below[0]]]
            for node, below in enumerate(tree.queries_below)
        ]

    @cached_property
    def _tree(self) -> WorkTree:
        tree, nodes = self.whole.tree, sorted(set(self._node_of))
        seconds = np.bincount(self._node_of, weights=tree.node_seconds, minlength=len(tree.nodes))
        places = {node: place for place, node in enumerate(nodes)}
        numbers = {first: number for number, first in enumerate(sorted(set(self._first_of)))}

        def standing(node: int) -> WorkNode:
            whole = tree.nodes[node]
            return replace(
                whole,
                parent=None if whole.parent is None else places[whole.parent],
                seconds=float(seconds[node]),
                query=None if whole.query is None else numbers[whole.query],
            )

        return WorkTree(tuple(map(standing, nodes)))
