"""The SELECT list of a query for rows: maps and Python functions of a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.row_scope import Scope, SelectedRows
from streamshed.network.sql_text.select_syntax import Select, SelectItem
from streamshed.network.sql_text.sql_cursor import SqlCursor
from streamshed.network.sql_text.sql_tokens import SqlRefusal, name_of


def read_items(
    parts: DocumentParts, name: str, select: Select, scope: Scope, functions: Mapping[str, Mapping[str, str]]
) -> SelectedRows:
    """Read a SELECT list without aggregates.

    Args:
        parts: Where operators go.
        name: What they are named after.
        select: The SELECT.
        scope: What its names stand for.
        functions: The declared Python functions, by name in lower case.

    Returns:
        The rows that it gives.

    Raises:
        SqlRefusal: An item has no name, or is given twice.
    """
    computed: dict[str, SelectItem] = {}
    selected: set[str] = set()
    times = set(scope.rows.times)
    is_all = False
    for item in select.items:
        star = star_of(item.tokens)
        if star is not None:
            columns = _starred(star, item, scope)
            is_all = is_all or columns is None
            selected |= columns or set()
            continue
        column = scope.column(item.tokens)
        if column is None and item.alias is None:
            raise SqlRefusal(item.tokens, "what is computed needs a name: write AS and one behind it")
        called = name_of(item.alias) if item.alias is not None else column or ""
        if called.lower() in {other.lower() for other in computed}:
            raise SqlRefusal(item.tokens, f'"{called}" is selected twice')
        if column is None or column.lower() != called.lower():
            computed[called] = item
            if scope.spelled(item.tokens) in scope.rows.times:
                times.add(called.lower())
        else:
            scope.expression(item.tokens)
        selected.add(called.lower())
    rows = _computed(parts, name, computed, scope, functions)
    visible = scope.rows.visible if is_all else frozenset(selected)
    if is_all and visible is not None:
        visible = visible | selected
    is_same = not computed and visible == scope.rows.visible
    return replace(rows, times=frozenset(times), visible=visible, aggregate=scope.rows.aggregate if is_same else None)


def star_of(tokens: Sequence[Token]) -> str | None:
    """The qualifier of `q.*`, in lower case; "" for `*`; None: it is something else."""
    if len(tokens) == 1 and tokens[0].is_symbol("*"):
        return ""
    if len(tokens) == 3 and tokens[1].is_symbol(".") and tokens[2].is_symbol("*"):
        return name_of(tokens[0]).lower()
    return None


def _starred(qualifier: str, item: SelectItem, scope: Scope) -> set[str] | None:
    """The columns that a star stands for, in lower case; None: all of them."""
    if not qualifier:
        return None
    if qualifier not in scope.names:
        raise SqlRefusal(item.tokens, f'"{qualifier}" is no table of this SELECT')
    if not scope.relations and len(scope.names) == 1:
        return None
    if qualifier in scope.relations:
        return {column.lower() for column in scope.relations[qualifier] or ()}
    looked_up = [columns for columns in scope.relations.values() if columns is not None]
    added = {column.lower() for columns in looked_up for column in columns}
    if len(scope.names) - len(scope.relations) > 1:
        raise SqlRefusal(item.tokens, "rows of a join are pairs: select *, or columns of both sides by their names")
    if scope.rows.columns is None:
        return None
    return {column.lower() for column in scope.rows.columns} - added


def _computed(
    parts: DocumentParts,
    name: str,
    computed: Mapping[str, SelectItem],
    scope: Scope,
    functions: Mapping[str, Mapping[str, str]],
) -> SelectedRows:
    """The rows with the columns that are computed."""
    if not computed:
        return scope.rows
    operator = parts.fresh_name(name)
    calling = [called for called, item in computed.items() if _is_call(item, functions)]
    if calling and len(computed) > 1:
        raise SqlRefusal(computed[calling[0]].tokens, "a Python function is called in a view of its own, beside * only")
    if calling:
        parts.add_operator(operator, _applied(calling[0], computed[calling[0]], scope, functions))
        parts.mark(("operators", operator), computed[calling[0]].tokens, "SELECT")
    else:
        columns = {called: scope.expression(item.tokens) for called, item in computed.items()}
        parts.add_operator(operator, {"from": scope.rows.node, "map": columns})
        parts.mark(("operators", operator), next(iter(computed.values())).tokens, "SELECT")
        for called, item in computed.items():
            parts.mark(("operators", operator, "map", called), item.tokens, "SELECT")
    before = scope.rows.columns
    names = {column.lower() for column in before or ()}
    after = None if before is None else (*before, *(called for called in computed if called.lower() not in names))
    return replace(scope.rows, node=operator, columns=after, aggregate=None)


def _is_call(item: SelectItem, functions: Mapping[str, Mapping[str, str]]) -> bool:
    tokens = item.tokens
    return len(tokens) > 2 and tokens[0].text.lower() in functions and tokens[1].is_symbol("(")


def _applied(
    called: str, item: SelectItem, scope: Scope, functions: Mapping[str, Mapping[str, str]]
) -> dict[str, object]:
    cursor = SqlCursor(item.tokens)
    function = functions[cursor.advance().text.lower()]
    columns = [scope.column(argument) for argument in cursor.parenthesized().listed()]
    if None in columns or cursor.peek() is not None:
        raise SqlRefusal(item.tokens, "a Python function is given columns: compute them in a view before")
    body: dict[str, object] = {
        "from": scope.rows.node,
        "apply": function["function"],
        "columns": columns,
        "into": called,
    }
    return body | {"returns": function["returns"]}
