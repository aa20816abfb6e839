"""All that a control loop knows of its network, in the form that `explain` and other runs take it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from streamshed.control.settings import ControlSettings
from streamshed.control.state import ControlState
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.operators import Apply
from streamshed.planning.load.network_load import NetworkLoad, network_load
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics


def known_statistics(network: QueryNetwork, settings: ControlSettings, state: ControlState) -> NetworkStatistics:
    """Return what was measured of a network, and what was believed of all else.

    The load model knows the whole cost of a row. User functions, and SQL that may be dear, are timed by themselves; the
    believed costs of the other operators are scaled to the rest. Rows per second are the mean over all micro-batches,
    empty ones included. The speed of event time is such that rows per second of event time are those of micro-batches
    with rows.

    Args:
        network: The network.
        settings: Of the loop.
        state: Of the loop.
    """
    believed = believed_statistics(network, settings.statistics)
    learned = state.learned.statistics(network, believed)
    model = state.load_model
    streams = {
        stream.name: StreamStatistics(
            rows_per_second=_rows_per_second(state, stream.name, believed),
            read_seconds_per_row=model.read_seconds_per_row(stream.name),
            parse_seconds_per_row=learned.stream(stream.name).parse_seconds_per_row,
            event_seconds_per_second=(
                1.0 if stream.is_numbered else _event_seconds_per_second(state, stream.name, learned)
            ),
            rows_per_number=learned.stream(stream.name).rows_per_number,
            row_deviation=model.row_deviation(stream.name),
        )
        for stream in network.streams
    }
    measured = replace(learned, fixed_seconds=model.fixed_seconds, streams=streams, joins=believed.joins)
    work = {stream.name: model.work_seconds_per_row(stream.name) for stream in network.streams}
    return _leveled(network, measured, work, settings.trigger_interval_seconds)


def _rows_per_second(state: ControlState, stream: str, believed: NetworkStatistics) -> float:
    sums = state.learned.offered.get(stream, {})
    if sums.get("seconds"):
        return sums["rows"] / sums["seconds"]
    return believed.stream(stream).rows_per_second


def _event_seconds_per_second(state: ControlState, stream: str, learned: NetworkStatistics) -> float:
    per_event_second = state.learned.rows_per_event_second(stream)
    speed = 0.0 if per_event_second is None else _rows_per_second(state, stream, learned) / per_event_second
    return speed if speed > 0 else learned.stream(stream).event_seconds_per_second


def _leveled(
    network: QueryNetwork,
    statistics: NetworkStatistics,
    work_seconds_per_row: Mapping[str, float],
    trigger_interval_seconds: float,
) -> NetworkStatistics:
    """Scale the costs that were not measured by themselves, so that the costs of a row add up to its whole cost.

    User functions are timed in the micro-batches themselves. SQL was timed before, on a few rows: where the rest of the
    time is less than that and the believed costs of the others, both are scaled.
    """
    calls = {node.address for node in network.nodes if isinstance(node, Apply)}
    tried = {address for address, costs in statistics.operators.items() if costs.is_measured and address not in calls}
    scales, scales_of_tried = {}, {}
    for stream in network.streams:
        arriving = statistics.stream(stream.name)
        rows = max(1.0, arriving.rows_per_second * trigger_interval_seconds)
        some = replace(
            statistics, streams={stream.name: replace(arriving, rows_per_second=rows / trigger_interval_seconds)}
        )
        load = network_load(network, some, trigger_interval_seconds=trigger_interval_seconds)
        whole_seconds = rows * work_seconds_per_row[stream.name]
        scales[stream.name], scales_of_tried[stream.name] = _scales(load, calls, tried, whole_seconds)
    names = {node.address: node.stream.name for node in network.row_nodes if node.address not in calls}
    factors = {address: (scales_of_tried if address in tried else scales)[stream] for address, stream in names.items()}
    return replace(
        statistics,
        streams={
            name: replace(costs, parse_seconds_per_row=costs.parse_seconds_per_row * scales[name])
            for name, costs in statistics.streams.items()
        },
        operators={
            address: replace(costs, seconds_per_row=costs.seconds_per_row * factors.get(address, 1.0))
            for address, costs in statistics.operators.items()
        },
        queries={
            query.name: _scaled(statistics.queries[query.name], scales[query.stream.name]) for query in network.queries
        },
    )


def _scales(
    load: NetworkLoad, calls: AbstractSet[str], tried: AbstractSet[str], whole_seconds: float
) -> tuple[float, float]:
    """By what costs that were guessed are to be multiplied, and those of SQL that was tried beforehand."""
    measured = on_trial = rest = 0.0
    for node, address in zip(load.tree.nodes, load.addresses, strict=True):
        if address in calls or node.groups is not None:
            measured += node.seconds
        elif address in tried:
            on_trial += node.seconds
        else:
            rest += node.seconds
    left = max(0.0, whole_seconds - measured)
    if left >= on_trial + rest:
        return (left - on_trial) / rest if rest > 0 else 1.0, 1.0
    return left / (on_trial + rest), left / (on_trial + rest)


def _scaled(query: QueryStatistics, scale: float) -> QueryStatistics:
    return replace(query, seconds_per_row=query.seconds_per_row * scale)
