"""GROUP BY and the SELECT list of a query over windows, as a document's window, keys and aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamshed.network.sql.sql_syntax import Token, TokenKind
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.row_scope import Scope, is_time
from streamshed.network.sql_text.select_syntax import Select, SelectItem, WindowCall, call_of
from streamshed.network.sql_text.sql_cursor import SqlCursor, unquoted_name
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, name_of, spelled
from streamshed.network.sql_text.statement_values import length_of
from streamshed.network.sql_text.written_values import identifier
from streamshed.network.words.document_problem import Keys
from streamshed.network.words.function_names import AGGREGATE_FUNCTIONS

BOUNDS = ("window_start", "window_end", "window_from", "window_until")
_BOUND_CALLS = ("tumble_start", "tumble_end", "hop_start", "hop_end")
_NO_WINDOWS = {
    "cumulate": "windows that grow cannot be answered: ask for the small ones, or for each large one",
    "session": "windows between pauses cannot be answered: their ends depend on every row",
    "session_window": "windows between pauses cannot be answered: their ends depend on every row",
}
_LENGTHS = ("size", "slide", "offset")


def is_aggregating(select: Select, user_aggregates: Mapping[str, object]) -> bool:
    """Whether a SELECT has windows, groups or aggregates."""
    called = (*AGGREGATE_FUNCTIONS, *user_aggregates)
    return bool(
        select.group
        or select.having
        or select.table.windows
        or any(calls(item.tokens, called) for item in select.items)
    )


def calls(tokens: Sequence[Token], functions: Sequence[str]) -> bool:
    """Whether an expression calls one of some functions, which are in lower case."""
    called = zip((None, *tokens), tokens, tokens[1:], strict=False)
    return any(
        token.kind is TokenKind.WORD
        and token.text.lower() in functions
        and behind.is_symbol("(")
        and not (before is not None and before.is_word("like", "ilike"))
        for before, token, behind in called
    )


@dataclass(frozen=True)
class AggregateReader:
    """Reads windows, keys and aggregates.

    Attributes:
        parts: Where marks go.
        scope: What names stand for.
        keys: Where in the document the aggregate stands.
        user_aggregates: The declared functions that are aggregates, by name in lower case.
    """

    parts: DocumentParts
    scope: Scope
    keys: Keys
    user_aggregates: Mapping[str, Mapping[str, str]]

    def read(self, select: Select) -> dict[str, Any]:
        """Read a SELECT that aggregates.

        Raises:
            SqlRefusal: It has no window, or selects what is neither a key nor an aggregate.
        """
        if select.table.windows and not select.group and not any(map(self._is_call, select.items)):
            function = select.table.windows.function
            says = "gives windows to aggregates: add some, and GROUP BY window_start, window_end"
            raise SqlRefusal([function], f"{function.text.upper()} {says}")
        window, groups = self._window(select)
        if window is None:
            here = select.group[0] if select.group else select.items[0].tokens
            raise SqlRefusal(
                here, "aggregates of a stream need windows: GROUP BY window(ts, '1 minute'), or FROM TUMBLE(...)"
            )
        items = list(select.items)
        by = [self._key(group, items, index) for index, group in enumerate(groups)]
        aggregates: dict[str, Any] = {}
        for item in items:
            if not self._is_bound(item):
                name = self._aggregate_name(item)
                if name in aggregates:
                    raise SqlRefusal(item.tokens, f'"{name}" is selected twice')
                aggregates[name] = self._aggregate(item)
                self.parts.mark((*self.keys, "aggregates", name), item.tokens, "SELECT")
        if not aggregates:
            raise SqlRefusal([select.word], "nothing is aggregated: add count(*) AS n")
        self.parts.mark((*self.keys, "aggregates"), [select.word], "SELECT")
        return {"window": window, **({"by": by} if by else {}), "aggregates": aggregates}

    def _is_call(self, item: SelectItem) -> bool:
        return calls(item.tokens, (*AGGREGATE_FUNCTIONS, *self.user_aggregates))

    def _window(self, select: Select) -> tuple[dict[str, object] | None, list[Tokens]]:
        """The windows, and what else is grouped by."""
        call, groups = select.table.windows, []
        for written in select.group:
            group = _by_place(written, select.items)
            group_call = call_of(group)
            if group_call is None:
                is_bound = unquoted_name(group) in BOUNDS or spelled(group) == "window"
                is_bound = is_bound or _last_name(group) in BOUNDS[:2]
                if not (is_bound and select.table.windows):
                    groups.append(group)
            elif call is None:
                call = group_call
            else:
                raise SqlRefusal(group, "one query has one kind of windows: ask for others in another query")
        return (None if call is None else self._read_window(call)), groups

    def _read_window(self, call: WindowCall) -> dict[str, object]:
        function = call.function.text.lower()
        if (refusal := _NO_WINDOWS.get(function)) is not None:
            raise SqlRefusal([call.function], refusal)
        if call.time and not is_time(call.time, self.scope):
            times = " or ".join(sorted(self.scope.rows.times))
            raise SqlRefusal(call.time, f"windows lie along event time, which is {times} here")
        order = ("slide", "size", "offset") if function == "hop" else ("size", "offset")
        order = ("size", "slide", "offset") if function == "window" else order
        if len(call.lengths) > len(order):
            raise SqlRefusal(call.lengths[-1], f"{call.function.text} takes {', '.join(order)} and no more")
        given = dict(zip(order, call.lengths, strict=False))
        for name, tokens in call.named.items():
            if name not in _LENGTHS or name in given:
                raise SqlRefusal(tokens, f"{call.function.text} takes {', '.join(order)}")
            given[name] = tokens
        if "size" not in given or (function == "hop" and "slide" not in given):
            raise SqlRefusal([call.function], f"{call.function.text} takes {', '.join(order[:2])}, such as '1 minute'")
        window: dict[str, object] = {}
        for key in _LENGTHS:
            if key in given:
                window[key] = length_of(given[key])
                self.parts.mark((*self.keys, "window", key), given[key], "GROUP BY")
        self.parts.mark((*self.keys, "window"), [call.function], "GROUP BY")
        return window

    def _key(self, group: Tokens, items: list[SelectItem], index: int) -> str | dict[str, str]:
        """One key; the item that selects it is taken from the items."""
        item = self._selected(group, items)
        self.parts.mark((*self.keys, "by", index), group, "GROUP BY")
        if item is not None:
            items.remove(item)
            group = item.tokens
        column = self.scope.column(group)
        alias = None if item is None or item.alias is None else name_of(item.alias)
        if column is None and alias is None:
            raise SqlRefusal(group, "what is grouped by needs a name: select it AS one")
        if column is not None and alias in {None, column}:
            self.scope.expression(group)
            return column
        name = alias or ""
        self.parts.mark((*self.keys, "by", index, name), group, "GROUP BY")
        return {name: self.scope.expression(group)}

    def _selected(self, group: Tokens, items: Sequence[SelectItem]) -> SelectItem | None:
        """The item that GROUP BY means: by what it computes, or by its name."""
        same = [item for item in items if self.scope.spelled(item.tokens) == self.scope.spelled(group)]
        name = unquoted_name(group)
        if name is None or name.lower() in {column.lower() for column in self.scope.rows.columns or ()}:
            return next(iter(same), None)  # a column comes before an item of its name, as in Spark
        named = [item for item in items if item.alias is not None and _is(item.alias, name)]
        return next(iter((*same, *named)), None)

    def _is_bound(self, item: SelectItem) -> bool:
        """Whether an item is where the window begins or ends, which every answer tells."""
        bound = _bound_of(item.tokens)
        if bound is None:
            return False
        if item.alias is not None and bound and name_of(item.alias).lower() != bound:
            raise SqlRefusal(item.tokens, f'answers tell it as "{bound}": leave AS {item.alias.text} out')
        return True

    def _aggregate_name(self, item: SelectItem) -> str:
        if item.alias is not None:
            return name_of(item.alias)
        if self.scope.column(item.tokens) is not None and not calls(item.tokens, [*AGGREGATE_FUNCTIONS]):
            raise SqlRefusal(item.tokens, "this is no aggregate, and nothing is grouped by it: add it to GROUP BY")
        if len(item.tokens) == 1 and item.tokens[0].is_symbol("*"):
            raise SqlRefusal(item.tokens, "answers of windows have keys and aggregates: name them")
        raise SqlRefusal(item.tokens, "an aggregate needs a name: write AS and one behind it")

    def _aggregate(self, item: SelectItem) -> Any:
        if any(token.is_word("over") for token in item.tokens):
            raise SqlRefusal(
                item.tokens, "functions OVER windows see rows one after the other: GROUP BY a window instead"
            )
        first = item.tokens[0]
        user = self.user_aggregates.get(first.text.lower())
        if user is None or len(item.tokens) < 3 or not item.tokens[1].is_symbol("("):
            return self.scope.expression(item.tokens)
        cursor = SqlCursor(item.tokens)
        cursor.advance()
        columns = [self.scope.column(argument) for argument in cursor.parenthesized().listed()]
        if None in columns:
            raise SqlRefusal(item.tokens, "an aggregate of your own is given columns: compute them in a view")
        body: dict[str, Any] = {"user": user["function"], "columns": columns, "returns": user["returns"]}
        if cursor.take("filter"):
            inside = cursor.parenthesized()
            inside.expect("where")
            body["where"] = self.scope.text(inside.rest)
        cursor.expect_end()
        return body


def having_text(tokens: Tokens, select: Select, source: str) -> str:
    """The predicate of HAVING over answers: calls that are selected stand for the columns of their names.

    Raises:
        SqlRefusal: It calls an aggregate that is not selected.
    """
    named = [(item.tokens, item.alias) for item in select.items if item.alias is not None and len(item.tokens) > 1]
    pieces, end, index = [], tokens[0].start, 0
    while index < len(tokens):
        left = tokens[index:]
        match = next(((call, alias) for call, alias in named if spelled(left[: len(call)]) == spelled(call)), None)
        if match is not None:
            call, alias = match
            pieces += [source[end : left[0].start], identifier(name_of(alias))]
            end, index = left[len(call) - 1].end, index + len(call)
        elif calls(left[:2], [*AGGREGATE_FUNCTIONS]):
            raise SqlRefusal(left[:1], "HAVING is about answers: select this aggregate AS a name, and use that")
        else:
            index += 1
    return "".join([*pieces, source[end : tokens[-1].end]])


def answered(scope: Scope, node: str, body: Mapping[str, Any]) -> Scope:
    """What names stand for behind an aggregate."""
    size = body["window"]["size"]
    is_numbered = isinstance(size, int) or "row" in str(size)
    bounds = BOUNDS[2:] if is_numbered else BOUNDS[:2]
    keys = [key if isinstance(key, str) else next(iter(key)) for key in body.get("by", [])]
    columns = (*bounds, *keys, *body["aggregates"])
    rows = replace(scope.rows, node=node, columns=columns, times=frozenset({bounds[0]}), visible=None, aggregate=body)
    return Scope(scope.source, rows, {})


def _by_place(group: Tokens, items: Sequence[SelectItem]) -> Tokens:
    """What is grouped by: the item of a place in the SELECT list, where a number says which."""
    if len(group) > 1 or not group[0].text.isdigit():
        return group
    place = int(group[0].text)
    if not 1 <= place <= len(items):
        raise SqlRefusal(group, f"there is no item {place} in the SELECT list")
    return items[place - 1].tokens


def _bound_of(tokens: Tokens) -> str | None:
    """The bound of the window that an item is; "" for the window itself; None: it is none."""
    name = _last_name(tokens)
    if name in BOUNDS:
        return name
    said = spelled(tokens)
    if said == "window" or said.startswith("window ("):
        return ""
    if said in {"window . start", "window . end"}:
        return f"window_{said.rpartition(' ')[2]}"
    if len(tokens) > 2 and tokens[0].is_word(*_BOUND_CALLS) and tokens[1].is_symbol("("):
        return f"window_{tokens[0].text.lower().partition('_')[2]}"
    return None


def _last_name(tokens: Tokens) -> str | None:
    """The name of a column behind its qualifier, if it has one."""
    if len(tokens) == 3 and tokens[1].is_symbol("."):
        return name_of(tokens[2]).lower()
    return (unquoted_name(tokens) or "").lower() or None


def _is(token: Token, name: str) -> bool:
    return name_of(token).lower() == name.lower()
