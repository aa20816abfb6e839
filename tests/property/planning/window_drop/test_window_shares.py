"""Shares of windows: within the load and the bounds of gaps, and worth as much as any others tried one by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.choose.running_program import ALIKE
from streamshed.planning.window_drop.choose.window_shares import least_seconds, window_shares
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from tests.thoroughness import examples

GRID = 9


@st.composite
def networks(draw: st.DrawFn) -> tuple[WorkTree, list[WindowDemand]]:
    """Up to three queries below shared operators, one of them perhaps answered from a sample."""
    count = draw(st.integers(1, 3))
    seconds = st.floats(0, 2)
    nodes = [WorkNode(name="stream", parent=None, seconds=draw(seconds))]
    nodes += [WorkNode(name="shared", parent=0, seconds=draw(seconds))]
    demands = []
    for query in range(count):
        above = draw(st.integers(0, 1)) if query else 1
        nodes.append(WorkNode(name=f"q{query}", parent=above, seconds=draw(seconds), query=query))
        demands.append(
            WindowDemand(
                query=f"q{query}",
                weight=draw(st.floats(0.5, 4)),
                gap_windows=draw(st.integers(0, 9)),
                early_share=draw(st.floats(0, 1)),
                window_seconds=draw(st.floats(0, 1)),
            )
        )
    if count > 1 and draw(st.booleans()):
        demands[-1] = replace(demands[-1], sampling_rate=draw(st.floats(0, 1)), window_seconds=0.0)
    return WorkTree(tuple(nodes)), demands


def seconds_of(tree: WorkTree, demands: list[WindowDemand], shares: Vector) -> float:
    """The load as the module's formula has it, node by node; a query with share 0 is shut down."""
    total = 0.0
    for node, below in zip(tree.nodes, tree.queries_below, strict=True):
        dropping = [q for q in below if demands[q].sampling_rate is None and shares[q] > 0]
        sampled = max((demands[q].sampling_rate or 0.0 for q in below), default=0.0)
        largest = max((shares[q] for q in dropping), default=0.0)
        early = min((demands[q].early_share for q in dropping), default=1.0)
        total += node.seconds * (1 - early * (1 - sampled) * (1 - largest))
    windows = (d.window_seconds * s for d, s in zip(demands, shares, strict=True) if d.sampling_rate is None)
    return float(total + sum(windows))


def worth_of(demands: list[WindowDemand], shares: Vector) -> float:
    return float(sum(d.weight * s for d, s in zip(demands, shares, strict=True) if d.sampling_rate is None))


def dropping(demands: list[WindowDemand]) -> list[int]:
    return [n for n, demand in enumerate(demands) if demand.sampling_rate is None]


def whole(tree: WorkTree, demands: list[WindowDemand]) -> float:
    return seconds_of(tree, demands, np.ones(len(demands)))


@examples(150)
@given(networks(), st.floats(0.05, 1.2))
def test_no_shares_on_a_grid_are_worth_more(known: tuple[WorkTree, list[WindowDemand]], budget_share: float) -> None:
    tree, demands = known
    budget = budget_share * whole(tree, demands)
    found = window_shares(tree, demands, budget)
    best = 0.0
    running_sets = [set(some) for count in range(4) for some in combinations(dropping(demands), count)]
    everybody = set(dropping(demands))
    least_of_all = np.array([d.least_kept if n in everybody else 1.0 for n, d in enumerate(demands)])
    may_shut_down = seconds_of(tree, demands, least_of_all) > budget
    for running in running_sets if may_shut_down else [everybody]:
        axes = [
            np.linspace(demand.least_kept, 1, GRID)
            if n in running
            else [1.0 if demand.sampling_rate is not None else 0.0]
            for n, demand in enumerate(demands)
        ]
        for shares in product(*axes):
            if seconds_of(tree, demands, np.array(shares)) <= budget:
                best = max(best, worth_of(demands, np.array(shares)))
    assert worth_of(demands, found) >= best - 1e-6


@given(networks(), st.floats(0.05, 1.2))
def test_load_and_bounds_of_gaps_are_kept(known: tuple[WorkTree, list[WindowDemand]], budget_share: float) -> None:
    tree, demands = known
    budget = budget_share * whole(tree, demands)
    found = window_shares(tree, demands, budget)
    is_anybody_left = any(found[n] > 0 for n in dropping(demands))
    assert seconds_of(tree, demands, found) <= budget + 1e-6 or not is_anybody_left
    for share, demand in zip(found, demands, strict=True):
        assert share == 0 or share >= demand.least_kept - 1e-9
        assert demand.sampling_rate is None or share == 1
    if budget_share >= 1:
        assert found.tolist() == pytest.approx([1.0] * len(demands))


@given(networks(), st.floats(0.05, 1.2), st.floats(0, 0.3))
def test_more_time_is_worth_no_less(
    known: tuple[WorkTree, list[WindowDemand]], budget_share: float, more: float
) -> None:
    """Unless nobody has to be shut down any more: then all run, though fewer would be worth more."""
    tree, demands = known
    budgets = (budget_share * whole(tree, demands), (budget_share + more) * whole(tree, demands))
    less, greater = (worth_of(demands, window_shares(tree, demands, budget)) for budget in budgets)
    first_fits, then_fits = (least_seconds(tree, demands) <= budget for budget in budgets)
    assert greater >= less * (1 - ALIKE) - 1e-6 or (then_fits and not first_fits)


@given(networks(), st.floats(0.05, 1.2))
def test_nobody_is_shut_down_where_all_bounds_of_gaps_fit(
    known: tuple[WorkTree, list[WindowDemand]], budget_share: float
) -> None:
    tree, demands = known
    budget = budget_share * whole(tree, demands)
    found = window_shares(tree, demands, budget)
    if least_seconds(tree, demands) <= budget:
        assert all(found[n] > 0 for n in dropping(demands))


def test_the_dearest_for_their_worth_are_shut_down() -> None:
    nodes = [WorkNode(name="stream", parent=None, seconds=0.0)]
    nodes += [WorkNode(name=f"q{n}", parent=0, seconds=float(n + 1), query=n) for n in range(4)]
    demands = [WindowDemand(query=f"q{n}", gap_windows=1, early_share=1.0) for n in range(4)]
    found = window_shares(WorkTree(tuple(nodes)), demands, 2.0)
    assert found.tolist() == pytest.approx([1.0, 0.5, 0.0, 0.0])
