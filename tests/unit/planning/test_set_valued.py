"""The error of a set-valued query is the share of its rows that is missing ([B04] §4.2): shown, and minimized."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate
from streamshed.network.terms.goal import ErrorGoal
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.rates.hoeffding import hoeffding_rates
from streamshed.planning.rates.least_error import equal_error_rates, least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_index import WorkIndex
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.statistics.network_statistics import NetworkStatistics, StreamStatistics
from tests.oracles.explaining import explain

ROWS = Demand(query="rows", coefficient=1.0, weight=2.0, is_set_valued=True)
COUNT = Demand(query="count", coefficient=0.05)
BOTH = [ROWS, COUNT]
TREE = WorkTree(
    (
        WorkNode(name="events", parent=None, seconds=0.0),
        WorkNode(name="rows", parent=0, seconds=2.0, query=0),
        WorkNode(name="count", parent=0, seconds=1.0, query=1),
    )
)


def test_it_is_the_share_that_is_missing() -> None:
    assert ROWS.relative_error(0.21) == pytest.approx(0.79)
    assert ROWS.error_within(0.21, 0.99) == pytest.approx(0.79)
    assert ROWS.hoeffding_coefficient(0.01) == 1.0
    squares = WorkIndex(["events"] * 3, BOTH).squared_errors(np.array([0.21, 0.5]), 2.0)
    assert squares.tolist() == pytest.approx([0.79**2, 2 * 0.05])


def test_its_goal_is_met_where_no_more_is_missing() -> None:
    demand = Demand(query="rows", coefficient=1.0, is_set_valued=True, goal=ErrorGoal(0.3, 0.95))
    assert demand.goal_rate == pytest.approx(0.7, rel=0.1)
    assert demand.goal_rate >= 0.7
    assert demand.meets_goal(demand.goal_rate)
    assert not demand.meets_goal(0.69)


@pytest.mark.parametrize("budget", [0.3, 1.0, 1.8, 2.6])
def test_least_error_minimizes_the_sum_of_the_squares_that_are_shown(budget: float) -> None:
    """Against a grid of all ways to spend the budget."""

    def loss(rates: tuple[float, float]) -> float:
        return sum((one.weight * one.relative_error(at)) ** 2 for one, at in zip(BOTH, rates, strict=True))

    grid = [(of_rows, min(1.0, budget - 2 * of_rows)) for of_rows in np.linspace(0, min(1.0, budget / 2 - 1e-6), 4001)]
    least = min(loss(rates) for rates in grid if rates[1] > 0)
    rates = least_error_rates(TREE, BOTH, budget)
    assert TREE.load_seconds(rates) <= budget + 1e-9
    assert loss((float(rates[0]), float(rates[1]))) == pytest.approx(least, rel=1e-3)
    again = RatePlanner(TREE, BOTH, least_error_rates)
    assert again.rates(2 * budget, 2.0).tolist() == pytest.approx(rates.tolist())


def test_equal_error_makes_its_share_missing_equal_to_the_errors_of_others() -> None:
    rates = equal_error_rates(TREE, BOTH, 2.0)
    errors = [one.weight * one.relative_error(float(at)) for one, at in zip(BOTH, rates, strict=True)]
    assert errors[0] == pytest.approx(errors[1])
    assert TREE.load_seconds(rates) == pytest.approx(2.0)


def test_hoeffding_samples_sets_in_proportion_to_their_weights() -> None:
    others = [Demand(query="a", coefficient=1.0, is_set_valued=True), replace(ROWS, query="b", weight=3.0)]
    rates = hoeffding_rates(TREE, others, 0.5)
    assert rates[1] / rates[0] == pytest.approx(3.0)


def test_explain_shows_the_share_that_is_missing() -> None:
    events = stream("events", rate(1_000_000), time="timestamp")
    asked = network(
        events.filter("value % 2 = 0").query("rows"),
        events.window("10 seconds").agg(n="count(*)").query("count"),
    )
    known = NetworkStatistics(
        fixed_seconds=0.1, streams={"events": StreamStatistics(rows_per_second=1000.0, parse_seconds_per_row=1e-4)}
    )
    plan = explain(asked, known, load_factor=20.0)
    rows = next(outlook for outlook in plan.outlooks if outlook.query == "rows")
    assert rows.effective_sampling_rate < 1
    assert rows.expected_error == pytest.approx(1 - rows.effective_sampling_rate)
