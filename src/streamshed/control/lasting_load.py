"""Planning for a load that lasts, as a run plans."""

from __future__ import annotations

from dataclasses import replace

from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.explain.load_planner import LoadPlanner
from streamshed.statistics.network_statistics import NetworkStatistics


def load_planner(network: QueryNetwork, statistics: NetworkStatistics, control: ControlSettings) -> LoadPlanner:
    """Return what plans for any load of a network.

    The least latency goal of its queries holds. A micro-batch is done within the trigger interval even if it may be
    larger: a load that lasts brings more rows meanwhile.

    Args:
        network: The network.
        statistics: What is known of its foundation.
        control: How it is run.

    Raises:
        InvalidNetworkError: A latency goal of a query is not longer than the trigger interval.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> from streamshed.statistics.guess import guessed_statistics
        >>> n = stream("ticks", rate(100), time="timestamp").window("1 minute").agg(n="count(*)")
        >>> asked = network(n.query("n", latency="3 seconds"), n.query("m"))
        >>> control = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=10.0, larger_micro_batches=True)
        >>> for one in (network(n.query("m")), asked):
        ...     print(load_planner(one, guessed_statistics(one), control).deadline_seconds)
        2.0
        1.0
    """
    in_time = replace(control.for_network(network), larger_micro_batches=False)
    return LoadPlanner(
        network=network.foundation,
        statistics=statistics,
        policy=in_time.policy,
        trigger_interval_seconds=in_time.trigger_interval_seconds,
        deadline_seconds=in_time.deadline_seconds,
        headroom=in_time.headroom,
        hoeffding=in_time.hoeffding,
    )
