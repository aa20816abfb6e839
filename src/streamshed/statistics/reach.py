"""Which share of a stream's rows passes each node, where that of some was measured and of others is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.node import Node
from streamshed.network.model.operators import last_drop, may_drop
from streamshed.statistics.network_statistics import OperatorStatistics

_LEAST = 1e-9
"""A share that is as good as none; of none there is no telling which operator has dropped how much."""

_Reach = Mapping[Node, float]
_Believed = Mapping[str, OperatorStatistics]


def reach_between(network: QueryNetwork, measured: _Reach, believed: _Believed) -> dict[Node, float]:
    """Return the share of its stream's rows that a node passes on, for all nodes on the way to one that was measured.

    Between two measured nodes with shares R above and r below, what was dropped is laid to the operators in proportion
    to the logarithms of the selectivities s that are believed: behind some of them R·(r/R)^(Σ ln s of these / Σ ln s
    of all). A node with several measured ones below has what the largest of them asks for; and no less than is
    believed where a query takes its rows of which nothing was measured. Functions and computed columns drop nothing.

    Args:
        network: The network.
        measured: Shares of nodes, in [0, 1] up to noise.
        believed: By `Node.address`; an operator left out passes all rows.

    Example:
        Half of the rows were believed to pass each filter; a hundredth passes both.

        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> first = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> both = first.filter("value < 9")
        >>> halves = dict.fromkeys((first.address, both.address), OperatorStatistics(selectivity=0.5))
        >>> reach = reach_between(network(both.query("rows")), {both.node: 0.01}, halves)
        >>> [round(reach[node], 3) for node in both.node.path]
        [1.0, 0.1, 0.01]
    """
    known_reach = _reach_of_measured(measured)
    least = _least(network, known_reach, believed)
    needed = {above for node in measured for above in node.path}
    ways = _ways_down(known_reach)
    reach: dict[Node, float] = {}
    for node in network.row_nodes:
        if node not in needed:
            continue
        if node in known_reach:
            reach[node] = known_reach[node]
        elif not may_drop(node):
            reach[node] = reach[node.path[-2]]
        else:
            above = reach[node.path[-2]]
            shares = [_behind(way, above, known_reach, believed) for way in ways.get(node, ())]
            reach[node] = max(*shares, least.get(node, 0.0))
    return reach


def _reach_of_measured(measured: _Reach) -> dict[Node, float]:
    """What was measured, at the node that last could drop rows, no less than below; of streams all."""
    reach: dict[Node, float] = {node.stream: 1.0 for node in measured}
    passed_shares: dict[Node, float] = {}
    for node, share in measured.items():
        passed_shares[last_drop(node)] = max(passed_shares.get(last_drop(node), _LEAST), min(1.0, share))
    for node, share in passed_shares.items():
        for above in node.path:
            if above in passed_shares:
                reach[above] = max(reach.get(above, 0.0), share)
    return reach


def _least(network: QueryNetwork, known_reach: _Reach, believed: _Believed) -> dict[Node, float]:
    """What is believed of the nodes on the way from a known one to a query of which nothing is known."""
    least: dict[Node, float] = {}
    for query in network.queries:
        if last_drop(query.rows) in known_reach or query.stream not in known_reach:
            continue
        share = 1.0
        for node in query.rows.path:
            share = known_reach[node] if node in known_reach else share * _selectivity(node, believed)
            least[node] = max(share, least.get(node, 0.0))
    return least


def _ways_down(known_reach: _Reach) -> dict[Node, list[tuple[Node, ...]]]:
    """Per node, the operators that may drop rows from it down to each known one below with no other between them."""
    ways: dict[Node, list[tuple[Node, ...]]] = {}
    for below in known_reach:
        way = (below,) if may_drop(below) else ()
        for node in reversed(below.path[:-1]):
            if node in known_reach:
                break
            way = (node, *way) if may_drop(node) else way
            ways.setdefault(node, []).append(way)
    return ways


def _behind(way: tuple[Node, ...], above: float, known_reach: _Reach, believed: _Believed) -> float:
    """What the first operator of a way passes of a share, so that as much is left at its end as is known to be."""
    weights = [-math.log(max(_selectivity(node, believed), _LEAST)) for node in way]
    if not any(weights):
        weights = [1.0] * len(way)
    left = math.log(known_reach[way[-1]] / above)
    return above * math.exp(left * weights[0] / sum(weights))


def _selectivity(node: Node, believed: _Believed) -> float:
    return believed.get(node.address, OperatorStatistics()).selectivity if may_drop(node) else 1.0
