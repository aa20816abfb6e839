"""What a row goes through, as a straight line of instructions that all queries of a stream share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.network.model.node import Node
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Stream
from streamshed.network.terms.function import FunctionReference


@dataclass(frozen=True)
class Define:
    """Add a column of the given SQL, evaluated only for rows that pass every column of `guard`."""

    column: str
    sql: str
    guard: tuple[str, ...]


@dataclass(frozen=True)
class Test:
    """Add a boolean column, never null, that tells whether a row passes the predicate (and the guard)."""

    __test__ = False

    column: str
    sql: str
    guard: tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """Look a row up in a relation by equality of columns; add `matched`, and the partner's columns where there is one.

    Attributes:
        on: Pairs (column of the row, column of the relation).
        outputs: Pairs (column of the relation, column to add).
        matched: Boolean column to add, never null.
        guard: What every row has passed whose partner anybody asks for; others are not looked up.
    """

    relation: Relation
    on: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    matched: str
    guard: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """Add the column that a vectorized user function returns for the rows that pass the guard."""

    column: str
    function: FunctionReference
    arguments: tuple[str, ...]
    returns: str
    guard: tuple[str, ...]


Instruction = Define | Test | Match | Call


@dataclass(frozen=True)
class LinePosition:
    """Where a node of the network stands in the straight line: its columns, and what its rows have passed.

    Attributes:
        columns: Column of the straight line, by the node's own (logical) name for it.
        conditions: Boolean columns; a row is at this node if all of them are true.
    """

    columns: Mapping[str, str]
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class StreamProgram:
    """The instructions of one stream, in an order that satisfies their dependencies, and each node's place."""

    stream: Stream
    instructions: tuple[Instruction, ...]
    places: Mapping[Node, LinePosition]
