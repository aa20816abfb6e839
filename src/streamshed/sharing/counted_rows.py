"""Rows that are only counted, for queries below a user's function.

A sample saves calls of the function; counting the rows that come to it costs little. Both are counted: all rows that
come, and those in the sample. Their ratio corrects the answers of the sample, see `answering/estimate/known_rows.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.sharing.instructions import StreamProgram, Test
from streamshed.sharing.probes import is_probe


class Role(IntEnum):
    """Why rows are counted for a value of a query."""

    VALUES = 0
    COUNTED = 1
    SAMPLED = 2


ALWAYS = "true"
"""What a row passes that may be counted, as SQL."""

_APART = 1000
"""A query has fewer distinct values than this."""

SCALED = frozenset({AggregateKind.COUNT, AggregateKind.SUM})
"""What is known better for it; an average is a quotient of two estimates that are off alike."""


def slot_of(slot: int, role: Role) -> int:
    """Return the slot in state of the rows of a role; they are counted for the value in the given slot.

    >>> slot_of(2, Role.COUNTED), role_of(1002), value_slot(1002)
    (1002, <Role.COUNTED: 1>, 2)
    """
    return slot + _APART * role


def role_of(slot: int) -> Role:
    """Return the role of the rows in a slot; a probe's rows have that of a query's own."""
    return Role.VALUES if is_probe(slot) else Role(slot // _APART)


def value_slot(slot: int) -> int:
    """Return the slot of the value for which the rows of a slot are counted; a probe has its own."""
    return slot if is_probe(slot) else slot % _APART


def counted_node(query: Query) -> Node | None:
    """Return the node above the first function on a query's path; None: its rows are not counted.

    They are for queries that count or sum. Queries by groups are left out: state would hold each group once more for
    the rows that are counted, and for those in the sample.
    """
    if query.aggregate is None or query.aggregate.keys or query.mode is not AnswerMode.APPROXIMATE:
        return None
    if not any(call.kind in SCALED for _, call in query.aggregate.calls):
        return None
    path = query.rows.path
    return next((above for above, node in pairwise(path) if isinstance(node, Apply)), None)


@dataclass(frozen=True)
class CountedRows:
    """Rows that are counted for a value of a query: those that come to a function, or those of them in the sample.

    Attributes:
        query: The query.
        node: What they come from.
        slot: Where they are found in state, see `slot_of`.
    """

    query: Query
    node: Node
    slot: int

    @property
    def test(self) -> str:
        """A condition that all rows pass: by it they have a bit, and so a sampling rate, of their own."""
        return (
            "__counted" if role_of(self.slot) is Role.COUNTED else f"__sampled_{self.query.definition_id}_{self.slot}"
        )


def counted_rows(query: Query, slots: Mapping[str, int]) -> tuple[CountedRows, ...]:
    """Return the rows that are counted for a query.

    Args:
        query: The query.
        slots: By aggregate, the slot of its value.
    """
    node = counted_node(query)
    if node is None or query.aggregate is None:
        return ()
    scaled = sorted({slots[name] for name, call in query.aggregate.calls if call.kind in SCALED})
    return tuple(
        CountedRows(query, node, slot_of(slot, role)) for slot in scaled for role in (Role.COUNTED, Role.SAMPLED)
    )


def with_counted(program: StreamProgram, counted: Sequence[CountedRows]) -> StreamProgram:
    """Return a straight line with one more test for each kind of counted rows."""
    names = dict.fromkeys(rows.test for rows in counted)
    return replace(program, instructions=(*program.instructions, *(Test(name, ALWAYS, ()) for name in names)))
