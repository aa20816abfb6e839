"""What is known of the streams that a network joins, whose rows no query asks for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Operator
from streamshed.network.model.stream import Stream
from streamshed.statistics.guess import GUESSED_GROUPS, GUESSED_ROWS_PER_SECOND, guessed_operator
from streamshed.statistics.network_statistics import NetworkStatistics


def side_nodes(network: QueryNetwork) -> Iterator[Node]:
    """Yield the streams that are joined, and the operators on the way from them to joins, each once."""
    joins = (stream.joined for stream in network.streams if stream.joined is not None)
    yield from dict.fromkeys(node for join in joins for node in join.nodes)


def with_sides(
    network: QueryNetwork, believed: NetworkStatistics, given: NetworkStatistics | None
) -> NetworkStatistics:
    """Add to what is believed of a network what is given of the streams that it joins, and of operators before joins.

    Args:
        network: The network.
        believed: What `believed_statistics` says.
        given: What is known; None: nothing.
    """
    if given is None:
        return believed
    streams, operators = dict(believed.streams), dict(believed.operators)
    for node in side_nodes(network):
        if isinstance(node, Stream) and node.name in given.streams:
            streams.setdefault(node.name, given.streams[node.name])
        elif node.address in given.operators:
            operators.setdefault(node.address, given.operators[node.address])
    return replace(believed, streams=streams, operators=operators)


def rows_per_second_of(node: Node, statistics: NetworkStatistics) -> float:
    """Return how many rows a second come out of a node: those of its stream, times the selectivities on the way.

    Of the answers of an aggregate that is answers per row. Where it is not known, each slide has one, or one for each
    of a hundred groups, if so many rows come within a window.

    Args:
        node: A stream of rows from outside, or what operators and windows make of it.
        statistics: What is known; what is not is guessed.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.statistics.network_statistics import OperatorStatistics, StreamStatistics
        >>> ticks = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> statistics = NetworkStatistics(streams={"ticks": StreamStatistics(rows_per_second=300.0)})
        >>> rows_per_second_of(ticks.node, statistics)
        150.0
        >>> rare = {ticks.address: OperatorStatistics(selectivity=0.01)}
        >>> rows_per_second_of(ticks.node, replace(statistics, operators=rare))
        3.0
        >>> minutes = ticks.window("1 minute", every="10 s")
        >>> [rows_per_second_of(one.agg(n="count(*)").node, statistics) for one in (minutes, minutes.by("value"))]
        [0.1, 10.0]
    """
    stream = statistics.streams.get(node.stream.name)
    rows = GUESSED_ROWS_PER_SECOND if stream is None else stream.rows_per_second
    for operator in node.path:
        operator_statistics = statistics.operators.get(operator.address)
        if isinstance(operator, Aggregate) and operator_statistics is None:
            over, groups = operator.over, GUESSED_GROUPS if operator.keys else 1
            rows = min(groups, rows * over.size_microseconds / 1e6) / (over.slide_microseconds / 1e6)
        elif isinstance(operator, Operator):
            rows *= (operator_statistics or guessed_operator(operator)).selectivity
    return rows
