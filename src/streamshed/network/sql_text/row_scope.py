"""Rows as a SELECT sees them: which node they are of, and what names in its text stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streamshed.errors import InvalidExpressionError, Problem, closest_name
from streamshed.network.sql.sql_meaning import column_uses
from streamshed.network.sql.sql_syntax import Token, read_sql
from streamshed.network.sql_text.sql_tokens import SqlRefusal, is_name, name_of, spelled, tokens_of
from streamshed.network.sql_text.written_values import identifier

Naming: TypeAlias = Callable[[str], str]
"""From the name of a column behind a qualifier, such as `size` in `p.size`, to that in the rows."""


@dataclass(frozen=True)
class SelectedRows:
    """Rows of a node.

    Attributes:
        node: The name of the stream or operator.
        columns: Their columns, in order; None: only files tell them.
        times: What event time is called, spelled; empty: not known.
        visible: The columns that were selected, in lower case; None: all of them.
        aggregate: If they are answers of windows, what is asked for, as a document's query has it.
    """

    node: str
    columns: tuple[str, ...] | None
    times: frozenset[str]
    visible: frozenset[str] | None = None
    aggregate: Mapping[str, Any] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of their columns were selected."""
        if self.visible is None:
            return True
        return self.columns is not None and self.visible >= {name.lower() for name in self.columns}


@dataclass
class Scope:
    """What names in one SELECT stand for.

    Attributes:
        source: The text of all statements.
        rows: The rows that its clauses are about.
        names: What a qualified column is called in them, by qualifier in lower case.
        relations: The relations that were looked up in, by qualifier: the columns that are added; None: all.
        called: What the table of FROM is called, as written; empty: it has no name.
        is_paired: Whether the rows are pairs of rows of two streams, joined in this SELECT.
    """

    source: str
    rows: SelectedRows
    names: dict[str, Naming]
    relations: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    called: str = ""
    is_paired: bool = False

    def text(self, tokens: Sequence[Token]) -> str:
        """The text of an expression as it was written, but for qualifiers of columns."""
        pieces, end = [], tokens[0].start
        for start, stop, column in self._qualified(tokens):
            pieces += [self.source[end:start], identifier(column)]
            end = stop
        return "".join([*pieces, self.source[end : tokens[-1].end]])

    def expression(self, tokens: Sequence[Token]) -> str:
        """The text of an expression, or of an aggregate.

        Raises:
            SqlRefusal: It uses a column that was not selected.
        """
        text = self.text(tokens)
        if self.rows.visible is not None:
            for name in _columns_used(text):
                if name.lower() not in self.rows.visible:
                    near_miss = closest_name(name, self.rows.visible)
                    says = Problem(f'the column "{name}" is not among those selected before', name=name)
                    raise SqlRefusal(tokens, says, near_miss)
        return text

    def spelled(self, tokens: Sequence[Token]) -> str:
        """The one spelling of an expression, for comparing."""
        return spelled(tokens_of(self.text(tokens)))

    def column(self, tokens: Sequence[Token]) -> str | None:
        """The column that an expression is, as the rows call it; None: it is something else."""
        if len(tokens) == 1 and is_name(tokens[0]):
            return name_of(tokens[0])
        qualified = next(iter(self._qualified(tokens)), None) if len(tokens) == 3 else None
        return None if qualified is None else qualified[2]

    def _qualified(self, tokens: Sequence[Token]) -> Iterable[tuple[int, int, str]]:
        """The qualified columns: where they begin and end, and what the rows call them."""
        for index in range(len(tokens) - 2):
            qualifier, dot, column = tokens[index : index + 3]
            is_inner = index > 0 and tokens[index - 1].is_symbol(".")
            if is_inner or not (is_name(qualifier) and dot.is_symbol(".") and is_name(column)):
                continue
            naming = self.names.get(name_of(qualifier).lower())
            if naming is not None:
                yield qualifier.start, column.end, naming(name_of(column))


def is_time(tokens: Sequence[Token], scope: Scope) -> bool:
    """Whether an expression is the event time of a scope's rows, as far as that is known."""
    return not scope.rows.times or scope.spelled(tokens) in scope.rows.times


def qualified_with(qualifier: str, clauses: Iterable[Sequence[Token]]) -> dict[str, str]:
    """The columns that clauses name behind a qualifier, in order, by their names in lower case."""
    columns: dict[str, str] = {}
    for tokens in clauses:
        for index in range(len(tokens) - 2):
            first, dot, column = tokens[index : index + 3]
            if is_name(first) and name_of(first).lower() == qualifier and dot.is_symbol(".") and is_name(column):
                columns.setdefault(name_of(column).lower(), name_of(column))
    return columns


def _columns_used(text: str) -> frozenset[str]:
    try:
        return frozenset(use.name for use in column_uses(read_sql(text)))
    except InvalidExpressionError:
        return frozenset()  # those who read the document say what is wrong with it
