"""Lays out the operators above the queries as one straight line of instructions per stream, equal ones once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.lookup import Lookup
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter, Map
from streamshed.network.model.row_selection import definition_of
from streamshed.network.model.stream import Stream
from streamshed.network.sql.expression import Expression, conjuncts, parse_expression, rename_columns
from streamshed.sharing.instructions import Call, Define, Instruction, LinePosition, Match, StreamProgram, Test
from streamshed.sharing.totality import is_total


def resolve_stream(stream: Stream, nodes: Iterable[Node]) -> StreamProgram:
    """Lay out the operators between a stream and some of its nodes as one straight line.

    A column is named after what defines it, so that two operators that say the same share their column, wherever
    they stand. What might fail, or costs, is guarded by what its rows have passed.

    Args:
        stream: The stream.
        nodes: Nodes below it (not aggregates); their inputs are laid out with them.
    """
    line = _Line(stream)
    for node in nodes:
        line.place(node)
    return StreamProgram(stream, tuple(line.instructions.values()), line.places)


def resolve_answers(stream: Stream, aggregates: Iterable[Aggregate], nodes: Iterable[Node]) -> StreamProgram:
    """Lay out the operators over answers of a stream's aggregates, as `resolve_stream` does those over its rows.

    An answer comes in columns named after the aggregate, and after each of its columns: `answer_place` tells them.

    Args:
        stream: The stream that all of it comes from.
        aggregates: Those whose answers are rows.
        nodes: Nodes below them, with no aggregate between.
    """
    line = _Line(stream)
    for aggregate in aggregates:
        line.begin(aggregate)
    for node in nodes:
        line.place(node)
    return StreamProgram(stream, tuple(line.instructions.values()), line.places)


def answer_place(aggregate: Aggregate) -> LinePosition:
    """Return where the answers of an aggregate stand as rows; a row is there if the only condition is true."""
    identity = ("answer", repr(definition_of(aggregate)))
    return LinePosition({name: _name(*identity, name.lower()) for name in aggregate.columns}, (_name(*identity),))


def physical(expression: Expression, place: LinePosition) -> str:
    """Write an expression of a node over the columns of the straight line.

    Two expressions mean the same value of a row if their `canonical_physical` texts are equal.
    """
    return rename_columns(expression, place.columns)


def canonical_physical(expression: Expression, place: LinePosition) -> str:
    """Write an expression over the columns of the straight line in the spelling that all its variants share."""
    return parse_expression(physical(expression, place)).canonical


class _Line:
    """Collects instructions, each under the name of what it computes."""

    def __init__(self, stream: Stream) -> None:
        self.instructions: dict[str, Instruction] = {}
        self.places: dict[Node, LinePosition] = {}
        self._types = dict(stream.columns)

    def begin(self, aggregate: Aggregate) -> None:
        place = answer_place(aggregate)
        self.places[aggregate] = place
        self._types |= {column: aggregate.columns[name] for name, column in place.columns.items()}

    def place(self, node: Node) -> LinePosition:
        if node not in self.places:
            self.places[node] = self._placed(node)
        return self.places[node]

    def _placed(self, node: Node) -> LinePosition:
        match node:
            case Stream():
                return LinePosition({name: name for name in node.columns}, ())
            case Filter():
                return self._filtered(node, self.place(node.input))
            case Map():
                return self._mapped(node, self.place(node.input))
            case Lookup():
                return self._looked_up(node, self.place(node.input))
            case Apply():
                return self._applied(node, self.place(node.input))
            case _:
                raise TypeError(f"a {type(node).__name__} does not stand on a row's straight line")

    def _filtered(self, node: Filter, place: LinePosition) -> LinePosition:
        for part in conjuncts(node.predicate):
            place = LinePosition(place.columns, _extended(place.conditions, self._test(physical(part, place), place)))
        return place

    def _test(self, sql: str, place: LinePosition) -> str:
        guard = () if is_total(sql, self._types) else place.conditions
        name = _name("test", parse_expression(sql).canonical, *guard)
        self.instructions.setdefault(name, Test(name, sql, guard))
        return name

    def _mapped(self, node: Map, place: LinePosition) -> LinePosition:
        columns = dict(place.columns)
        for into, expression in node.assignments:
            sql = physical(expression, place)
            guard = place.conditions
            name = _name("map", parse_expression(sql).canonical, *guard)
            self.instructions.setdefault(name, Define(name, sql, guard))
            self._types[name] = None
            columns = _with_column(columns, into, name)
        return LinePosition(columns, place.conditions)

    def _looked_up(self, node: Lookup, place: LinePosition) -> LinePosition:
        on = tuple((_physical_name(place, ours), theirs) for ours, theirs in node.on)
        identity = ("match", node.relation.name, *(part for pair in on for part in pair))
        matched = _name(*identity)
        brought = {column: _name(*identity, column) for column in node.columns_added}
        self._match(Match(node.relation, on, tuple(brought.items()), matched, place.conditions))
        self._types |= {matched: "boolean"} | dict.fromkeys(brought.values())
        columns = dict(place.columns)
        for column, name in brought.items():
            columns = _with_column(columns, column, name)
        condition = self._test(f"NOT {matched}", place) if node.negate else matched
        return LinePosition(columns, _extended(place.conditions, condition))

    def _match(self, match: Match) -> None:
        """Join a relation once for all lookups in it by the same columns: with all their columns, for all their rows.

        A guard never asks for what depends on its own lookup: it holds only what lies above all of them.
        """
        earlier_match = self.instructions.get(match.matched)
        if isinstance(earlier_match, Match):
            outputs = dict((*earlier_match.outputs, *match.outputs))
            guard = tuple(condition for condition in earlier_match.guard if condition in match.guard)
            match = replace(match, outputs=tuple(outputs.items()), guard=guard)
        self.instructions[match.matched] = match

    def _applied(self, node: Apply, place: LinePosition) -> LinePosition:
        arguments = tuple(_physical_name(place, column) for column in node.arguments)
        name = _name("call", node.function.definition, node.returns, *arguments, "where", *place.conditions)
        self.instructions.setdefault(name, Call(name, node.function, arguments, node.returns, place.conditions))
        self._types[name] = node.returns
        return LinePosition(_with_column(dict(place.columns), node.into, name), place.conditions)


def _extended(conditions: Sequence[str], condition: str) -> tuple[str, ...]:
    return tuple(conditions) if condition in conditions else (*conditions, condition)


def _with_column(columns: dict[str, str], logical: str, name: str) -> dict[str, str]:
    """Add or replace a column, names compared as Spark does, whatever their case."""
    other_columns = {
        column_name: column for column_name, column in columns.items() if column_name.lower() != logical.lower()
    }
    return {**other_columns, logical: name}


def _physical_name(place: LinePosition, logical: str) -> str:
    return next(column for name, column in place.columns.items() if name.lower() == logical.lower())


def _name(kind: str, *identity: str) -> str:
    digest = hashlib.blake2b("\x1f".join((kind, *identity)).encode(), digest_size=8).hexdigest()
    return f"__{kind}_{digest}"
