"""The work of joins, as part of the work on the rows of their streams."""

from __future__ import annotations

from dataclasses import replace

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.load.join_outlook import join_outlooks
from streamshed.statistics.network_statistics import NetworkStatistics


def with_joined_work(
    network: QueryNetwork, statistics: NetworkStatistics, *, load_factor: float, trigger_interval_seconds: float
) -> NetworkStatistics:
    """Return statistics whose costs per row include the work of joins at a load.

    Comparisons of a join that may be done in part count as work on the rows of its stream: shedding rows sheds
    comparisons. Nothing can save the other work of joins.

    Args:
        network: The network.
        statistics: What is known of it, without.
        load_factor: Times the rows per second that are known.
        trigger_interval_seconds: How long rows of a micro-batch gather.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.statistics.network_statistics import StreamStatistics
        >>> calls, alerts = (stream(name, rate(1), time="timestamp") for name in ("calls", "alerts"))
        >>> pairs = calls.join(alerts, on="value", within="20 s", name="pairs")
        >>> rates = {name: StreamStatistics(rows_per_second=5000.0) for name in ("calls", "alerts", "pairs")}
        >>> def laid(load: float) -> NetworkStatistics:
        ...     statistics = NetworkStatistics(streams=rates)
        ...     asked = network(pairs.query("rows"))
        ...     return with_joined_work(asked, statistics, load_factor=load, trigger_interval_seconds=2.0)
        >>> [round(laid(load).stream("pairs").parse_seconds_per_row * 2.0 * load * 5000.0, 6) for load in (1.0, 2.0)]
        [6.0, 24.0]
    """
    streams, fixed_seconds = dict(statistics.streams), statistics.fixed_seconds
    for join in join_outlooks(
        network, statistics, load_factor=load_factor, trigger_interval_seconds=trigger_interval_seconds
    ):
        fixed_seconds += join.overhead_seconds
        stream = statistics.stream(join.join)
        rows = stream.rows_per_second * load_factor * trigger_interval_seconds
        if join.is_sheddable and rows > 0:
            per_row = stream.parse_seconds_per_row + join.comparing_seconds / rows
            streams[join.join] = replace(stream, parse_seconds_per_row=per_row)
        else:
            fixed_seconds += join.comparing_seconds
    return replace(statistics, streams=streams, fixed_seconds=fixed_seconds)
