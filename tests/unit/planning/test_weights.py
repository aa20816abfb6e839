"""A query of weight 0 comes after the others of its priority, and before those of lower ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamshed.network.model.network import QueryNetwork, network
from streamshed.planning.load.network_load import network_load
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.rates.rate_policies import RATE_POLICIES, RatePolicy
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.choose.window_shares import window_shares
from streamshed.planning.window_drop.track.droppable import droppable_queries
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.unit.planning.networks import rows_of

NAMES = ("light", "heavy")
KNOWN = NetworkStatistics(
    fixed_seconds=0.0,
    streams={"packets": StreamStatistics(rows_per_second=1000.0)},
    queries={name: QueryStatistics(seconds_per_row=5e-4) for name in (*NAMES, "low")},
)
"""In two seconds each query takes one."""

BY_WEIGHT = {name: policy for name, policy in RATE_POLICIES.items() if name != "uniform"}
every_policy = pytest.mark.parametrize("policy", BY_WEIGHT.values(), ids=BY_WEIGHT)


def weighted(*, mode: str = "approximate", priority: int = 0) -> QueryNetwork:
    """Two queries of weights 0 and 1, of which the first may be of a higher priority, and one of the lowest."""
    rows = rows_of("packets").window("10 seconds").by("value")
    return network(
        rows.agg(n="count(*)").query("light", weight=0, mode=mode, priority=priority),
        rows.agg(total="sum(value)").query("heavy", mode=mode),
        rows.agg(mean="avg(value)").query("low", mode=mode, priority=-1),
    )


def rates(policy: RatePolicy, asked: QueryNetwork, budget_seconds: float) -> list[float]:
    load = network_load(asked, KNOWN, trigger_interval_seconds=2.0)
    demands = [replace(demand, coefficient=0.01) for demand in load.demands]
    planned = RatePlanner(load.tree, demands, policy).rates(budget_seconds, 1.0)
    assert planned == pytest.approx(policy(load.tree, demands, budget_seconds), abs=1e-6)
    assert load.tree.load_seconds(planned) == pytest.approx(budget_seconds, rel=1e-6)
    return [float(rate) for rate in planned]


@every_policy
def test_it_gets_what_others_leave(policy: RatePolicy) -> None:
    assert rates(policy, weighted(), 0.9) == pytest.approx([0.0, 0.9, 0.0], abs=0.01)
    assert rates(policy, weighted(), 1.9) == pytest.approx([0.9, 1.0, 0.0], abs=0.06)
    assert rates(policy, weighted(), 2.5) == pytest.approx([1.0, 1.0, 0.5], abs=1e-6)


@every_policy
def test_of_a_higher_priority_it_is_exact_before_others(policy: RatePolicy) -> None:
    assert rates(policy, weighted(priority=1), 1.5) == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)


@pytest.mark.parametrize(("budget", "shares"), [(0.6, [0.1, 0.4, 0.1]), (1.9, [0.8, 1.0, 0.1]), (2.5, [1.0, 1.0, 0.5])])
def test_it_keeps_the_windows_that_others_leave(budget: float, shares: list[float]) -> None:
    tree = WorkTree(
        (
            WorkNode(name="packets", parent=None, seconds=0.0),
            *(WorkNode(name=name, parent=0, seconds=1.0, query=place) for place, name in enumerate((*NAMES, "low"))),
        )
    )
    of_network = {query.query: query for query in droppable_queries(weighted(mode="subset"))}
    demands = [
        WindowDemand(
            query=name,
            weight=of_network[name].weight,
            gap_windows=9,
            early_share=1.0,
            priority=-1 if name == "low" else 0,
        )
        for name in (*NAMES, "low")
    ]
    assert window_shares(tree, demands, budget).tolist() == pytest.approx(shares, abs=1e-6)
