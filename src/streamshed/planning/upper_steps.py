"""What comes behind the first of nested aggregates, added to an explanation's steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from streamshed.network.foundation import Foundation
from streamshed.network.query import Query

if TYPE_CHECKING:
    from streamshed.planning.explanation import Step


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
        if query is None or query.asked is None:
            upper_steps.append(step)
            continue
        upper_steps.append(replace(step, name=str(query.node), address=query.node.address))
        path = query.asked.rows.path
        upper = path[path.index(query.node) + 1 :]
        names = [*((str(node), node.address) for node in upper), (query.name, None)]
        waiting = [
            replace(step, name=name, address=address, depth=step.depth + further, seconds=None, sampling_rate=None)
            for further, (name, address) in enumerate(names, 1)
        ]
    return (*upper_steps, *waiting)
