"""Statistics of a network of which nothing was measured: what rows cost on small machines."""

from __future__ import annotations

from streamshed.network.lookup import Lookup
from streamshed.network.network import QueryNetwork
from streamshed.network.node import Node
from streamshed.network.operators import Apply, Filter
from streamshed.network.sources import FileFormat, FolderSource
from streamshed.network.stream import Stream
from streamshed.statistics.network_statistics import (
    NetworkStatistics,
    OperatorStatistics,
    QueryStatistics,
    StreamStatistics,
)

GUESSED_ROWS_PER_SECOND = 100_000.0
FIXED_SECONDS = 0.4
READ_SECONDS, PARSE_SECONDS = 0.25e-6, 1.4e-6
APPLY_SECONDS, LOOKUP_SECONDS, CHEAP_SECONDS = 4e-6, 0.1e-6, 0.03e-6
SLICE_SECONDS = 0.2e-6
SELECTIVITY = 0.5


def guessed_statistics(network: QueryNetwork) -> NetworkStatistics:
    """Guess what rows of a network cost.

    Reading one takes 0.25 µs, parsing it 1.4, a Python function 4, a lookup 0.1, other operators 0.03, its slice 0.2;
    and every filter passes half of its rows. A plan made from this shows the form of what is shed, not its extent.

    Example:
        >>> from streamshed.network.network import network
        >>> from streamshed.network.sources import rate
        >>> from streamshed.network.stream import stream
        >>> ticks = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> guessed_statistics(network(ticks.query("rows"))).operators
        {'ticks > filter value > 3': OperatorStatistics(selectivity=0.5, seconds_per_row=3e-08)}
    """
    operators = [node for node in network.nodes if isinstance(node, Node) and not isinstance(node, Stream)]
    return NetworkStatistics(
        fixed_seconds=FIXED_SECONDS,
        streams={stream.name: _of_stream(stream) for stream in network.streams},
        operators={node.address: _of_operator(node) for node in operators},
        queries={query.name: QueryStatistics(seconds_per_row=SLICE_SECONDS) for query in network.queries},
    )


def _of_stream(stream: Stream) -> StreamStatistics:
    is_json = isinstance(stream.source, FolderSource) and stream.source.format is FileFormat.JSON
    return StreamStatistics(
        rows_per_second=GUESSED_ROWS_PER_SECOND,
        read_seconds_per_row=READ_SECONDS,
        parse_seconds_per_row=PARSE_SECONDS if is_json or stream.parse is not None else 0.0,
    )


def _of_operator(node: Node) -> OperatorStatistics:
    match node:
        case Apply():
            return OperatorStatistics(seconds_per_row=APPLY_SECONDS)
        case Lookup():
            return OperatorStatistics(selectivity=SELECTIVITY, seconds_per_row=LOOKUP_SECONDS)
        case Filter():
            return OperatorStatistics(selectivity=SELECTIVITY, seconds_per_row=CHEAP_SECONDS)
        case _:
            return OperatorStatistics(seconds_per_row=CHEAP_SECONDS)
