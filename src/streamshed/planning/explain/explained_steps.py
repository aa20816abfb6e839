"""The way of rows to answers, step by step, over all of nested aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamshed.network.model.foundation import Foundation
from streamshed.network.model.query import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A node on the way of rows to answers.

    Attributes:
        name: What it does; of a query, its name.
        address: Of a stream or an operator, its `Node.address`; None: it is a query's own work.
        depth: How many nodes are above it.
        seconds: What its work takes if nothing is shed; None: that is in the seconds of the first aggregate above.
        effective_sampling_rate: P of the rows that it gets.
        sampling_rate: p of the sampler on the edge into it; None: there is none.
        needed_share: The share of its rows that kept windows, and queries that need every row, need; None: no windows
            are dropped.
        is_measured: Whether what a row costs an operator was measured of it by itself, not guessed or told.
    """

    name: str
    address: str | None
    depth: int
    seconds: float | None
    effective_sampling_rate: float
    sampling_rate: float | None
    needed_share: float | None = None
    is_measured: bool = False


def with_upper_steps(steps: Sequence[Step], queries: Sequence[Query]) -> tuple[Step, ...]:
    """Put the way from the first aggregate's answers to its query in the place of the query.

    The work there is not planned by itself: it is in the seconds of the aggregate.

    Args:
        steps: The nodes of what is planned, in order of a walk down the tree.
        queries: The queries that are planned for: those below nested aggregates stand for the ones over their answers.
    """
    nested = {query.name: query for query in queries if isinstance(query, Foundation)}
    upper_steps: list[Step] = []
    waiting: list[Step] = []
    for step in steps:
        if waiting and step.depth < waiting[0].depth:
            upper_steps += waiting
            waiting = []
        query = nested.get(step.name) if step.address is None else None
        if query is None or query.asked_query is None:
            upper_steps.append(step)
            continue
        upper_steps.append(replace(step, name=str(query.node), address=query.node.address))
        path = query.asked_query.rows.path
        upper = path[path.index(query.node) + 1 :]
        names = [*((str(node), node.address) for node in upper), (query.name, None)]
        waiting = [
            replace(step, name=name, address=address, depth=step.depth + further, seconds=None, sampling_rate=None)
            for further, (name, address) in enumerate(names, 1)
        ]
    return (*upper_steps, *waiting)
