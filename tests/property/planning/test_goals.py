"""Queries with goals get what those take, wherever the load allows, and nobody pays more for it than need be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.terms.goal import ErrorGoal
from streamshed.planning.rates.hoeffding import hoeffding_rates
from streamshed.planning.rates.least_error import equal_error_rates, least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.quantization import SMALLEST, STEPS_PER_DECADE, sampling_rate_of
from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from tests.property.planning.trees import GOALS, budget_under, demands, trees

Policy = Callable[[WorkTree, Sequence[Demand], float], Vector]
LOADS = st.floats(1.05, 50.0)

every_policy = pytest.mark.parametrize(
    "policy", [hoeffding_rates, least_error_rates, equal_error_rates], ids=lambda policy: policy.__name__
)


def _with_goals(data: st.DataObject, tree: WorkTree, priorities: int = 1) -> list[Demand]:
    return data.draw(demands(len(tree.query_nodes), priorities=priorities, goals=GOALS))


def _goal_rates(known: Sequence[Demand]) -> Vector:
    return np.array([one.goal_rate for one in known])


@given(coefficient=st.floats(1e-9, 1.0), goal=st.builds(ErrorGoal, st.floats(0.001, 2.0), st.floats(0.01, 0.999)))
def test_the_rate_of_a_goal_meets_it_and_hardly_a_smaller_one_does(coefficient: float, goal: ErrorGoal) -> None:
    asked = Demand(query="q", coefficient=coefficient, goal=goal)
    assert asked.meets_goal(asked.goal_rate)
    assume(asked.goal_rate > sampling_rate_of(SMALLEST))
    step_below = asked.goal_rate * 10 ** (-1 / STEPS_PER_DECADE)
    assert asked.error_within(step_below, goal.confidence) >= goal.relative_error * (1 - 1e-9)


@every_policy
@given(data=st.data(), load=LOADS)
def test_all_goals_are_met_where_all_fit(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees(grouped=True))
    known, budget = _with_goals(data, tree), budget_under(tree, load)
    assume(tree.load_seconds(_goal_rates(known)) <= budget)
    rates = policy(tree, known, budget)
    assert (rates >= _goal_rates(known)).all()


@every_policy
@given(data=st.data(), load=LOADS)
def test_goals_never_take_more_than_there_is_nor_leave_any_of_it(
    policy: Policy, data: st.DataObject, load: float
) -> None:
    tree = data.draw(trees(grouped=True))
    rates = policy(tree, _with_goals(data, tree, priorities=2), budget_under(tree, load))
    assert ((rates >= 0) & (rates <= 1)).all()
    assert tree.load_seconds(rates) == pytest.approx(budget_under(tree, load), rel=1e-6)


@every_policy
@given(data=st.data(), load=LOADS)
def test_no_goal_that_is_missed_could_have_been_added(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    known, budget = _with_goals(data, tree), budget_under(tree, load)
    rates, goals = policy(tree, known, budget), _goal_rates(known)
    met = np.where(rates >= goals, goals, 0.0)
    for query in np.flatnonzero(rates < goals):
        with_it = met.copy()
        with_it[query] = goals[query]
        assert tree.load_seconds(with_it) >= budget * (1 - 1e-9)


@every_policy
@given(data=st.data(), load=LOADS)
def test_goals_that_would_be_met_anyway_change_nothing(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    without = data.draw(demands(len(tree.query_nodes), priorities=2))
    rates = policy(tree, without, budget_under(tree, load))
    easy = [
        replace(one, goal=ErrorGoal(max(1e-9, 1.1 * one.error_within(rate, 0.95)), 0.95)) if 0 < rate < 0.9 else one
        for one, rate in zip(without, rates.tolist(), strict=True)
    ]
    assume(all(one.goal_rate <= rate for one, rate in zip(easy, rates.tolist(), strict=True)))
    assert policy(tree, easy, budget_under(tree, load)) == pytest.approx(rates, rel=1e-6)


@every_policy
@given(data=st.data(), load=LOADS)
def test_a_goal_takes_nothing_from_a_higher_priority(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    known = _with_goals(data, tree, priorities=3)
    rates = policy(tree, known, budget_under(tree, load))
    for one, rate in zip(known, rates, strict=True):
        if rate > 0:
            assert all(rates[i] == 1 for i, other in enumerate(known) if other.priority > one.priority)


@every_policy
@pytest.mark.parametrize("heavy", [0, 1])
def test_where_one_goal_fits_it_is_that_of_the_heavier_query(policy: Policy, heavy: int) -> None:
    nodes = [WorkNode(name=f"n{query}", parent=None, seconds=1.0, query=query) for query in range(2)]
    goal = ErrorGoal(0.1, 0.95)
    asked = [
        Demand(query=f"q{query}", coefficient=1e-3, goal=goal, weight=3.0 if query == heavy else 1.0)
        for query in range(2)
    ]
    rate = asked[heavy].goal_rate
    rates = policy(WorkTree(tuple(nodes)), asked, 1.01 * rate)
    assert rates[heavy] >= rate > rates[1 - heavy]
