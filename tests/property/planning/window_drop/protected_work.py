"""Work of queries whose windows may be dropped, and whose rows may not."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.droppable import DroppableQuery


def protected_work(queries: Mapping[str, DroppableQuery], *, query_seconds: float) -> TolerantWork:
    """All queries below one node that takes a second.

    Args:
        queries: By name.
        query_seconds: What each takes beside.
    """
    leaves = [WorkNode(name=name, parent=0, seconds=query_seconds, query=place) for place, name in enumerate(queries)]
    demands = [Demand(query=name, coefficient=1.0, is_protected=True) for name in queries]
    return TolerantWork(WorkTree((WorkNode(name="rows", parent=None, seconds=1.0), *leaves)), demands, dict(queries))
