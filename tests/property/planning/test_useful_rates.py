"""Queries that have no use for all rows: what they do not take is there for others, and no more is done than fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.plan.useful_rates import useful_rates
from streamshed.planning.rates.hoeffding import hoeffding_rates
from streamshed.planning.rates.least_error import equal_error_rates, least_error_rates
from streamshed.planning.rates.rate_policies import uniform_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector, WorkTree
from tests.property.planning.trees import demands, trees

Policy = Callable[[WorkTree, Sequence[Demand], float], Vector]
POLICIES: list[Policy] = [uniform_rates, hoeffding_rates, least_error_rates, equal_error_rates]
LOADS = st.floats(0.5, 50.0)

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)


def drawn(data: st.DataObject, load: float) -> tuple[WorkTree, list[Demand], Vector, float]:
    tree = data.draw(trees(grouped=True))
    count = len(tree.query_nodes)
    largest = np.array(data.draw(st.lists(st.sampled_from((1.0, 0.7, 0.1, 1e-3)), min_size=count, max_size=count)))
    return tree, data.draw(demands(count, priorities=2)), largest, tree.load_seconds(np.ones(count)) / load


@every_policy
@given(data=st.data(), load=LOADS)
def test_no_rate_is_larger_than_is_of_use_all_fits_and_nobody_loses_by_what_others_do_not_want(
    policy: Policy, data: st.DataObject, load: float
) -> None:
    tree, known, largest, budget = drawn(data, load)
    rates = useful_rates(lambda seconds: policy(tree, known, seconds), largest, tree, budget)
    assert ((rates >= 0) & (rates <= largest)).all()
    assert tree.load_seconds(rates) <= budget * (1 + 1e-6)
    alone = policy(tree, known, budget)
    assert (rates >= np.minimum(alone, largest) * (1 - 1e-9)).all()


@every_policy
@given(data=st.data(), load=LOADS)
def test_nothing_is_shed_that_is_of_use_where_it_fits(policy: Policy, data: st.DataObject, load: float) -> None:
    tree, known, largest, _ = drawn(data, load)
    enough = tree.load_seconds(largest)
    rates = useful_rates(lambda seconds: policy(tree, known, seconds), largest, tree, enough * (1 + 1e-9))
    assert rates.tolist() == largest.tolist()


@given(data=st.data(), load=st.floats(1.05, 50.0))
def test_the_time_is_filled_unless_nobody_has_use_for_it(data: st.DataObject, load: float) -> None:
    tree, known, largest, budget = drawn(data, load)
    rates = useful_rates(lambda seconds: least_error_rates(tree, known, seconds), largest, tree, budget)
    assert tree.load_seconds(rates) >= min(budget, tree.load_seconds(largest)) * 0.98
