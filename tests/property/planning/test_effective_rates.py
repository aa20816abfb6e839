"""What every policy promises of the rates it finds, and that nothing feasible is better."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.rates.hoeffding import HoeffdingSettings, hoeffding_rates
from streamshed.planning.rates.least_error import equal_error_rates, least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector, WorkTree
from tests.property.planning.trees import budget_under, demands, trees

Policy = Callable[[WorkTree, Sequence[Demand], float], Vector]
POLICIES: list[Policy] = [hoeffding_rates, least_error_rates, equal_error_rates]
LOADS = st.floats(1.05, 50.0)

every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.__name__)


@every_policy
@given(data=st.data(), load=LOADS)
def test_the_load_is_tight(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees(grouped=True))
    budget = budget_under(tree, load)
    rates = policy(tree, data.draw(demands(len(tree.query_nodes), priorities=2)), budget)
    assert ((rates >= 0) & (rates <= 1)).all()
    assert tree.load_seconds(rates) == pytest.approx(budget, rel=1e-6)


@every_policy
@given(data=st.data())
def test_nothing_is_shed_that_fits(policy: Policy, data: st.DataObject) -> None:
    tree = data.draw(trees(grouped=True))
    known = data.draw(demands(len(tree.query_nodes), priorities=2))
    assert policy(tree, known, budget_under(tree, 1.0) * (1 + 1e-9)).tolist() == [1.0] * len(known)


@every_policy
@given(data=st.data(), load=LOADS, more=st.floats(1.0, 5.0))
def test_no_rate_rises_with_the_load(policy: Policy, data: st.DataObject, load: float, more: float) -> None:
    tree = data.draw(trees())
    known = data.draw(demands(len(tree.query_nodes), priorities=2))
    light, heavy = (policy(tree, known, budget_under(tree, load * factor)) for factor in (1.0, more))
    assert (heavy <= light * (1 + 1e-9) + 1e-12).all()


@every_policy
@given(data=st.data(), load=LOADS)
def test_protected_queries_are_untouched(policy: Policy, data: st.DataObject, load: float) -> None:
    tree = data.draw(trees(grouped=True))
    known = data.draw(demands(len(tree.query_nodes)))
    chosen = data.draw(st.sets(st.sampled_from(range(len(known))), min_size=1))
    known = [replace(one, is_protected=index in chosen) for index, one in enumerate(known)]
    rates = policy(tree, known, budget_under(tree, load))
    assert [rates[index] for index in sorted(chosen)] == [1.0] * len(chosen)
    alone = tree.load_seconds(np.array([float(one.is_protected) for one in known]))
    assert tree.load_seconds(rates) <= max(budget_under(tree, load), alone) * (1 + 1e-6)


@every_policy
@given(data=st.data(), load=LOADS)
def test_nobody_gets_anything_while_a_higher_priority_is_not_exact(
    policy: Policy, data: st.DataObject, load: float
) -> None:
    tree = data.draw(trees())
    known = data.draw(demands(len(tree.query_nodes), priorities=3))
    rates = policy(tree, known, budget_under(tree, load))
    for one, rate in zip(known, rates, strict=True):
        if rate > 0:
            assert all(rates[i] == 1 for i, other in enumerate(known) if other.priority > one.priority)


@given(data=st.data(), load=LOADS)
def test_hoeffding_makes_the_weighted_bounds_of_all_that_is_shed_equal(data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    known = data.draw(demands(len(tree.query_nodes)))
    rates = hoeffding_rates(tree, known, budget_under(tree, load))
    bounds = [
        one.weight * one.hoeffding_coefficient(0.01) / rate for one, rate in zip(known, rates, strict=True) if rate < 1
    ]
    assert bounds == pytest.approx([bounds[0]] * len(bounds))
    exact = [one.weight * one.hoeffding_coefficient(0.01) for one, rate in zip(known, rates, strict=True) if rate == 1]
    assert all(bound >= bounds[0] * (1 - 1e-9) for bound in exact), "what is exact asked for a rate above 1"


@given(data=st.data(), load=LOADS)
def test_equal_error_makes_the_weighted_errors_equal(data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    known = data.draw(demands(len(tree.query_nodes)))
    rates = equal_error_rates(tree, known, budget_under(tree, load))
    errors = [one.weight * one.relative_error(rate) for one, rate in zip(known, rates, strict=True)]
    assert errors == pytest.approx([errors[0]] * len(errors), rel=1e-6)


def _grid(tree: WorkTree, budget: float) -> list[Vector]:
    """Feasible rates, each query's one of many; the last query's as high as the others leave it room."""
    steps = np.geomspace(0.002, 1.0, 25)
    count = len(tree.query_nodes)
    candidates = [np.array(rates) for rates in itertools.product(steps, repeat=count)]
    return [rates for rates in candidates if tree.load_seconds(rates) <= budget]


@given(data=st.data(), load=st.floats(1.05, 20.0))
def test_no_feasible_rates_have_a_smaller_sum_of_squared_errors(data: st.DataObject, load: float) -> None:
    tree = data.draw(trees(most_queries=2).filter(lambda tree: len(tree.query_nodes) <= 2))
    known = data.draw(demands(len(tree.query_nodes)))

    def objective(rates: Vector) -> float:
        pairs = zip(known, rates, strict=True)
        return sum(((one.weight * one.relative_error(float(rate))) ** 2 for one, rate in pairs), 0.0)

    budget = budget_under(tree, load)
    ours = objective(least_error_rates(tree, known, budget))
    assert ours <= min(map(objective, _grid(tree, budget)), default=float("inf")) * (1 + 1e-9) + 1e-12


@given(data=st.data(), load=st.floats(1.05, 20.0))
def test_no_feasible_step_makes_the_sum_of_squared_errors_smaller(data: st.DataObject, load: float) -> None:
    """Of larger networks: the problem is convex, so what no small step improves is the best."""
    tree = data.draw(trees(most_queries=6))
    known = data.draw(demands(len(tree.query_nodes)))
    rates = least_error_rates(tree, known, budget_under(tree, load))
    strengths = np.array([one.weight**2 * one.coefficient for one in known])
    budget, ours = tree.load_seconds(rates), float((strengths / rates).sum())
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for _ in range(50):
        other = np.clip(rates * np.exp(random.normal(0.0, 0.05, len(rates))), 1e-9, 1.0)
        other = other * min(1.0, budget / tree.load_seconds(other))
        assert float((strengths / other).sum()) >= ours * (1 - 1e-9)


@given(data=st.data(), load=st.floats(1.05, 20.0))
def test_no_feasible_rates_have_a_smaller_largest_bound(data: st.DataObject, load: float) -> None:
    """Where nothing reaches 1; there the bound stays above the error, which is 0."""
    tree = data.draw(trees(most_queries=2).filter(lambda tree: len(tree.query_nodes) <= 2))
    known = data.draw(demands(len(tree.query_nodes)))
    settings = HoeffdingSettings(exceeded_share=0.05)
    budget = budget_under(tree, load)
    rates = hoeffding_rates(tree, known, budget, settings)
    if (rates == 1).any():
        return

    def worst(rates: Vector) -> float:
        pairs = zip(known, rates, strict=True)
        return max(one.weight * one.hoeffding_coefficient(0.05) / float(rate) for one, rate in pairs)

    assert worst(rates) <= min(map(worst, _grid(tree, budget)), default=float("inf")) * (1 + 1e-9)


@given(data=st.data(), load=LOADS)
def test_a_fudge_factor_makes_rates_more_alike(data: st.DataObject, load: float) -> None:
    tree = data.draw(trees())
    known = [replace(one, weight=1.0) for one in data.draw(demands(len(tree.query_nodes)))]
    plain, fudged = (
        hoeffding_rates(tree, known, budget_under(tree, load), HoeffdingSettings(fudge=fudge)) for fudge in (0.0, 1.0)
    )
    assert fudged.min() / fudged.max() >= plain.min() / plain.max() * (1 - 1e-9)
