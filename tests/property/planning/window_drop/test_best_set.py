"""The queries that run while others are shut down: as good as by trying every set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.planning.tree.work_tree import Vector, WorkNode, WorkTree
from streamshed.planning.window_drop.choose.running_program import ALIKE
from streamshed.planning.window_drop.choose.window_shares import least_seconds, window_shares
from streamshed.planning.window_drop.windows.window_demand import WindowDemand
from tests.thoroughness import examples

FAMILIES = ((), ("host",), ("port",))
ROUNDING = 1e-6


@st.composite
def networks(draw: st.DrawFn) -> tuple[WorkTree, list[WindowDemand]]:
    """Two to five queries below shared operators of two streams, of up to three families, one perhaps sampled."""
    seconds = st.one_of(st.just(0.0), st.floats(0.01, 2))
    nodes = [WorkNode(name=f"stream_{number}", parent=None, seconds=draw(seconds)) for number in range(2)]
    nodes += [WorkNode(name=f"shared_{number}", parent=number // 2, seconds=draw(seconds)) for number in range(3)]
    families = FAMILIES[: draw(st.integers(1, 3))]
    demands = []
    for query in range(draw(st.integers(2, 5))):
        above = query if query < 2 else draw(st.integers(0, 4))
        nodes.append(WorkNode(name=f"q{query}", parent=above, seconds=draw(seconds), query=query))
        demands.append(
            WindowDemand(
                query=f"q{query}",
                weight=draw(st.floats(0.5, 4)),
                gap_windows=draw(st.integers(1, 9)),
                early_share=draw(st.floats(0, 1)),
                window_seconds=draw(st.one_of(st.just(0.0), st.floats(0, 0.5))),
                is_rare=draw(st.booleans()),
                lone_epochs=draw(st.one_of(st.just(1.0), st.floats(1, 6))),
                drops_with=draw(st.sampled_from(families)),
            )
        )
    if len(demands) > 2 and draw(st.booleans()):
        demands[-1] = replace(demands[-1], sampling_rate=draw(st.floats(0, 1)), window_seconds=0.0)
    # The leaves are those of the queries, so operators without any are left out.
    kept = [number for number, node in enumerate(nodes) if node.query is not None or _leads_on(nodes, number)]
    places = {old: new for new, old in enumerate(kept)}
    return WorkTree(tuple(_moved(nodes[old], places) for old in kept)), demands


def _leads_on(nodes: list[WorkNode], number: int) -> bool:
    below = [other for other, node in enumerate(nodes) if node.parent == number]
    return any(nodes[other].query is not None or _leads_on(nodes, other) for other in below)


def _moved(node: WorkNode, places: dict[int, int]) -> WorkNode:
    return replace(node, parent=None if node.parent is None else places[node.parent])


def sets_of(demands: list[WindowDemand]) -> Iterator[frozenset[int]]:
    """Those that may run while at least one is shut down."""
    may_run = [number for number, one in enumerate(demands) if one.sampling_rate is None]
    return (frozenset(some) for count in range(1, len(may_run)) for some in combinations(may_run, count))


def worth(demands: list[WindowDemand], shares: Vector) -> float:
    return float(
        sum(d.weight * share for d, share in zip(demands, shares.tolist(), strict=True) if d.sampling_rate is None)
    )


def where_run(demands: list[WindowDemand], running: frozenset[int]) -> list[WindowDemand]:
    """What is asked where the others are shut down: nothing of them."""
    return [
        one if number in running or one.sampling_rate is not None else WindowDemand(query=one.query, sampling_rate=0.0)
        for number, one in enumerate(demands)
    ]


def worth_of(tree: WorkTree, demands: list[WindowDemand], running: frozenset[int], budget: float) -> float:
    """What a set is worth by itself; 0 where it does not fit."""
    asked = where_run(demands, running)
    return worth(asked, window_shares(tree, asked, budget)) if least_seconds(tree, asked) <= budget else 0.0


@examples(150)
@given(networks(), st.floats(0.2, 0.999))
def test_the_best_set_is_found(known: tuple[WorkTree, list[WindowDemand]], share: float) -> None:
    tree, demands = known
    budget = share * least_seconds(tree, demands)
    assume(budget < least_seconds(tree, demands))
    found = worth(demands, window_shares(tree, demands, budget))
    best = max(worth_of(tree, demands, running, budget) for running in sets_of(demands))
    assert best * (1 - ALIKE) - ROUNDING <= found <= best + ROUNDING


@pytest.mark.parametrize("families", [1, 2])
@pytest.mark.parametrize("share", [0.95, 0.7, 0.4])
def test_of_many_queries_none_could_be_exchanged_for_more(families: int, share: float) -> None:
    """Twenty have a million sets: no query more, none less, and none in the place of another is worth more."""
    random = np.random.default_rng(7)
    nodes = [WorkNode(name="rows", parent=None, seconds=1.0)]
    nodes += [WorkNode(name=f"shared_{number}", parent=0, seconds=0.1 * number) for number in range(1, 4)]
    demands = []
    for query in range(20):
        seconds, early, weight = random.uniform(0.1, 0.9, 3).tolist()
        nodes.append(WorkNode(name=f"q{query}", parent=1 + query % 3, seconds=seconds, query=query))
        family = FAMILIES[query % families]
        demands.append(
            WindowDemand(
                query=f"q{query}", weight=weight, gap_windows=3 + query % 3, early_share=early, drops_with=family
            )
        )
    tree = WorkTree(tuple(nodes))
    budget = share * least_seconds(tree, demands)
    shares = window_shares(tree, demands, budget)
    running = frozenset(np.flatnonzero(shares).tolist())
    others = [query for query in range(20) if query not in running]
    changes = [{query} for query in range(20)] + [{left, came} for left in running for came in others]
    best = max(worth_of(tree, demands, running ^ change, budget) for change in changes)
    assert worth(demands, shares) >= best * (1 - ALIKE)
