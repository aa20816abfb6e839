"""SQL text as what a document says: statement by statement, each problem where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from streamshed.errors import Problem, closest_name
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.node import Node
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Stream
from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.aggregate_clauses import BOUNDS
from streamshed.network.sql_text.declarations import Declared, read_function, read_setting, read_stream, read_table
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.overload_clause import read_overload
from streamshed.network.sql_text.row_scope import SelectedRows
from streamshed.network.sql_text.select_reader import KnownProblem, SelectReader
from streamshed.network.sql_text.select_syntax import Select, read_select
from streamshed.network.sql_text.sql_cursor import SqlCursor, check_closed
from streamshed.network.sql_text.sql_tokens import (
    SqlRefusal,
    Statement,
    Tokens,
    name_of,
    spelled,
    statements_of,
    tokens_of,
)
from streamshed.network.sql_text.statement_values import settings_of
from streamshed.network.words.document_problem import Findings
from streamshed.network.words.keywords import our_word

WINDOW_START, _, WINDOW_FROM, _ = BOUNDS
_KINDS = {"stream": "streams", "table": "relations", "view": "operators", "query": "queries", "function": ""}
_QUERY = "write CREATE QUERY name AS SELECT ...: its answers go to the sink of the run"
_INSTEAD = {
    "select": _QUERY,
    "with": _QUERY,
    "insert": _QUERY,
    "create materialized": _QUERY,
    "create sink": "where answers go is a setting: SET sink = (parquet = 'out/answers')",
    "create source": "write CREATE STREAM name (...) WATERMARK FOR ... WITH (folder = '...')",
    "create external": "write CREATE STREAM for rows that keep coming, CREATE TABLE for stored ones",
}
_JOIN_SETTINGS = (
    "basic_window",
    "prefixes",
    "time",
    "mode",
    "policy",
    "weight",
    "memory",
    "sampling",
    "sampled_side",
)


Declaration: TypeAlias = Node | Relation | None
"""A stream, an operator or a relation; None: one with problems."""


@dataclass(frozen=True)
class Within:
    """The document that has statements beside other keys.

    Attributes:
        findings: Its findings.
        declared: What the other keys declare, by name.
        queries: The names of their queries.
    """

    findings: Findings
    declared: Mapping[str, Declaration]
    queries: Iterable[str]


def read_sql_text(
    text: str, sources: Mapping[str, Stream | Relation] | None = None, *, within: Within | None = None
) -> tuple[dict[str, Any], Findings]:
    """Read SQL statements.

    Args:
        text: The statements.
        sources: Streams and relations that are declared elsewhere, by the names that statements have for them.
        within: The document that they are a part of; None: they are a whole one.

    Returns:
        What a document says that is equal to them, and the problems so far, with the place of each value.

    Example:
        >>> said, findings = read_sql_text('''
        ...   CREATE STREAM ticks WATERMARK FOR timestamp AS timestamp WITH (rows_per_second = 10);
        ...   CREATE QUERY large AS
        ...   SELECT count(*) AS n FROM ticks WHERE value > 3 GROUP BY window(timestamp, '1 minute');
        ... ''')
        >>> said["operators"], said["queries"]["large"]["window"]
        ({'large_1': {'from': 'ticks', 'filter': 'value > 3'}}, {'size': '1 minute'})
        >>> findings.problems
        ()
    """
    parts = DocumentParts(text) if within is None else DocumentParts(text, within.findings)
    reader = _StatementReader(parts, sources or {}, within)
    reader.read()
    return reader.parts.document, reader.parts.findings


@dataclass(frozen=True, slots=True)
class _Head:
    """How a CREATE begins: what it makes, of which name, and where that goes."""

    kind: str
    name: str
    keys: tuple[str, str]
    cursor: SqlCursor
    tokens: Tokens
    is_aggregate: bool = False


class _StatementReader:
    def __init__(self, parts: DocumentParts, sources: Mapping[str, Stream | Relation], within: Within | None) -> None:
        self.parts = parts
        self._selects = SelectReader(parts)
        self._is_whole = within is None
        self._queries = set() if within is None else {name.lower() for name in within.queries}
        self._functions: set[str] = set()
        for name, source in sources.items():
            self._declare_given(name, source)
            part = "relations" if isinstance(source, Relation) else "streams"
            self.parts.parts[part][name] = {}
            self.parts.findings.unusable.add((part, name))
        for name, declaration in () if within is None else within.declared.items():
            self._declare_given(name, declaration)

    def read(self) -> None:
        """Read what is declared, then views and queries in their order."""
        selects = []
        for statement in statements_of(self.parts.source):
            self.parts.statement = ""
            self._attempt(statement, ("", ""), lambda statement=statement: selects.extend(self._declared(statement)))  # type: ignore[misc]
        self._selects.later = {head.name.lower() for head, _ in selects if head.kind == "view"}
        for head, statement in selects:
            self.parts.statement = f'{head.kind} "{head.name}"'
            self._selects.later.discard(head.name.lower())
            read = self._view if head.kind == "view" else self._query
            self._attempt(statement, head.keys, lambda head=head, read=read, statement=statement: read(head, statement))  # type: ignore[misc]
        if self._is_whole:
            self._check_contents()

    def _attempt(self, statement: Statement, keys: tuple[str, str], read: Callable[[], None]) -> None:
        part, name = keys
        try:
            read()
        except KnownProblem:
            self.parts.parts[part][name] = {}
            self.parts.findings.unusable.add(keys)
        except SqlRefusal as refusal:
            self.parts.refuse(refusal, keys if part else (), statement.tokens or statement.hint)
        except RecursionError:
            deep = SqlRefusal(statement.tokens[:1], "it is nested too deeply")
            self.parts.refuse(deep, keys if part else (), statement.tokens)
        else:
            return
        if part == "operators":
            self._selects.views[name.lower()] = None

    def _declared(self, statement: Statement) -> list[tuple[_Head, Statement]]:
        """Read a statement that declares something; views and queries are returned."""
        cursor = SqlCursor(statement.tokens)
        check_closed(statement.tokens)
        if not statement.tokens:
            raise SqlRefusal(statement.hint, "this hint stands behind all statements: put it before the ; of its query")
        if statement.hint and not any(cursor.is_at("create", kind) for kind in ("view", "query")):
            raise SqlRefusal(statement.hint, "this hint is about no query: put it into one, or on the line before it")
        if cursor.take("set"):
            read_setting(self.parts, cursor)
            return []
        head = self._head(cursor)
        self.parts.statement = f'{head.kind} "{head.name}"'
        self.parts.mark(head.keys, head.tokens)
        if head.kind in {"view", "query"}:
            return [(head, statement)]
        keys = head.keys if head.kind != "function" else ("", "")
        self._attempt(statement, keys, lambda: self._declare(head))
        return []

    def _declare(self, head: _Head) -> None:
        if head.kind == "function":
            functions = self._selects.user_aggregates if head.is_aggregate else self._selects.functions
            functions[head.name.lower()] = read_function(self.parts, head.cursor)
        elif head.kind == "table":
            relations = self._selects.relations
            relations[head.name.lower()] = (head.name, Declared(None, None))  # what is known where it has problems
            relations[head.name.lower()] = (head.name, read_table(self.parts, head.name, head.cursor))
        else:
            self._selects.views[head.name.lower()] = None
            declared = read_stream(self.parts, head.name, head.cursor)
            times = frozenset(filter(None, [declared.time]))
            self._selects.views[head.name.lower()] = SelectedRows(head.name, declared.columns, times)

    def _head(self, cursor: SqlCursor) -> _Head:
        start = cursor.rest
        beginnings = (spelled(start[:2]), spelled(start[:1]))
        instead = next((_INSTEAD[words] for words in beginnings if words in _INSTEAD), None)
        if instead is not None:
            raise SqlRefusal(start[: 1 if beginnings[1] in _INSTEAD else 2], instead)
        if not cursor.take("create"):
            near_miss = closest_name(start[0].text, ["CREATE", "SET"])
            raise SqlRefusal(start[:1], "a statement begins with CREATE or SET", near_miss)
        if cursor.take("or"):
            cursor.expect("replace")
        is_aggregate = cursor.take("aggregate")
        kind = cursor.advance()
        if kind.text.lower() not in _KINDS or (is_aggregate and not kind.is_word("function")):
            kinds = ", ".join(word.upper() for word in _KINDS)
            raise SqlRefusal([kind], f"CREATE makes one of {kinds}", closest_name(kind.text, [*map(str.upper, _KINDS)]))
        token = cursor.name(f"the {kind.text.lower()}")
        name, part = name_of(token), _KINDS[kind.text.lower()]
        self._take_name(token, part)
        return _Head(kind.text.lower(), name, (part, name), cursor, (token,), is_aggregate)

    def _take_name(self, token: Token, part: str) -> None:
        """See that a name is new among those that could be meant in its place."""
        taken = self._queries if part == "queries" else self._functions if not part else self.parts.taken
        name = name_of(token)
        if name.lower() in taken:
            raise SqlRefusal([token], f'"{name}" is declared twice')
        taken.add(name.lower())

    def _view(self, head: _Head, statement: Statement) -> None:
        cursor = head.cursor
        settings = {}
        if cursor.take("with"):
            for token, key, value in settings_of(cursor.parenthesized()):
                if key not in _JOIN_SETTINGS:
                    says = f'unknown setting "{key}" of a join, known are: {", ".join(_JOIN_SETTINGS)}'
                    raise SqlRefusal([token], Problem(says, name=key), our_word(key, _JOIN_SETTINGS))
                settings[key] = value
                self.parts.mark((*head.keys, key), [token], "WITH")
        select = self._select(cursor)
        if statement.hint or cursor.is_at("on", "overload"):
            says = "a view is shed as the queries over it are: say it of these"
            raise SqlRefusal(statement.hint or cursor.rest[:2], says)
        cursor.expect_end()
        before = len(self.parts.parts["operators"])
        rows = self._selects.view(head.name, select, settings)
        operators = self.parts.parts["operators"]
        if rows.node != head.name and rows.node in [*operators][before:]:
            rows = self._named(head, rows, is_pairs=head.name in operators)
        self._selects.views[head.name.lower()] = rows

    def _named(self, head: _Head, rows: SelectedRows, *, is_pairs: bool) -> SelectedRows:
        """Let the operator of a view have its name; that of a join of streams has it, and what follows has none."""
        if not is_pairs:
            self.parts.rename_operator(rows.node, head.name)
            return replace(rows, node=head.name)
        if not self._is_whole:
            says = "within a document this name stands for all pairs: select or filter them in another view"
            raise SqlRefusal(head.tokens, says)
        return rows

    def _query(self, head: _Head, statement: Statement) -> None:
        cursor = head.cursor
        select = self._select(cursor)
        clause, goals = cursor.rest, {}
        if cursor.peek() is not None:
            cursor.expect("on", "overload")
            goals = read_overload(cursor)
        if statement.hint:
            if clause:
                raise SqlRefusal(statement.hint, "ON OVERLOAD and a hint both say what may be shed: leave one out")
            clause = statement.hint
            hint = SqlCursor(clause)
            hint.take("on", "overload")
            goals = read_overload(hint)
        for key in goals:
            self.parts.mark((*head.keys, key), clause, "ON OVERLOAD")
        self.parts.parts["queries"][head.name] = {**self._selects.query(head.name, select), **goals}

    def _select(self, cursor: SqlCursor) -> Select:
        cursor.expect("as")
        return read_select(cursor)

    def _check_contents(self) -> None:
        """Report that there is no stream, or no query, in words of SQL."""
        missing = {
            "streams": "there is no stream: CREATE STREAM name (...) WATERMARK FOR ... WITH (folder = '...')",
            "queries": "there is no query: CREATE QUERY name AS SELECT ...",
        }
        self.parts.statement = ""
        for part, message in missing.items():
            if not self.parts.parts[part]:
                self.parts.findings.unusable.add((part,))
                self.parts.mark((part,), ())
                if not self.parts.findings.count:
                    self.parts.findings.report((part,), None, message)

    def _declare_given(self, name: str, declaration: Declaration) -> None:
        self.parts.taken.add(name.lower())
        if isinstance(declaration, Relation):
            columns = None if declaration.columns is None else tuple(column.name for column in declaration.columns)
            self._selects.relations[name.lower()] = (name, Declared(columns, None))
        else:
            self._selects.views[name.lower()] = None if declaration is None else _rows_of(name, declaration)


def _rows_of(name: str, node: Node) -> SelectedRows:
    windows = [above.over for above in node.path if isinstance(above, Aggregate)]
    bound = WINDOW_FROM if windows and windows[-1].is_numbered else WINDOW_START
    return SelectedRows(
        name, tuple(node.columns), frozenset({spelled(tokens_of(bound if windows else node.stream.time))})
    )
