"""Random small query networks as work trees."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from streamshed.network.terms.goal import ErrorGoal
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.statistics.group_sizes import GroupSizes

COSTS = st.floats(0.01, 10.0)
NO_GOALS: st.SearchStrategy[ErrorGoal | None] = st.none()
GOALS: st.SearchStrategy[ErrorGoal | None] = st.one_of(
    st.none(), st.builds(ErrorGoal, st.floats(0.001, 2.0), st.sampled_from((0.5, 0.9, 0.95, 0.99)))
)


@st.composite
def trees(draw: st.DrawFn, *, most_queries: int = 4, grouped: bool = False) -> WorkTree:
    """A forest of streams and operators with queries as leaves."""
    parents: list[int | None] = [None]
    more_operators = range(1, draw(st.integers(1, 5)))
    parents.extend(draw(st.one_of(st.none(), st.integers(0, index - 1))) for index in more_operators)
    childless = [index for index in range(len(parents)) if index not in parents]
    more = draw(st.lists(st.integers(0, len(parents) - 1), max_size=max(0, most_queries - len(childless))))
    nodes = [WorkNode(name=f"o{index}", parent=parent, seconds=draw(COSTS)) for index, parent in enumerate(parents)]
    for query, parent in enumerate((*childless, *more)):
        groups = draw(st.one_of(st.none(), group_sizes())) if grouped else None
        nodes.append(WorkNode(name=f"q{query}", parent=parent, seconds=draw(COSTS), query=query, groups=groups))
    return WorkTree(tuple(nodes))


@st.composite
def group_sizes(draw: st.DrawFn) -> GroupSizes:
    """Groups of one row to thousands."""
    sizes = st.tuples(st.floats(1, 5000), st.floats(1, 1000))
    return GroupSizes(tuple(draw(st.lists(sizes, min_size=1, max_size=4))))


@st.composite
def demands(
    draw: st.DrawFn, count: int, *, priorities: int = 1, goals: st.SearchStrategy[ErrorGoal | None] = NO_GOALS
) -> list[Demand]:
    """That many queries, none protected."""
    return [
        Demand(
            query=f"q{query}",
            coefficient=draw(st.floats(1e-5, 1.0)),
            weight=draw(st.sampled_from((0.5, 1.0, 1.0, 3.0))),
            priority=draw(st.integers(0, priorities - 1)),
            goal=draw(goals),
        )
        for query in range(count)
    ]


def budget_under(tree: WorkTree, load: float) -> float:
    """The seconds of which the work of all rows is so many times as much."""
    return tree.load_seconds(np.ones(len(tree.query_nodes))) / load
