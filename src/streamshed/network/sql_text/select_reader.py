"""SELECTs as operators of a document: tables, joins, WHERE and the SELECT list, in this order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from streamshed.errors import Problem, closest_name
from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.aggregate_clauses import AggregateReader, answered, having_text, is_aggregating
from streamshed.network.sql_text.declarations import Declared
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.join_conditions import PairReader
from streamshed.network.sql_text.lookup_clauses import LookupReader
from streamshed.network.sql_text.row_scope import Naming, Scope, SelectedRows
from streamshed.network.sql_text.select_items import read_items
from streamshed.network.sql_text.select_syntax import JoinClause, Select, TableReference
from streamshed.network.sql_text.sql_cursor import SqlCursor, conjuncts_of
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, name_of
from streamshed.network.words.document_problem import Keys

_HAVING = (
    "HAVING would choose among finished answers, which are estimates under overload: choose where they are read, or"
    " aggregate the ones chosen in a query over this one"
)


@dataclass
class SelectReader:
    """Reads SELECTs one after the other, each over what was declared before.

    Attributes:
        parts: Where operators go.
        relations: The relations by name in lower case, with the name as written.
        functions: The declared functions, by name in lower case.
        user_aggregates: Those that are aggregates.
        views: Streams and views by name in lower case; None: it has problems.
        later: The views that are defined further down, in lower case.
    """

    parts: DocumentParts
    relations: dict[str, tuple[str, Declared]] = field(default_factory=dict)
    functions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    user_aggregates: dict[str, Mapping[str, str]] = field(default_factory=dict)
    views: dict[str, SelectedRows | None] = field(default_factory=dict)
    later: set[str] = field(default_factory=set)

    def view(self, name: str, select: Select, settings: Mapping[str, object]) -> SelectedRows:
        """Read the SELECT of a view.

        Args:
            name: Its name.
            select: The SELECT.
            settings: Those of its join, from WITH.

        Raises:
            SqlRefusal: It cannot be said in a document.
        """
        rows = self._rows(name, select, settings, stream=name)
        if settings and not any(self._is_stream(join.table) for join in select.joins):
            raise SqlRefusal([select.word], "settings of a view are those of a join of streams, and it has none")
        return rows

    def query(self, name: str, select: Select) -> dict[str, Any]:
        """Read the SELECT of a query; returns what a document says of it, but for its goals.

        Raises:
            SqlRefusal: It cannot be said in a document.
        """
        reader = self._within(select, name)
        scope = reader.from_clauses(name, select, {}, stream=None)
        if is_aggregating(select, self.user_aggregates):
            if select.having:
                raise SqlRefusal(select.having, _HAVING)
            return {"from": scope.rows.node, **reader.aggregate(("queries", name), select, scope)}
        rows = read_items(self.parts, name, select, scope, self.functions)
        if rows.aggregate is not None:
            return dict(rows.aggregate)
        if not rows.is_whole:
            all_of_them = "" if rows.columns is None else f": {', '.join(rows.columns)}"
            raise SqlRefusal(
                [select.word], f"a query for rows delivers all of their columns: select *, or each one{all_of_them}"
            )
        return {"from": rows.node}

    def _rows(self, name: str, select: Select, settings: Mapping[str, object], *, stream: str | None) -> SelectedRows:
        reader = self._within(select, name)
        scope = reader.from_clauses(name, select, settings, stream=stream)
        if not is_aggregating(select, self.user_aggregates):
            return read_items(self.parts, name, select, scope, self.functions)
        node = self.parts.fresh_name(name)
        body = {"from": scope.rows.node, **reader.aggregate(("operators", node), select, scope)}
        self.parts.add_operator(node, body)
        answers = answered(scope, node, body)
        if not select.having:
            return answers.rows
        text = having_text(select.having, select, self.parts.source)
        chosen = self._add_filter(name, node, text, select.having, "HAVING")
        return replace(answers.rows, node=chosen, aggregate=None)

    def _within(self, select: Select, name: str) -> SelectReader:
        """A reader that knows the views of WITH, too."""
        inner = self
        for token, view in select.views:
            rows = inner._rows(f"{name}_{name_of(token)}", view, {}, stream=None)
            inner = replace(inner, views={**inner.views, name_of(token).lower(): rows})
        return inner

    def aggregate(self, keys: Keys, select: Select, scope: Scope) -> dict[str, Any]:
        """What a SELECT aggregates of its rows."""
        return AggregateReader(self.parts, scope, keys, self.user_aggregates).read(select)

    def from_clauses(self, name: str, select: Select, settings: Mapping[str, object], *, stream: str | None) -> Scope:
        """The rows that FROM, JOIN and WHERE give; a join of streams is called `stream`, where that is given."""
        scope = self._table(name, select.table)
        lookups = LookupReader(self.parts, name, select)
        for join in select.joins:
            if join.table.windows is not None:
                raise SqlRefusal(join.table.windows.tokens, "windows are aggregated before they are joined: in a view")
            relation = self._relation(join.table)
            if relation is not None:
                lookups.join(scope, join, *relation)
            else:
                if lookups.predicates:
                    self._narrow(scope, self._filter(name, scope, lookups.predicates, "ON"))
                scope = self._pairs(name, scope, join, settings, stream)
                lookups = LookupReader(self.parts, name, select)
        parts = conjuncts_of(select.where) if select.where else []
        predicates = [*lookups.predicates, *(part for part in parts if not lookups.is_subquery(part))]
        if predicates and predicates == parts:
            predicates = [select.where]
        if predicates:
            self._narrow(scope, self._filter(name, scope, predicates, "WHERE"))
        for part in parts:
            if lookups.is_subquery(part):
                lookups.member(scope, part, self.relations)
        return scope

    def _filter(self, name: str, scope: Scope, predicates: Sequence[Tokens], clause: str) -> str:
        """Keep the rows for which all of some predicates are true."""
        texts = [scope.expression(part) for part in predicates]
        if len(texts) > 1:  # an OR binds less than the AND between them
            is_alternative = [SqlCursor(part).until("or") != part for part in predicates]
            texts = [f"({text})" if either else text for text, either in zip(texts, is_alternative, strict=True)]
        return self._add_filter(name, scope.rows.node, " AND ".join(texts), predicates[0], clause)

    def _add_filter(self, name: str, node: str, text: str, tokens: Tokens, clause: str) -> str:
        operator = self.parts.fresh_name(name)
        self.parts.mark(("operators", operator, "filter"), tokens, clause)
        return self.parts.add_operator(operator, {"from": node, "filter": text})

    def _narrow(self, scope: Scope, node: str) -> None:
        scope.rows = replace(scope.rows, node=node, aggregate=None)

    def _table(self, name: str, table: TableReference) -> Scope:
        if table.version:
            raise SqlRefusal(table.version, "FOR SYSTEM_TIME is for relations: rows of streams are joined near in time")
        if isinstance(table.source, Select):
            rows = self._rows(self.parts.fresh_name(name), table.source, {}, stream=None)
            called = table.alias
        else:
            rows = self._named(table.source)
            called = table.alias or table.source
        name = "" if called is None else name_of(called)
        return Scope(self.parts.source, rows, {name.lower(): _same} if name else {}, called=name)

    def _named(self, token: Token) -> SelectedRows:
        name = name_of(token)
        if name.lower() in self.views:
            rows = self.views[name.lower()]
            if rows is None:
                raise KnownProblem
            return rows
        if name.lower() in self.relations:
            raise SqlRefusal(
                [token], f'"{name}" is a relation, whose rows do not come one by one: JOIN it with a stream'
            )
        if name.lower() in self.later:
            raise SqlRefusal([token], f'"{name}" is defined further down: define views before they are used')
        if name.lower() in {query.lower() for query in self.parts.parts["queries"]}:
            raise SqlRefusal(
                [token], f'"{name}" is a query, whose answers go to the sink: make it a view to go on from it'
            )
        says = Problem(f'unknown stream or view "{name}"', name=name)
        raise SqlRefusal([token], says, closest_name(name, [*self.views, *self.relations]))

    def _relation(self, table: TableReference) -> tuple[str, Declared] | None:
        if isinstance(table.source, Select):
            return None
        name = name_of(table.source).lower()
        return None if name in self.views else self.relations.get(name)

    def _is_stream(self, table: TableReference) -> bool:
        return self._relation(table) is None

    def _pairs(
        self, name: str, left: Scope, join: JoinClause, settings: Mapping[str, object], stream: str | None
    ) -> Scope:
        """A join of two streams: a stream of its own, whose columns begin with the names of the sides."""
        if join.kind != "inner":
            raise SqlRefusal(join.tokens, "streams are joined by JOIN: it gives the pairs")
        if left.is_paired:
            raise SqlRefusal(join.tokens, "the sides of a join are no joins themselves: two streams can be joined")
        right = self._table(name, join.table)
        if not left.called or not right.called or left.names.keys() & right.names.keys():
            raise SqlRefusal(join.tokens, "both sides of a join need names of their own: add AS and one to each")
        condition = PairReader(left, right).read(join.on, join.using, join.tokens)
        prefixes = settings.get("prefixes", [f"{side.called}_" for side in (left, right)])
        first, second = (
            (str(prefix) for prefix in prefixes) if isinstance(prefixes, list) and len(prefixes) == 2 else ("", "")
        )
        operator = stream or self.parts.fresh_name(name)
        waits = [condition.left_waits, condition.right_waits]
        said: dict[str, object] = {"on": condition.equal} if condition.equal else {}
        said |= {} if condition.other is None else {condition.other[0]: condition.other[1]}
        keys = ("operators", operator)
        self.parts.mark(keys, join.tokens, "JOIN")
        for key in ("on", "within", *said):
            self.parts.mark((*keys, key), join.on, "ON")
        body = {"from": left.rows.node, "join": right.rows.node, **said, "within": waits, "prefixes": prefixes}
        self.parts.add_operator(operator, {**body, **settings})
        names = {alias: _prefixed(first, naming) for alias, naming in left.names.items()}
        names |= {alias: _prefixed(second, naming) for alias, naming in right.names.items()}
        rows = _paired(operator, left, right, (first, second), str(settings.get("time", "time")))
        scope = Scope(left.source, rows, names, is_paired=True)
        if condition.rest:
            self._narrow(scope, self._filter(name, scope, condition.rest, "ON"))
        return scope


class KnownProblem(Exception):  # noqa: N818 - nothing new is wrong
    """A SELECT is over something of which problems are reported already."""


def _same(column: str) -> str:
    return column


def _prefixed(prefix: str, naming: Naming) -> Naming:
    return lambda column: prefix + naming(column)


def _paired(node: str, left: Scope, right: Scope, prefixes: tuple[str, str], time: str) -> SelectedRows:
    """The pairs of rows of both sides."""
    columns = None
    if left.rows.columns is not None and right.rows.columns is not None:
        mine = (prefixes[0] + column for column in left.rows.columns)
        columns = (time, *mine, *(prefixes[1] + column for column in right.rows.columns))
    sides = [_visible(side.rows, prefix) for side, prefix in zip((left, right), prefixes, strict=True)]
    visible = None
    if (left.rows.visible or right.rows.visible) and None not in sides:
        visible = frozenset({time.lower()}).union(*(names for names in sides if names is not None))
    return SelectedRows(node, columns, _later_times(left, right, *prefixes, time), visible)


def _visible(rows: SelectedRows, prefix: str) -> frozenset[str] | None:
    """What pairs call the columns of a side that were selected; None: only files tell them."""
    names = rows.columns if rows.visible is None else rows.visible
    return None if names is None else frozenset((prefix + name).lower() for name in names)


def _later_times(left: Scope, right: Scope, first: str, second: str, time: str) -> frozenset[str]:
    """What the time of pairs is called: by its column, or as the greatest of both times."""
    times = {time.lower()}
    for mine in left.rows.times:
        for theirs in right.rows.times:
            both = (f"{first}{mine}".lower(), f"{second}{theirs}".lower())
            times |= {f"greatest ( {a} , {b} )" for a, b in (both, both[::-1])}
    return frozenset(times)
