"""What a network sheds at a multiple of the load that it sustains."""

from __future__ import annotations

from typing import Any

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.explain.load_planner import LoadPlanner
from streamshed.statistics.network_statistics import NetworkStatistics


def explain(
    network: QueryNetwork, statistics: NetworkStatistics, *, load_factor: float, **settings: Any
) -> Explanation:
    """Plan for it, by settings of `LoadPlanner`."""
    return LoadPlanner(network=network, statistics=statistics, **settings).plan_at(load_factor)
