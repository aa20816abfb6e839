"""The work of several clocks on one machine, planned as the one network that it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streamshed.planning.explain.shed_work import chosen_for
from streamshed.planning.rates.rate_policies import RatePolicy
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.planning.window_drop.track.droppable import DroppableQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockWork:
    """What a micro-batch of one clock asks for.

    Attributes:
        tree: The work that shedding can save.
        demands: Its queries, in the tree's order.
        droppable: Those whose windows may be dropped, by name.
        fixed_seconds: What it takes without rows.
        unsheddable_seconds: What nothing can save, that included.
    """

    tree: WorkTree
    demands: Sequence[Demand]
    droppable: Mapping[str, DroppableQuery] = field(default_factory=dict)
    fixed_seconds: float
    unsheddable_seconds: float

    @property
    def unshed_seconds(self) -> float:
        """What it takes if nothing is shed."""
        return self.unsheddable_seconds + float(self.tree.node_seconds.sum())


def seconds_of_clocks(
    works: Sequence[ClockWork], rates_of: RatePolicy, budget_seconds: float, utmost_seconds: float
) -> list[float]:
    """Return what the micro-batches of some clocks take where all queries of all of them share a budget.

    A second goes to the clock where it buys most, as `explain` has it of the whole network: one that is idle gets what
    it needs, and what it leaves is there for the others.

    Args:
        works: What each asks for; streams and queries of all clocks have names of their own.
        rates_of: The policy.
        budget_seconds: What all of it may take.
        utmost_seconds: What it may take before a query is shut down.

    Example:
        A second of the one clock's rows tells a third of what a second of the other's does.

        >>> from streamshed.planning.rates.least_error import least_error_rates
        >>> def clock(name: str, coefficient: float) -> ClockWork:
        ...     nodes = (WorkNode(name=name, parent=None, seconds=2.0, query=0),)
        ...     asked = [Demand(query=name, coefficient=coefficient)]
        ...     return ClockWork(tree=WorkTree(nodes), demands=asked, fixed_seconds=0.1, unsheddable_seconds=0.1)
        >>> [round(s, 3) for s in seconds_of_clocks([clock("a", 0.01), clock("b", 0.09)], least_error_rates, 1.8, 2.0)]
        [0.5, 1.3]
    """
    if sum(work.unshed_seconds for work in works) <= budget_seconds:
        return [work.unshed_seconds for work in works]
    nodes: list[WorkNode] = []
    demands: list[Demand] = []
    starts = []
    for work in works:
        starts.append(len(nodes))
        nodes += [_moved(node, len(nodes), len(demands)) for node in work.tree.nodes]
        demands += work.demands
    tree = WorkTree(tuple(nodes))
    droppable = {name: one for work in works for name, one in work.droppable.items()}
    beside = sum(work.unsheddable_seconds for work in works)
    for_work, utmost = (max(0.0, seconds - beside) for seconds in (budget_seconds, utmost_seconds))
    chosen = chosen_for(tree, demands, rates_of, for_work, droppable, utmost_seconds=utmost)
    taken = tree.node_seconds * chosen.done
    parts = np.split(taken, starts[1:])
    return [work.unsheddable_seconds + float(part.sum()) for work, part in zip(works, parts, strict=True)]


def _moved(node: WorkNode, nodes_before: int, queries_before: int) -> WorkNode:
    return replace(
        node,
        parent=None if node.parent is None else node.parent + nodes_before,
        query=None if node.query is None else node.query + queries_before,
    )
