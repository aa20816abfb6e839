"""Queries that drop by window beside some by group, or by other groups: what is planned is what their coins come to."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.network import network
from streamshed.network.terms.cohorts import COHORTS
from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.choose.window_shares import window_shares
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from tests.property.planning.window_drop.protected_work import protected_work
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of

SECOND, SECONDS = 1_000_000, 300
GRID = 12
WAYS = ((("value",), "window"), (("value",), "group"), (("value", "timestamp"), "group"))


def queries_of(ways: list[int]) -> dict[str, DroppableQuery]:
    """Tumbling windows of a second, so that each epoch is one; as many may be missing as the coins ask for."""
    windowed = rows_of("packets").window("1 s")
    found = []
    for number, way in enumerate(ways):
        keys, gaps_by = WAYS[way]
        aggregate = windowed.by(*keys).agg(**{f"n{number}": f"sum(value + {number})"})
        found.append(aggregate.query(f"q{number}", mode="subset", max_gap=200, gaps_by=gaps_by))
    return {one.query: one for one in droppable_queries(network(*found))}


def needed_by_counting(queries: dict[str, DroppableQuery], drops: WindowDrops) -> float:
    """Which share of rows somebody needs: second by second, for all pairs of cohorts that a row may be in."""
    seconds = np.arange(SECONDS)
    parts = {name for one in queries.values() for name in one.parts}
    kept = {name: ~np.isin(seconds, drops.queries[name].numbers()) for name in parts}
    needed = 0
    for by_value, by_both in product(range(COHORTS), repeat=2):
        names = {one.part_beside(by_value if len(one.work) == 2 else by_both) for one in queries.values()}
        needed += int(np.logical_or.reduce([kept[name] for name in names]).sum())
    return needed / (SECONDS * COHORTS**2)


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.05, 0.95)), min_size=1, max_size=4))
def test_what_is_needed_is_the_union_of_what_independent_coins_leave(asked: list[tuple[int, float]]) -> None:
    queries = queries_of([way for way, _ in asked])
    kept = {f"q{number}": share for number, (_, share) in enumerate(asked)}
    times = {"packets": EventTimes(opened=0, carried_since=0, first=0, last=SECONDS * SECOND - 1)}
    drops = advanced_drops(queries, kept, UpcomingWindows(event_times=times))
    work = protected_work(queries, query_seconds=1.0)
    counted = needed_by_counting(queries, drops)
    expected = work.expected_needs(np.array([kept[name] for name in queries]))[0]
    assert abs(float(expected) - counted) < 0.06
    assert abs(float(work.needs(drops, times)[0]) - counted) < 0.06


@st.composite
def networks(draw: st.DrawFn) -> tuple[WorkTree, list[WindowDemand]]:
    """Two or three queries of two families below shared operators."""
    seconds = st.floats(0, 2)
    nodes = [WorkNode(name="stream", parent=None, seconds=draw(seconds))]
    nodes += [WorkNode(name="shared", parent=0, seconds=draw(seconds))]
    demands = []
    for query in range(draw(st.integers(2, 3))):
        above = draw(st.integers(0, 1)) if query else 1
        nodes.append(WorkNode(name=f"q{query}", parent=above, seconds=draw(seconds), query=query))
        demands.append(
            WindowDemand(
                query=f"q{query}",
                weight=draw(st.floats(0.5, 4)),
                gap_windows=draw(st.integers(1, 9)),
                early_share=draw(st.floats(0, 1)),
                window_seconds=draw(st.floats(0, 1)),
                drops_with=("value",) if query % 2 else (),
            )
        )
    return WorkTree(tuple(nodes)), demands


def seconds_of(tree: WorkTree, demands: list[WindowDemand], shares: Vector) -> float:
    """The load, node by node: a row is needed unless the queries by window drop it, and those by group do."""
    total = sum(demand.window_seconds * share for demand, share in zip(demands, shares, strict=True))
    for node, below in zip(tree.nodes, tree.queries_below, strict=True):
        by_window = max((shares[q] for q in below if not demands[q].drops_with), default=0.0)
        by_group = max((shares[q] for q in below if demands[q].drops_with), default=0.0)
        early = min(demands[q].early_share for q in below)
        total += node.seconds * (1 - early * (1 - by_window) * (1 - by_group))
    return float(total)


@examples(100)
@given(networks(), st.floats(0, 1))
def test_mixed_shares_fit_and_hardly_any_on_a_grid_are_worth_more(
    known: tuple[WorkTree, list[WindowDemand]], part: float
) -> None:
    tree, demands = known
    least = np.array([demand.least_kept for demand in demands])
    fewest, whole = seconds_of(tree, demands, least), seconds_of(tree, demands, np.ones(len(demands)))
    budget = fewest + part * (whole - fewest) + 1e-9
    found = window_shares(tree, demands, budget)
    assert seconds_of(tree, demands, found) <= budget + 1e-6
    assert (found >= least - 1e-9).all()
    assert (found <= 1).all()
    weights = np.array([demand.weight for demand in demands])
    on_grid = product(*(np.linspace(one.least_kept, 1, GRID) for one in demands))
    best = max(float(weights @ s) for s in on_grid if seconds_of(tree, demands, np.array(s)) <= budget)
    assert float(weights @ found) >= 0.9 * best


@given(networks(), st.floats(0.2, 0.8))
def test_families_that_drop_independently_keep_no_more_than_one_that_drops_together(
    known: tuple[WorkTree, list[WindowDemand]], part: float
) -> None:
    """Together they drop more rows than independently: within the same time no less can be kept."""
    tree, demands = known
    together = [replace(demand, drops_with=()) for demand in demands]
    budget = part * seconds_of(tree, demands, np.ones(len(demands)))
    least = np.array([demand.least_kept for demand in demands])
    weights = np.array([demand.weight for demand in demands])
    if seconds_of(tree, demands, least) <= budget:
        found = [float(weights @ window_shares(tree, asked, budget)) for asked in (demands, together)]
        assert found[0] <= found[1] + 1e-6
