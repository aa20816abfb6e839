"""Planning for a load that lasts, as a run plans."""

from __future__ import annotations

from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.explain.load_planner import LoadPlanner
from streamshed.statistics.network_statistics import NetworkStatistics


def load_planner(network: QueryNetwork, statistics: NetworkStatistics, control: ControlSettings) -> LoadPlanner:
    """Return what plans for any load of a network.

    Args:
        network: The network.
        statistics: What is known of it.
        control: How it is run.
    """
    return LoadPlanner(
        network=network,
        statistics=statistics,
        policy=control.policy,
        trigger_interval_seconds=control.trigger_interval_seconds,
        deadline_seconds=control.deadline_seconds,
        headroom=control.headroom,
        hoeffding=control.hoeffding,
    )
