"""What every plan looks up of the same work, however many rows come: streams and demands by their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector


class WorkIndex:
    """Streams and demands of some work, put so that thousands of them are summed up and named at a time.

    Args:
        streams: Per node of the tree, its stream.
        demands: The queries; then the counting of rows for some of them.

    Attributes:
        queries: Names of the queries, in order.
        counted: Names of those for which rows are counted, in the order of what counts them.
        with_goal: Places of the queries that have a goal.

    Example:
        >>> both = [Demand(query="both", coefficient=0.01), Demand(query="one", coefficient=0.04)]
        >>> index = WorkIndex(["ticks", "ticks", "trades"], both)
        >>> index.by_stream(np.array([1.0, 0.5, 0.25]))
        {'ticks': 1.5, 'trades': 0.25}
        >>> index.of_demands({"one": 0.5}).tolist()
        [1.0, 0.5]
    """

    def __init__(self, streams: Sequence[str], demands: Sequence[Demand]) -> None:
        numbers = {stream: number for number, stream in enumerate(dict.fromkeys(streams))}
        self._streams = tuple(numbers)
        self._number = np.array([numbers[stream] for stream in streams], np.int64)
        self._places = {demand.query: place for place, demand in enumerate(demands)}
        self._coefficients: Vector = np.array([demand.coefficient for demand in demands])
        self._is_set_valued = np.array([demand.is_set_valued for demand in demands], np.bool_)
        self.queries = tuple(demand.query for demand in demands if demand.counts_for is None)
        self.counted = tuple(demand.counts_for for demand in demands if demand.counts_for is not None)
        self._hosts = np.array([self._places[query] for query in self.counted], np.int64)
        self.with_goal = tuple(place for place, demand in enumerate(demands) if demand.goal is not None)

    def place(self, query: str) -> int:
        """Return where a query stands among the demands."""
        return self._places[query]

    def by_stream(self, of_nodes: Vector) -> dict[str, float]:
        """Return the sum of what each node has, by stream."""
        sums = np.bincount(self._number, weights=of_nodes, minlength=len(self._streams))
        return dict(zip(self._streams, sums.tolist(), strict=True))

    def of_demands(self, by_query: Mapping[str, float]) -> Vector:
        """Return the rates or shares that are known of demands in their order, and 1 of the others."""
        of_all = np.ones(len(self._coefficients))
        for query, value in by_query.items():
            if query in self._places:
                of_all[self._places[query]] = value
        return of_all

    def squared_errors(self, rates: Vector, factor: float) -> Vector:
        """Return the square of `Demand.relative_error` of each demand.

        Args:
            rates: Their effective sampling rates.
            factor: By what variances have changed since, as more or fewer rows come.
        """
        variances = factor * self._coefficients * (1 - rates) / rates
        return np.where(self._is_set_valued, (1 - rates) ** 2, variances)

    def of_queries(self, of_demands: Vector) -> Vector:
        """Return what each query has, with what the counting of its rows has, in the order of the queries."""
        per_query: Vector = of_demands[: len(self.queries)].copy()
        np.add.at(per_query, self._hosts, of_demands[len(self.queries) :])
        return per_query
