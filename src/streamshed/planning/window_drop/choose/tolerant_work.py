"""The work on rows where windows may be dropped: which of it windows need, and what is left for samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from streamshed.network.terms.cohorts import cohorts_of_rows
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.retention import needed_share
from streamshed.planning.window_drop.track.run_needs import RunNeeds, have_one_share
from streamshed.planning.window_drop.track.window_drops import WindowDrops


@dataclass(frozen=True)
class TolerantWork:
    """The work on the rows of a micro-batch, and who tolerates what.

    Attributes:
        tree: The work.
        demands: The queries, in the tree's order.
        queries: Those whose windows may be dropped, by name.
        reading_seconds: See `UpcomingWindows.reading_seconds`.
    """

    tree: WorkTree
    demands: Sequence[Demand]
    queries: Mapping[str, DroppableQuery]
    reading_seconds: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def tree_of_windows(self) -> WorkTree:
        """The work, and reading at its root: what rows cost that windows need."""
        if not self.reading_seconds:
            return self.tree
        nodes = list(self.tree.nodes)
        for root, (node, below) in enumerate(zip(self.tree.nodes, self.tree.queries_below, strict=True)):
            streams = {self._droppable(query).stream for query in below if self.demands[query].query in self.queries}
            if node.parent is None and streams:
                seconds = node.seconds + sum(self.reading_seconds.get(stream, 0.0) for stream in streams)
                nodes[root] = replace(node, seconds=seconds)
        return WorkTree(tuple(nodes))

    def seconds_needed(self, needed: Vector) -> float:
        """Return what the work takes, and reading, on shares of the rows that windows need.

        Args:
            needed: Per node, the share of the rows that reach it.
        """
        return float(self.tree_of_windows.node_seconds @ needed)

    def reading_needed(self, needed: Vector) -> float:
        """Return what of that is reading."""
        return self.seconds_needed(needed) - float(self.tree.node_seconds @ needed)

    @cached_property
    def sampled(self) -> tuple[int, ...]:
        """The numbers of those that are answered from samples."""
        return tuple(number for number, demand in enumerate(self.demands) if not demand.is_protected)

    @property
    def sampled_demands(self) -> list[Demand]:
        """Those."""
        return [self.demands[number] for number in self.sampled]

    def expected_needs(self, kept_shares: Vector) -> Vector:
        """Return which share of the rows that reach a node is needed in the long run: 1 − e·(1 − m).

        It is none for nodes that only samples ask for, and all where a query needs every row. Of several families of
        queries, which drop independently of one another, 1 − m is the product of theirs; see `window_shares`. What
        common runs need, `RunNeeds` tells.

        Args:
            kept_shares: Per demand, the share of its windows that is kept.
        """
        running_by_stream = self.running_by_stream(kept_shares)
        in_runs = {
            stream: runs.needed(float(kept_shares[running_by_stream[stream][0]]))
            for stream, runs in self.common_runs(kept_shares).items()
        }

        def needed(tolerant: Sequence[int]) -> float:
            running = {query: float(kept_shares[query]) for query in tolerant if kept_shares[query] > 0}
            stream = self._droppable(tolerant[0]).stream
            if running and stream in in_runs:
                return in_runs[stream]
            largest: dict[tuple[str, ...], float] = {}
            for query, share in running.items():
                family = self._droppable(query).drops_with
                largest[family] = max(share, largest.get(family, 0.0))
            dropped = math.prod(1 - share for share in largest.values())
            mixed = len(largest) > 1
            early = [
                self._droppable(query).early_share_at(dropped if mixed else 1 - share)
                for query, share in running.items()
            ]
            return 1 - min(early, default=1.0) * dropped

        return self._of_nodes(needed)

    def needs(self, drops: WindowDrops, event_times: Mapping[str, EventTimes]) -> Vector:
        """Return the same of the micro-batch that is planned, in which just some windows are dropped.

        Args:
            drops: Which.
            event_times: What is known of the rows' times, by stream.
        """
        unneeded = {part: part_drops.unneeded_rows for part, part_drops in drops.queries.items()}
        known_shares: dict[frozenset[str], float] = {}

        def needed(tolerant: Sequence[int]) -> float:
            queries = [self._droppable(query) for query in tolerant]
            times = event_times.get(queries[0].stream)
            first, last = (0, 0) if times is None else (times.first, max(times.first, times.last))
            families = list(dict.fromkeys(query.drops_with for query in queries if query.is_by_group))
            shares = []
            for cohorts in cohorts_of_rows(len(families)):
                names = frozenset(
                    query.part_beside(cohorts[families.index(query.drops_with)] if query.is_by_group else 0)
                    for query in queries
                )
                if names not in known_shares:
                    known_shares[names] = needed_share([unneeded.get(name, []) for name in sorted(names)], first, last)
                shares.append(known_shares[names])
            return sum(shares) / len(shares)

        return self._of_nodes(needed)

    def without(self, needed: Vector) -> tuple[WorkTree, tuple[int, ...]]:
        """Return what is left of the tree for those that are answered from samples: the work on rows nobody else needs.

        Args:
            needed: Per node, the share of its rows that is worked on for others.

        Returns:
            The tree, whose queries are `sampled`, and per node of it, which node of the other it is.
        """
        members = {query: number for number, query in enumerate(self.sampled)}
        places: dict[int, int] = {}
        nodes: list[WorkNode] = []
        for index, (node, below) in enumerate(zip(self.tree.nodes, self.tree.queries_below, strict=True)):
            if any(query in members for query in below):
                places[index] = len(nodes)
                nodes.append(
                    replace(
                        node,
                        parent=None if node.parent is None else places[node.parent],
                        seconds=node.seconds * (1 - float(needed[index])),
                        query=None if node.query is None else members[node.query],
                    )
                )
        return WorkTree(tuple(nodes)), tuple(places)

    def common_runs(self, kept_shares: Vector) -> dict[str, RunNeeds]:
        """Return by stream whose queries have common runs what these need.

        Args:
            kept_shares: Per demand, the share of its windows that is kept.
        """
        runs_by_stream = {}
        for stream, queries in self.running_by_stream(kept_shares).items():
            runs = RunNeeds.of([self._droppable(query) for query in queries])
            if runs is not None and have_one_share([float(kept_shares[query]) for query in queries]):
                runs_by_stream[stream] = runs
        return runs_by_stream

    def is_modelled(self, kept_shares: Vector) -> bool:
        """Tell whether `expected_needs` is exact: a single query of each stream runs.

        Args:
            kept_shares: Per demand, the share of its windows that is kept.
        """
        return all(len(queries) == 1 for queries in self.running_by_stream(kept_shares).values())

    def running_by_stream(self, kept_shares: Vector) -> dict[str, list[int]]:
        """Return by stream the numbers of its queries whose windows may be dropped, but for those that are shut down.

        Args:
            kept_shares: Per demand, the share of its windows that is kept.
        """
        running: dict[str, list[int]] = {}
        for number, demand in enumerate(self.demands):
            if demand.query in self.queries and kept_shares[number] > 0:
                running.setdefault(self.queries[demand.query].stream, []).append(number)
        return running

    def _of_nodes(self, needed: Callable[[Sequence[int]], float]) -> Vector:
        """Per node, what those below it need whose windows may be dropped; all, where one needs every row."""
        needs = np.zeros(len(self.tree.nodes))
        for node, below in enumerate(self.tree.queries_below):
            tolerant = [query for query in below if self.demands[query].query in self.queries]
            if any(self.demands[query].is_protected and query not in tolerant for query in below):
                needs[node] = 1.0
            elif tolerant:
                needs[node] = needed(tolerant)
        return needs

    def _droppable(self, query: int) -> DroppableQuery:
        return self.queries[self.demands[query].query]
