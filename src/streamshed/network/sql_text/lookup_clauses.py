"""JOINs with relations, and IN (SELECT ...): lookups and semijoins of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamshed.errors import closest_name
from streamshed.network.sql_text.declarations import Declared
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.join_conditions import equal_pair, qualifier_of
from streamshed.network.sql_text.row_scope import Naming, Scope, qualified_with
from streamshed.network.sql_text.select_items import star_of
from streamshed.network.sql_text.select_syntax import JoinClause, Select, read_whole_select
from streamshed.network.sql_text.sql_cursor import SqlCursor, conjuncts_of, unquoted_name
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, name_of


@dataclass
class LookupReader:
    """Reads the lookups of one SELECT.

    Attributes:
        parts: Where operators go.
        name: What operators are named after.
        select: The SELECT.
        predicates: Parts of ON that are no keys, for WHERE.
    """

    parts: DocumentParts
    name: str
    select: Select
    predicates: list[Tokens] = field(default_factory=list)

    def join(self, scope: Scope, join: JoinClause, relation: str, declared: Declared) -> None:
        """Read one JOIN with a relation, below the rows of a scope.

        Raises:
            SqlRefusal: Its condition is no key.
        """
        called = relation if join.table.alias is None else name_of(join.table.alias)
        if join.kind == "inner" and called.lower() in scope.names:
            raise SqlRefusal(join.tokens, f'"{called}" names two tables: add AS and another name')
        on = self._on(scope, join, called, declared)
        operator = self.parts.fresh_name(self.name)
        keys = ("operators", operator)
        self.parts.mark(keys, join.tokens, "JOIN")
        self.parts.mark((*keys, "on"), join.on, "ON")
        if join.kind != "inner":
            negate = {"negate": True} if join.kind == "anti" else {}
            self.parts.add_operator(operator, {"from": scope.rows.node, "semijoin": relation, "on": on, **negate})
            scope.rows = replace(scope.rows, node=operator, aggregate=None)
            return
        added = self._added(called.lower(), on)
        body: dict[str, object] = {"from": scope.rows.node, "lookup": relation, "on": on}
        self.parts.add_operator(operator, body | ({"columns": added} if added else {}))
        ours = {theirs.lower(): mine for mine, theirs in on.items()}
        scope.names[called.lower()] = _renamed(ours)
        columns = added or _but(declared.columns, ours)
        scope.relations[called.lower()] = None if columns is None else tuple(columns)
        everything = None
        if scope.rows.columns is not None and columns is not None:
            everything = (*scope.rows.columns, *columns)
        visible = scope.rows.visible
        if visible is not None:
            visible = visible | {column.lower() for column in columns or ()}
        scope.rows = replace(scope.rows, node=operator, columns=everything, visible=visible, aggregate=None)

    def is_subquery(self, part: Tokens) -> bool:
        """Whether a part of WHERE is `column IN (SELECT ...)`."""
        return any(token.is_word("select") for token in part)

    def member(self, scope: Scope, part: Tokens, relations: Mapping[str, tuple[str, Declared]]) -> None:
        """Read `column IN (SELECT key FROM relation)` as a semijoin.

        Raises:
            SqlRefusal: It is another subquery.
        """
        cursor = SqlCursor(part)
        column = scope.column(cursor.until("in", "not"))
        if cursor.is_at("not"):
            raise SqlRefusal(part, "NOT IN is never true where a key is null: write LEFT ANTI JOIN relation ON ...")
        if column is None or not cursor.take("in"):
            raise SqlRefusal(part, "a subquery in WHERE is column IN (SELECT key FROM relation)")
        select = read_whole_select(cursor.parenthesized())
        cursor.expect_end()
        source, key = select.table.source, _column_of(select.items[0].tokens)
        others = (select.where, select.joins, select.group, select.having, select.views, select.table.windows)
        is_plain = not any(others)
        if isinstance(source, Select) or len(select.items) > 1 or key is None or not is_plain:
            raise SqlRefusal(part, "a subquery in WHERE selects one column of a relation")
        relation = relations.get(name_of(source).lower())
        if relation is None:
            near_miss = closest_name(name_of(source), relations)
            raise SqlRefusal([source], f'"{name_of(source)}" is no relation: CREATE TABLE declares one', near_miss)
        operator = self.parts.fresh_name(self.name)
        self.parts.mark(("operators", operator), part, "WHERE")
        body: dict[str, object] = {"from": scope.rows.node, "semijoin": relation[0], "on": {column: key}}
        self.parts.add_operator(operator, body)
        scope.rows = replace(scope.rows, node=operator, aggregate=None)

    def _on(self, scope: Scope, join: JoinClause, called: str, declared: Declared) -> dict[str, str]:
        """The key: columns of the relation by columns of the rows; what else ON says is left for WHERE."""
        on: dict[str, str] = {}
        if join.using:
            for part in SqlCursor(join.on, join.tokens).listed():
                if (name := unquoted_name(part)) is None:
                    raise SqlRefusal(part, "USING lists columns that both sides have")
                on[name] = name
        for part in [] if join.using else conjuncts_of(join.on):
            key = self._key(part, scope, called.lower(), declared)
            if key is not None and key[0] not in on:
                on[key[0]] = key[1]
            elif key is not None or join.kind != "inner":
                raise SqlRefusal(
                    part, f'"{called}" is joined on columns that are equal, each once: filter apart from it'
                )
            else:
                self.predicates.append(part)
        if not on:
            raise SqlRefusal(join.on, f'"{called}" is joined on equal columns: ON stream.column = {called}.column')
        return on

    def _key(self, part: Tokens, scope: Scope, called: str, declared: Declared) -> tuple[str, str] | None:
        """The column of the rows and that of the relation that a part of ON says are equal."""
        pair = equal_pair(part)
        if pair is None:
            return None
        theirs = [qualifier_of(side) == called for side in pair]
        if theirs == [False, False]:
            names = {name.lower() for name in declared.columns or ()}
            theirs = [len(side) == 1 and name_of(side[0]).lower() in names for side in pair]
            if theirs == [True, True]:
                raise SqlRefusal(part, f"say which of the two is a column of {called}: {called}.column")
        if theirs not in ([True, False], [False, True]):
            return None
        mine, other = (pair[1], pair[0]) if theirs[0] else pair
        column = scope.column(mine)
        scope.expression(mine)
        return None if column is None else (column, name_of(other[-1]))

    def _added(self, called: str, on: Mapping[str, str]) -> list[str]:
        """The relation's columns that the SELECT names behind its name; empty: all but the key."""
        select = self.select
        lists = [item.tokens for item in select.items]
        if any(star_of(tokens) in {"", called} for tokens in lists):
            return []
        others = [other.on for other in select.joins if _called(other) != called]
        named = qualified_with(called, [*lists, select.where, *select.group, *others, *self.predicates])
        keys = {theirs.lower() for theirs in on.values()}
        return [name for folded, name in named.items() if folded not in keys]


def _called(join: JoinClause) -> str | None:
    """What the table of a join is called, in lower case."""
    name = join.table.alias or join.table.source
    return None if isinstance(name, Select) else name_of(name).lower()


def _column_of(tokens: Tokens) -> str | None:
    """The column that an item is, behind its table's name or alone; None: it is something else."""
    is_qualified = len(tokens) == 3 and tokens[1].is_symbol(".")
    return unquoted_name(tokens[2:] if is_qualified else tokens)


def _renamed(columns: Mapping[str, str]) -> Naming:
    return lambda column: columns.get(column.lower(), column)


def _but(columns: tuple[str, ...] | None, keys: Mapping[str, str]) -> list[str] | None:
    return None if columns is None else [name for name in columns if name.lower() not in keys]
