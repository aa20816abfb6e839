"""All that a control loop knows of its network, in the form that `explain` and other runs take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamshed.control.settings import ControlSettings
from streamshed.control.state import ControlState
from streamshed.network.network import QueryNetwork
from streamshed.network.operators import Apply
from streamshed.planning.network_load import network_load
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics


def known_statistics(network: QueryNetwork, settings: ControlSettings, state: ControlState) -> NetworkStatistics:
    """Return what was measured of a network, and what was believed of all else.

    The load model knows what a row costs in all; user functions and SQL that may be dear are timed by themselves. So
    what is believed of the others is brought to what is left. Rows per second are those of all micro-batches, those
    without rows included; how fast event time goes by is told so that rows per second of event time are those of
    micro-batches with rows.

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
    known = replace(learned, fixed_seconds=model.fixed_seconds, streams=streams, joins=believed.joins)
    work = {stream.name: model.work_seconds_per_row(stream.name) for stream in network.streams}
    return _leveled(network, known, work, settings.trigger_interval_seconds)


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
    known: NetworkStatistics,
    work_seconds_per_row: Mapping[str, float],
    trigger_interval_seconds: float,
) -> NetworkStatistics:
    """Scale the costs that nobody measured by themselves so that rows cost as much as they do in all.

    User functions are timed in the micro-batches themselves. SQL was timed before, on a few rows: where there is less
    time left than that takes and what is guessed of the others, both are scaled.
    """
    calls = {node.address for node in network.nodes if isinstance(node, Apply)}
    tried = {address for address, one in known.operators.items() if one.is_measured and address not in calls}
    scales, scales_of_tried = {}, {}
    for stream in network.streams:
        arriving = known.stream(stream.name)
        rows = max(1.0, arriving.rows_per_second * trigger_interval_seconds)
        some = replace(arriving, rows_per_second=rows / trigger_interval_seconds)
        load = network_load(
            network, replace(known, streams={stream.name: some}), trigger_interval_seconds=trigger_interval_seconds
        )
        measured = on_trial = rest = 0.0
        for node, address in zip(load.tree.nodes, load.addresses, strict=True):
            if address in calls or node.groups is not None:
                measured += node.seconds
            elif address in tried:
                on_trial += node.seconds
            else:
                rest += node.seconds
        left = max(0.0, rows * work_seconds_per_row[stream.name] - measured)
        if left >= on_trial + rest:
            scales[stream.name] = (left - on_trial) / rest if rest > 0 else 1.0
            scales_of_tried[stream.name] = 1.0
        else:
            scales[stream.name] = scales_of_tried[stream.name] = left / (on_trial + rest)
    names = {node.address: node.stream.name for node in network.row_nodes}
    return replace(
        known,
        streams={
            name: replace(one, parse_seconds_per_row=one.parse_seconds_per_row * scales[name])
            for name, one in known.streams.items()
        },
        operators={
            address: one
            if address in calls or address not in names
            else replace(
                one,
                seconds_per_row=one.seconds_per_row * (scales_of_tried if address in tried else scales)[names[address]],
            )
            for address, one in known.operators.items()
        },
        queries={
            query.name: replace(
                known.queries[query.name],
                seconds_per_row=known.queries[query.name].seconds_per_row * scales[query.stream.name],
            )
            for query in network.queries
        },
    )
