"""Nobody of a lower priority gets anything while a higher one is not exact: windows, samples, admission and state."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.rates.least_error import least_error_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, DropPlan, drop_plan
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.choose.window_shares import least_seconds, window_shares
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.state_limit import StateUse
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from tests.property.planning.window_drop.test_best_set import where_run
from tests.property.planning.window_drop.test_window_shares import networks, seconds_of, whole
from tests.thoroughness import examples

EXACT, ROUNDING = 1 - 1e-6, 1e-6
REHEARSED = 0.05
"""What windows of several queries need is known within such a share of the time, which somebody may get."""


@st.composite
def stratified(draw: st.DrawFn) -> tuple[WorkTree, list[WindowDemand]]:
    """A network some of whose queries may be of a higher priority than others."""
    tree, demands = draw(networks())
    return tree, [replace(one, priority=draw(st.integers(0, 2))) for one in demands]


def tolerant_of(demands: list[WindowDemand]) -> list[int]:
    return [number for number, one in enumerate(demands) if one.sampling_rate is None]


@examples(150)
@given(stratified(), st.floats(0.05, 1.2))
def test_beyond_bounds_of_gaps_nobody_keeps_windows_while_a_higher_priority_does_not_keep_all(
    known: tuple[WorkTree, list[WindowDemand]], share: float
) -> None:
    tree, demands = known
    found = window_shares(tree, demands, share * whole(tree, demands))
    running = [query for query in tolerant_of(demands) if found[query] > 0]
    for query in running:
        if found[query] > demands[query].least_kept + ROUNDING:
            assert all(found[other] >= EXACT for other in running if demands[other].priority > demands[query].priority)


@examples(150)
@given(stratified(), st.floats(0.05, 1.2))
def test_nobody_runs_in_place_of_one_of_a_higher_priority(
    known: tuple[WorkTree, list[WindowDemand]], share: float
) -> None:
    """Whoever is shut down would not fit, either, beside those alone that are of at least its priority."""
    tree, demands = known
    budget = share * whole(tree, demands)
    found = window_shares(tree, demands, budget)
    for query in tolerant_of(demands):
        if found[query] == 0:
            as_high = [n for n in tolerant_of(demands) if demands[n].priority >= demands[query].priority and found[n]]
            beside = where_run(demands, frozenset([query, *as_high]))
            assert least_seconds(tree, beside) > budget * (1 - ROUNDING)


@examples(60)
@given(stratified(), st.floats(0.05, 1.2))
def test_no_shares_on_a_grid_are_worth_more_to_the_highest_priority_and_as_much_to_the_next(
    known: tuple[WorkTree, list[WindowDemand]], share: float
) -> None:
    """Brute force over shares: worth by priority, compared the highest first."""
    tree, demands = known
    budget = share * whole(tree, demands)
    assume(least_seconds(tree, demands) <= budget)
    found = window_shares(tree, demands, budget)
    highest = max((demands[query].priority for query in tolerant_of(demands)), default=0)

    def worth(shares: Vector) -> float:
        return float(sum(demands[q].weight * shares[q] for q in tolerant_of(demands) if demands[q].priority == highest))

    axes = [
        np.linspace(one.least_kept, 1, 9 if one.priority == highest else 1) if one.sampling_rate is None else [1.0]
        for one in demands
    ]
    fitting = [np.array(shares) for shares in product(*axes) if seconds_of(tree, demands, np.array(shares)) <= budget]
    assert worth(found) >= max(map(worth, fitting)) - ROUNDING


def dropping(name: str, number: int, batch: int) -> DroppableQuery:
    return DroppableQuery(
        query=name,
        definition_id=number,
        stream="rows",
        window=WindowSpecification(10, 10),
        gap_windows=batch,
        epoch=10,
        weight=1.0,
        work=(name,),
    )


TIMES = EventTimes(opened=0, carried_since=0, first=1000, last=1999)
SECONDS = st.floats(0.05, 2.0)


@st.composite
def mixed(draw: st.DrawFn) -> TolerantWork:
    """Two queries that miss windows and two that are answered from samples, over one stream."""
    nodes = [WorkNode(name="rows", parent=None, seconds=draw(SECONDS))]
    demands = []
    for query in range(4):
        nodes.append(WorkNode(name=f"q{query}", parent=0, seconds=draw(SECONDS), query=query))
        demands.append(
            Demand(
                query=f"q{query}",
                coefficient=draw(st.floats(1e-4, 0.5)),
                weight=draw(st.floats(0.5, 4.0)),
                priority=draw(st.integers(0, 2)),
                is_protected=query < 2,
            )
        )
    batches = {query: draw(st.integers(1, 9)) for query in range(2)}
    return TolerantWork(
        WorkTree(tuple(nodes)),
        demands,
        {f"q{query}": dropping(f"q{query}", query, batches[query]) for query in batches},
    )


def given_of(work: TolerantWork, plan: DropPlan, budget: float) -> list[float]:
    """Per query, the share of its windows, or of its rows, that it gets in the long run."""
    rest, _ = work.without(plan.needed_in_the_long_run)
    left = budget - float(work.tree.node_seconds @ plan.needed_in_the_long_run)
    rates = dict(zip(work.sampled, least_error_rates(rest, work.sampled_demands, max(left, 0.0)), strict=True))
    return [
        plan.kept_shares[one.query] if one.query in work.queries else float(rates[number])
        for number, one in enumerate(work.demands)
    ]


@examples(100)
@given(mixed(), st.floats(0.2, 1.1))
def test_between_windows_and_samples_nobody_gets_anything_while_a_higher_priority_is_not_exact(
    work: TolerantWork, share: float
) -> None:
    budget = share * float(work.tree.node_seconds.sum())
    plan = drop_plan(work, budget, least_error_rates, UpcomingWindows(event_times={"rows": TIMES}))
    least = [
        1 / (work.queries[one.query].gap_windows + 1) if one.query in work.queries else 0.0 for one in work.demands
    ]
    given = given_of(work, plan, budget)
    seconds = [float(work.tree.node_seconds[node]) for node in work.tree.query_nodes]
    for query, one in enumerate(work.demands):
        beyond = (given[query] - least[query]) * seconds[query]
        for other, two in enumerate(work.demands):
            if two.priority > one.priority and beyond > ROUNDING and given[other] < EXACT:
                assert min(beyond, (1 - given[other]) * seconds[other]) <= REHEARSED * budget


def test_the_one_that_weighs_more_is_shut_down_where_the_other_is_of_a_higher_priority() -> None:
    nodes = [WorkNode(name="rows", parent=None, seconds=0.0)]
    nodes += [WorkNode(name=f"q{n}", parent=0, seconds=2.0, query=n) for n in range(2)]
    demands = [
        Demand(query="q0", coefficient=1.0, priority=100, is_protected=True),
        Demand(query="q1", coefficient=1.0, weight=1.01, is_protected=True),
    ]
    work = TolerantWork(WorkTree(tuple(nodes)), demands, {f"q{n}": dropping(f"q{n}", n, 1) for n in range(2)})
    upcoming = UpcomingWindows(event_times={"rows": TIMES})
    for _ in range(PATIENCE):
        plan = drop_plan(work, 1.7, least_error_rates, upcoming)
        upcoming = replace(upcoming, drops=plan.drops)
    assert plan.kept_shares == pytest.approx({"q0": 0.85, "q1": 0.0})


@pytest.mark.parametrize(("priorities", "first"), [((0, 0), "q1"), ((0, 1), "q0"), ((1, 0), "q1")])
def test_for_want_of_memory_those_of_the_lowest_priority_go_first(priorities: tuple[int, int], first: str) -> None:
    """Of one priority the one that holds most."""
    nodes = [WorkNode(name="rows", parent=None, seconds=0.0)]
    nodes += [WorkNode(name=f"q{n}", parent=0, seconds=0.1, query=n) for n in range(2)]
    demands = [
        Demand(query=f"q{n}", coefficient=1.0, priority=priority, is_protected=True)
        for n, priority in enumerate(priorities)
    ]
    work = TolerantWork(WorkTree(tuple(nodes)), demands, {f"q{n}": dropping(f"q{n}", n, 1) for n in range(2)})
    upcoming = UpcomingWindows(
        event_times={"rows": TIMES},
        state=StateUse(taken_bytes=95, grown_bytes=1, limit_bytes=100),
        state_entries={"q0": 10.0, "q1": 20.0},
    )
    assert drop_plan(work, 9.0, least_error_rates, upcoming).shut_down == (first,)
