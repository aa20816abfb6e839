"""A plan for another load is the plan that planning anew would make."""

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.goal import ErrorGoal
from streamshed.planning.plan.replanning import RatePlanner
from streamshed.planning.rates.rate_policies import RATE_POLICIES
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from tests.property.planning.trees import GOALS, NO_GOALS, demands, trees


@pytest.mark.parametrize("policy", RATE_POLICIES)
@given(st.data(), st.floats(0.01, 1.5), st.floats(0.1, 10), st.integers(1, 2), st.sampled_from((NO_GOALS, GOALS)))
def test_it_is_the_same(
    policy: str,
    data: st.DataObject,
    share: float,
    factor: float,
    priorities: int,
    goals: st.SearchStrategy[ErrorGoal | None],
) -> None:
    tree = data.draw(trees())
    asked = data.draw(demands(len(tree.query_nodes), priorities=priorities, goals=goals))
    budget = share * float(tree.node_seconds.sum())
    planner = RatePlanner(tree, asked, RATE_POLICIES[policy])
    anew = RATE_POLICIES[policy](tree, asked, budget / factor)
    np.testing.assert_allclose(planner.rates(budget, factor), anew, rtol=1e-3, atol=1e-6)


def test_a_goal_takes_what_it_needs_at_any_load() -> None:
    """Two alike queries of a second each, one of them with a goal that takes P = 0.4."""
    tree = WorkTree(
        (
            WorkNode(name="packets", parent=None, seconds=0.0),
            *(WorkNode(name=name, parent=0, seconds=1.0, query=place) for place, name in enumerate(("a", "b"))),
        )
    )
    goal = ErrorGoal(NormalDist().inv_cdf(0.975) * sqrt(0.01 * 0.61 / 0.39), 0.95)
    asked = [Demand(query="a", coefficient=0.01, goal=goal), Demand(query="b", coefficient=0.01)]
    for policy in (RATE_POLICIES[name] for name in RATE_POLICIES if name != "uniform"):
        rates = RatePlanner(tree, asked, policy).rates(1.0, 2.0)
        assert asked[0].meets_goal(rates[0])
        assert rates.sum() == pytest.approx(0.5)
