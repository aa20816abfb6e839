"""Contracts of every shedding policy of joins, and the optimum."""

from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.join_policies import JOIN_POLICIES, JoinPolicy, join_policy_named, plan_within
from streamshed.joins.choose.selection import CellWork, Prices
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.windows.yields import Yields

Value = TypeVar("Value")
COUNTS = st.integers(0, 1_000_000).map(float)


@st.composite
def work(draw: st.DrawFn) -> CellWork:
    windows = JoinWindows(draw(st.integers(1, 50)), draw(st.integers(0, 50)), 10)

    def per_cell(values: st.SearchStrategy[Value]) -> tuple[Value, ...]:
        return tuple(draw(st.lists(values, min_size=windows.cells, max_size=windows.cells)))

    expected = ExpectedComparisons(
        windows=windows,
        with_stored=per_cell(COUNTS),
        among_new=per_cell(COUNTS),
        reads=per_cell(st.integers(0, 5)),
    )
    compared = per_cell(st.integers(1, 100_000))
    yields = Yields(tuple(float(one) for one in compared), tuple(float(draw(st.integers(0, one))) for one in compared))
    prices = draw(st.sampled_from([Prices(), Prices(comparison=1.0, result=3.0, read=1000.0)]))
    return CellWork(expected=expected, yields=yields, prices=prices)


def spent(policy: JoinPolicy, of: CellWork, budget: float) -> float:
    """What a policy's selection is expected to cost."""
    found = policy.select(of, budget)
    if found.keep_share == 1.0:
        return float(of.costs @ found.fractions)
    kept, new = found.keep_share, sum(of.expected.among_new) / max(1.0, of.expected.total)
    return float(of.costs.sum()) * (kept * (1 - new) + kept**2 * new)


@pytest.mark.parametrize("policy", JOIN_POLICIES, ids=lambda policy: policy.name)
@given(of=work(), share=st.floats(0, 1.2))
def test_a_policy_spends_its_budget_and_no_more(policy: JoinPolicy, of: CellWork, share: float) -> None:
    total = float(of.costs.sum())
    budget = share * total
    assert spent(policy, of, budget) == pytest.approx(min(budget, total), rel=1e-6, abs=1e-3)
    assert policy.select(of, budget) == policy.select(of, budget)


@pytest.mark.parametrize("policy", JOIN_POLICIES, ids=lambda policy: policy.name)
@given(of=work(), share=st.floats(0, 1.2))
def test_plans_are_valid_and_within_the_budget(policy: JoinPolicy, of: CellWork, share: float) -> None:
    budget = share * float(of.costs.sum())
    plan = plan_within(policy, of, budget)
    assert plan.fractions is not None
    if budget >= float(of.costs.sum()):
        assert (set(plan.fractions), plan.keep_share) == ({1.0}, 1.0)
    if plan.keep_share == 1.0:
        assert float(of.costs @ plan.fractions) <= budget * (1 + 1e-6) + 1e-3


@given(of=work(), share=st.floats(0, 1))
def test_greedy_is_the_optimum(of: CellWork, share: float) -> None:
    budget = share * float(of.costs.sum())
    worth = of.expected.comparisons * np.array(of.yields.per_comparison)
    scale = max(1.0, float(worth.max()), float(of.costs.max()))
    best = linprog(-worth / scale, A_ub=[of.costs / scale], b_ub=[budget / scale], bounds=(0, 1)).fun
    assert best is not None
    gained = {policy.name: float(worth @ policy.select(of, budget).fractions) for policy in JOIN_POLICIES[1:]}
    assert gained["greedy"] == pytest.approx(-best * scale, rel=1e-6, abs=1e-3)
    assert max(gained.values()) <= gained["greedy"] * (1 + 1e-9) + 1e-6


@given(of=work(), shares=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_greedy_gives_no_less_for_more(of: CellWork, shares: tuple[float, float]) -> None:
    less, more = sorted(shares)
    total = float(of.costs.sum())
    greedy = join_policy_named("greedy")
    few, many = (np.array(greedy.select(of, share * total).fractions) for share in (less, more))
    assert (many >= few - 1e-9).all()


def test_a_policy_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="did you mean"):
        join_policy_named("gredy")
