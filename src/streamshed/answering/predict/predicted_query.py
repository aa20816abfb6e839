"""What of a query is needed to predict its dropped windows: its windows, and how many keys its groups have."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import AnswerMode
from streamshed.network.terms.window import WindowSpecification


@dataclass(frozen=True, slots=True)
class PredictedQuery:
    """A query with aggregates.

    Attributes:
        name: Its name.
        window: Its windows.
        keys: How many keys a group of its has; 0: it has no groups.
    """

    name: str
    window: WindowSpecification
    keys: int

    @classmethod
    def of(cls, network: QueryNetwork, name: str) -> PredictedQuery:
        """Look a query up.

        Raises:
            InvalidNetworkError: There is no such query with aggregates.
        """
        queries = {query.name: query for query in all_predicted(network)}
        if name not in queries:
            raise InvalidNetworkError(f'no query "{name}" with aggregates{near_miss(name, queries)}')
        return queries[name]


def all_predicted(network: QueryNetwork) -> tuple[PredictedQuery, ...]:
    """Return the queries of a network that have aggregates, in its order."""
    return tuple(
        PredictedQuery(query.name, query.node.over, len(query.node.keys))
        for query in network.queries
        if isinstance(query.node, Aggregate)
    )


def predicted_in_runs(network: QueryNetwork) -> tuple[PredictedQuery, ...]:
    """Return the queries whose windows may be dropped.

    Raises:
        InvalidNetworkError: There are none.
    """
    subset = {query.name for query in network.queries if query.mode is AnswerMode.SUBSET}
    if not (queries := tuple(query for query in all_predicted(network) if query.name in subset)):
        raise InvalidNetworkError(
            "no query is in mode subset, and only windows of such are ever dropped: there is nothing to predict"
            ' (write mode="subset", or leave predictions out)'
        )
    return queries
