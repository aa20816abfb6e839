"""Statistics of a network of which nothing was measured: what rows cost on small machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from streamshed.network.model.lookup import Lookup
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.parsing import TextFormat
from streamshed.statistics.network_statistics import (
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

GUESSED_ROWS_PER_SECOND = 100_000.0
FIXED_SECONDS = 0.4
READ_SECONDS, PARSE_SECONDS, AVRO_SECONDS = 0.25e-6, 1.4e-6, 5e-6
APPLY_SECONDS, LOOKUP_SECONDS, CHEAP_SECONDS = 4e-6, 0.1e-6, 0.03e-6
SLICE_SECONDS, SHARED_SECONDS = 0.2e-6, 0.01e-6
NUMBER_SECONDS = 1e-5
SELECTIVITY = 0.5
GUESSED_GROUPS = 100


@lru_cache(maxsize=64)
def guessed_statistics(network: QueryNetwork) -> NetworkStatistics:
    """Guess what rows of a network cost.

    Reading one takes 0.25 µs, parsing it 1.4 (Avro: 5), a Python function 4, a lookup 0.1, other operators 0.03, its
    slice 0.2, its number in its group 10; and every filter passes half of its rows. A plan made from this shows the
    form of what is shed, not its extent.

    A row goes into its slice once for all queries with the same keys and values. That work is counted at the last
    operator above all of them, or at the stream; one more such query costs next to nothing.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> guessed_statistics(network(ticks.query("rows"))).operators
        {'ticks > filter value > 3': OperatorStatistics(selectivity=0.5, seconds_per_row=3e-08, is_measured=False)}
    """
    operators = [node for node in network.row_nodes if not isinstance(node, Stream)]
    shared, query_seconds = _slicing(network)
    return NetworkStatistics(
        fixed_seconds=FIXED_SECONDS,
        streams={stream.name: _of_stream(stream, shared.get(stream, 0.0)) for stream in network.streams},
        operators={node.address: _of_operator(node, shared.get(node, 0.0)) for node in operators},
        queries={name: QueryStatistics(seconds_per_row=seconds) for name, seconds in query_seconds.items()},
    )


def believed_statistics(network: QueryNetwork, given: NetworkStatistics | None) -> NetworkStatistics:
    """Return what is believed of a network until it is measured: what is given, and a guess of all else.

    Streams, operators and queries of the network that are left out are guessed. Costs are taken as
    given, 0 included. But if all costs given for a stream, its operators and its queries are 0, they count as left out.

    Args:
        network: The network.
        given: Statistics of all or part of it; None: of nothing.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> rare = NetworkStatistics(operators={ticks.address: OperatorStatistics(selectivity=0.01)})
        >>> believed_statistics(network(ticks.query("rows")), rare).operators
        {'ticks > filter value > 3': OperatorStatistics(selectivity=0.01, seconds_per_row=3e-08, is_measured=False)}
    """
    guessed = guessed_statistics(network)
    if given is None:
        return guessed
    costless = {stream.name for stream in network.streams if not _tells_costs(network, given, stream)}
    stream_of = {node.address: node.stream.name for node in network.row_nodes}
    streams, operators, queries = dict(guessed.streams), dict(guessed.operators), dict(guessed.queries)
    joined = {stream.name for stream in network.streams if stream.joined is not None}
    for name, guess in guessed.streams.items():
        given_stream = given.streams.get(name, guess)
        streams[name] = _with_costs(given_stream, guess) if name in costless else given_stream
    for address, operator in guessed.operators.items():
        given_operator = given.operators.get(address, operator)
        is_costless = stream_of[address] in costless
        operators[address] = (
            replace(given_operator, seconds_per_row=operator.seconds_per_row) if is_costless else given_operator
        )
    for query in network.queries:
        guessed_query = guessed.queries[query.name]
        given_query = given.queries.get(query.name, guessed_query)
        is_costless = query.stream.name in costless
        queries[query.name] = (
            replace(given_query, seconds_per_row=guessed_query.seconds_per_row) if is_costless else given_query
        )
    return NetworkStatistics(
        fixed_seconds=given.fixed_seconds or guessed.fixed_seconds,
        streams=streams,
        operators=operators,
        queries=queries,
        joins={name: join for name, join in given.joins.items() if name in joined},
    )


def _tells_costs(network: QueryNetwork, given: NetworkStatistics, stream: Stream) -> bool:
    """Whether something that is given of the work on a stream's rows costs something."""
    nodes = [node for node in network.row_nodes if node.stream == stream]
    operators = [given.operators[node.address] for node in nodes if node.address in given.operators]
    queries = [
        given.queries[query.name] for query in network.queries if query.stream == stream and query.name in given.queries
    ]
    return (
        given.stream(stream.name).parse_seconds_per_row > 0
        or any(one.seconds_per_row > 0 for one in operators)
        or any(one.seconds_per_row > 0 or one.seconds_per_group > 0 for one in queries)
    )


def _with_costs(stream: StreamStatistics, guessed: StreamStatistics) -> StreamStatistics:
    return replace(
        stream,
        read_seconds_per_row=stream.read_seconds_per_row or guessed.read_seconds_per_row,
        parse_seconds_per_row=guessed.parse_seconds_per_row,
    )


def _slicing(network: QueryNetwork) -> tuple[dict[Node, float], dict[str, float]]:
    """Seconds to bring a row into slices: by the node above all queries that share the work, and by query."""
    sharing: dict[tuple[Stream, frozenset[str]], list[Query]] = {}
    query_seconds: dict[str, float] = {}
    for query in network.queries:
        if query.aggregate is None:
            query_seconds[query.name] = SLICE_SECONDS
        elif query.is_by_count:
            query_seconds[query.name] = NUMBER_SECONDS * max(1, len(_values(query)))
        else:
            keys = frozenset(key.expression.canonical for key in query.aggregate.keys)
            sharing.setdefault((query.stream, keys), []).append(query)
    shared: dict[Node, float] = {}
    for queries in sharing.values():
        values = {value for query in queries for value in _values(query)}
        seconds = SLICE_SECONDS * max(1, len(values))
        if len({query.definition_id for query in queries}) == 1:
            query_seconds |= dict.fromkeys((query.name for query in queries), seconds / len(queries))
            continue
        above = _last_common(queries)
        shared[above] = shared.get(above, 0.0) + seconds
        query_seconds |= dict.fromkeys((query.name for query in queries), SHARED_SECONDS)
    return shared, query_seconds


def _values(query: Query) -> set[str]:
    """What a query aggregates but counts, which ride on whatever else is aggregated."""
    calls = () if query.aggregate is None else query.aggregate.calls
    return {call.argument.canonical for _, call in calls if call.argument is not None}


def _last_common(queries: Sequence[Query]) -> Node:
    """The last operator that all rows of some queries over one stream come through, or the stream."""
    first, *others = (query.rows.path for query in queries)
    return [node for place, node in enumerate(first) if all(path[place : place + 1] == (node,) for path in others)][-1]


def guessed_parsing(stream: Stream) -> float:
    """Guess what parsing a row's text takes, in seconds; 0 of one that has none."""
    if stream.text is None:
        return 0.0
    return AVRO_SECONDS if stream.text.format is TextFormat.AVRO else PARSE_SECONDS


def _of_stream(stream: Stream, shared_seconds: float) -> StreamStatistics:
    return StreamStatistics(
        rows_per_second=GUESSED_ROWS_PER_SECOND,
        read_seconds_per_row=READ_SECONDS,
        parse_seconds_per_row=shared_seconds + guessed_parsing(stream),
    )


def _of_operator(node: Node, shared_seconds: float) -> OperatorStatistics:
    guessed = guessed_operator(node)
    return replace(guessed, seconds_per_row=guessed.seconds_per_row + shared_seconds)


def guessed_operator(node: Node) -> OperatorStatistics:
    """Guess what an operator lets pass, and what a row costs it."""
    match node:
        case Apply():
            return OperatorStatistics(seconds_per_row=APPLY_SECONDS)
        case Lookup():
            return OperatorStatistics(selectivity=SELECTIVITY, seconds_per_row=LOOKUP_SECONDS)
        case Filter():
            return OperatorStatistics(selectivity=SELECTIVITY, seconds_per_row=CHEAP_SECONDS)
        case _:
            return OperatorStatistics(seconds_per_row=CHEAP_SECONDS)
