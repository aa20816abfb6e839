"""Which aggregates can be scaled up from a sample, and which queries must therefore see every row."""

from typing import assert_never

from streamshed.errors import UnsheddableQueryError
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.statistics.forecast import Statistics

NUMBERS_ROWS = "its windows hold so many rows, and to number these takes every row"
"""Why windows of so many rows are always answered exactly."""


def obstacle(kind: AggregateKind) -> str | None:
    """Say why no policy can answer an aggregate from a sample; None where it can.

    Example:
        >>> obstacle(AggregateKind.SUM) is None
        True
        >>> obstacle(AggregateKind.MAX)
        'the extreme row may be among those dropped, and nothing kept tells by how much'
    """
    match kind:
        case AggregateKind.COUNT | AggregateKind.SUM | AggregateKind.AVG:
            return None
        case AggregateKind.VARIANCE | AggregateKind.VAR_POP | AggregateKind.STDDEV | AggregateKind.STDDEV_POP:
            return None
        case AggregateKind.QUANTILE:
            return None
        case AggregateKind.DISTINCT | AggregateKind.COUNT_DISTINCT:
            return "how many values only the rows dropped had, those kept do not tell"
        case AggregateKind.USER:
            return "what it would have made of the rows dropped, those kept do not tell"
        case AggregateKind.MIN | AggregateKind.MAX:
            return "the extreme row may be among those dropped, and nothing kept tells by how much"
    assert_never(kind)


def check_scalable(network: QueryNetwork) -> None:
    """Refuse a network that asks for approximate answers which no policy can give.

    Raises:
        UnsheddableQueryError: It names every such query and aggregate, the reason and the ways out.
    """
    problems = [
        f"query {query.name!r}: {name} = {call} cannot be scaled up from a sample: {reason}"
        for query in network.queries
        if query.mode is AnswerMode.APPROXIMATE
        for name, call, reason in _unscalable(query)
    ]
    if problems:
        raise UnsheddableQueryError(
            "; ".join(problems)
            + '. Either give the query mode="exact" (it is then never shed) or mode="subset" (some of'
            " its windows are dropped whole, the others are exact), or run with"
            ' unscalable="keep" (the same for all such queries), or leave the aggregate out'
        )


def protected_streams(network: QueryNetwork) -> dict[str, tuple[str, ...]]:
    """Return the streams with queries that need every row, each with the names of those queries.

    Those are queries in another mode than approximate, since dropping rows at random leaves
    no answer exact, and queries with an aggregate that cannot be scaled.
    """
    protected: dict[str, list[str]] = {}
    for query in network.queries:
        if query.mode is not AnswerMode.APPROXIMATE or _unscalable(query):
            protected.setdefault(query.node.stream.name, []).append(query.name)
    return {stream: tuple(queries) for stream, queries in sorted(protected.items())}


def least_shares(network: QueryNetwork, statistics: Statistics) -> dict[str, float]:
    """Return the share of the work on each stream's rows that nothing may shed: 1 where none of it may be."""
    if statistics.least_shares is None:
        protected = protected_streams(network)
        return {stream.name: float(stream.name in protected) for stream in network.streams}
    return {stream.name: statistics.least_shares.get(stream.name, 0.0) for stream in network.streams}


_NESTED = "it is of answers of another aggregate, which would be estimates"


def _unscalable(query: Query) -> tuple[tuple[str, AggregateCall, str], ...]:
    if not isinstance(query.node, Aggregate):
        return ()
    nested = _NESTED if len(query.windows) > 1 else None
    parts = query.node.parts
    named = ((parts[name].name if name in parts else name, call) for name, call in query.node.calls)
    obstacles = ((name, call, nested or obstacle(call.kind)) for name, call in named)
    return tuple((name, call, reason) for name, call, reason in obstacles if reason is not None)
