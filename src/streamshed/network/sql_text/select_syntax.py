"""The clauses of a SELECT, each as the tokens that stand in it; what they mean is told elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.errors import closest_name
from streamshed.network.sql.sql_syntax import Token, TokenKind
from streamshed.network.sql_text.sql_cursor import SqlCursor
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, is_name

WINDOW_FUNCTIONS = ("tumble", "hop", "cumulate", "session")
_CLAUSES = ("from", "where", "group", "having")
_SORTED = "streams have no end at which they could be sorted or cut: sort the answers where they are read"
_REFUSED_CLAUSES = {
    "order": _SORTED,
    "sort": _SORTED,
    "limit": _SORTED,
    "union": "write one query for each part",
    "intersect": "write one query for each part, or a SEMI JOIN with a relation",
    "except": "write one query for each part, or an ANTI JOIN with a relation",
    "qualify": "the best N of a window cannot be asked for: ask for all and choose among the answers",
    "emit": "windows are answered when the watermark has passed them: leave it out",
    "lateral": "one row cannot become several",
    "cluster": "Spark chooses partitions: leave it out",
    "distribute": "Spark chooses partitions: leave it out",
}
_JOIN_WORDS = ("join", "inner", "left", "right", "full", "cross", "semi", "anti", "natural", "outer")
_ENDS = (*_CLAUSES, *_REFUSED_CLAUSES, *_JOIN_WORDS, "on", "using")


@dataclass(frozen=True, slots=True)
class SelectItem:
    """One item of a SELECT list.

    Attributes:
        tokens: The expression.
        alias: The name given to it; None: none.
    """

    tokens: Tokens
    alias: Token | None


@dataclass(frozen=True, slots=True)
class TableReference:
    """Where rows come from.

    Attributes:
        source: A name, or a SELECT in parentheses.
        alias: The name given to it; None: none.
        windows: The call of TUMBLE or HOP around it: its name, and its arguments behind the table; None: none.
        version: FOR SYSTEM_TIME AS OF, if that is said.
    """

    source: Token | Select
    alias: Token | None
    windows: WindowCall | None = None
    version: Tokens = ()


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call that cuts time into windows.

    Attributes:
        function: Its name.
        time: What is cut; empty: event time, whichever that is.
        lengths: The arguments behind it.
        named: Those that are given by name, such as `SIZE => ...`, by their names in lower case.
        tokens: The whole call.
    """

    function: Token
    time: Tokens
    lengths: tuple[Tokens, ...]
    named: dict[str, Tokens]
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class JoinClause:
    """One JOIN.

    Attributes:
        kind: "inner", "semi" or "anti".
        table: What is joined.
        on: The condition.
        using: Whether the condition is a list of columns, as in `USING (host)`.
        tokens: The words that begin it.
    """

    kind: str
    table: TableReference
    on: Tokens
    using: bool
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT.

    Attributes:
        word: The word itself, to point at.
        items: What is selected.
        table: Where rows come from.
        joins: What they are joined with, in order.
        where: The predicate of WHERE; empty: none.
        group: What GROUP BY lists; empty: there is none.
        having: The predicate of HAVING; empty: none.
        views: Those of its WITH, by name.
    """

    word: Token
    items: tuple[SelectItem, ...]
    table: TableReference
    joins: tuple[JoinClause, ...] = ()
    where: Tokens = ()
    group: tuple[Tokens, ...] = ()
    having: Tokens = ()
    views: tuple[tuple[Token, Select], ...] = ()


def read_select(cursor: SqlCursor) -> Select:
    """Read a SELECT, up to the end or to ON OVERLOAD.

    Raises:
        SqlRefusal: A clause is wrong, missing, or one that streams do not have.
    """
    views = []
    if cursor.take("with"):
        while True:
            name = cursor.name("a view")
            cursor.expect("as")
            views.append((name, read_whole_select(cursor.parenthesized())))
            if not cursor.take_symbol(","):
                break
    word = cursor.peek()
    cursor.expect("select")
    if word is None:  # expect() has refused that
        raise SqlRefusal((), "SELECT is expected here")
    if cursor.is_at("distinct"):
        raise SqlRefusal(
            [cursor.advance()], "SELECT DISTINCT is a group without end: GROUP BY the columns and a window"
        )
    items = tuple(_item(tokens) for tokens in cursor.listed("from"))
    _expect_from(cursor, items)
    table = _table(cursor)
    joins = []
    while (join := _join(cursor)) is not None:
        joins.append(join)
    where = _predicate(cursor, "where")
    group: tuple[Tokens, ...] = ()
    if cursor.take("group"):
        cursor.expect("by")
        group = tuple(cursor.listed("having", "on", *_REFUSED_CLAUSES))
    having = _predicate(cursor, "having")
    _refuse_clause(cursor)
    return Select(word, items, table, tuple(joins), where, group, having, tuple(views))


def read_whole_select(cursor: SqlCursor) -> Select:
    """Read a SELECT that nothing follows."""
    select = read_select(cursor)
    cursor.expect_end()
    return select


def _expect_from(cursor: SqlCursor, items: Sequence[SelectItem]) -> None:
    """Take FROM; where it is missing, point at what is probably meant for it."""
    if cursor.peek() is None:
        words = [token for item in items for token in item.tokens if is_name(token) and len(token.text) == len("FROM")]
        meant = [token for token in words if closest_name(token.text, ["FROM"])]
        raise SqlRefusal(meant[:1] or items[-1].tokens[-1:], "FROM is missing", "FROM" if meant else None)
    cursor.expect("from")


def _item(tokens: Tokens) -> SelectItem:
    if len(tokens) > 2 and tokens[-2].is_word("as") and is_name(tokens[-1]):
        return SelectItem(tokens[:-2], tokens[-1])
    if len(tokens) > 2 and tokens[-2].is_symbol(")") and is_name(tokens[-1]) and not tokens[-1].is_word("end"):
        return SelectItem(tokens[:-1], tokens[-1])
    return SelectItem(tokens, None)


def _predicate(cursor: SqlCursor, word: str) -> Tokens:
    if not cursor.is_at(word):
        return ()
    clause = cursor.advance()
    predicate = cursor.until("group", "having", "on", *_REFUSED_CLAUSES)
    if not predicate:
        raise SqlRefusal([clause], f"{word.upper()} needs a predicate")
    return predicate


def _refuse_clause(cursor: SqlCursor) -> None:
    token = cursor.peek()
    if token is not None and token.text.lower() in _REFUSED_CLAUSES:
        behind = cursor.peek(1)
        words = [token, behind] if behind is not None and behind.is_word("by", "all") else [token]
        clause = " ".join(word.text.upper() for word in words)
        raise SqlRefusal(words, f"{clause} has no place here: {_REFUSED_CLAUSES[token.text.lower()]}")


def _table(cursor: SqlCursor) -> TableReference:
    if cursor.is_at_symbol("("):
        inner = read_whole_select(cursor.parenthesized())
        return TableReference(inner, _alias(cursor))
    token, behind = cursor.peek(), cursor.peek(1)
    if token is not None and behind is not None and behind.is_symbol("("):
        if token.is_word("table"):
            cursor.advance()
            inner_cursor = cursor.parenthesized()
            windowed = _table_function(inner_cursor)
            inner_cursor.expect_end()
        else:
            windowed = _table_function(cursor)
        return TableReference(windowed.source, _alias(cursor), windowed.windows)
    name = cursor.name("a stream, view or relation")
    before = cursor.rest
    if cursor.take("for"):
        cursor.expect("system_time", "as", "of")
        cursor.until("as", *_ENDS)
    version = before[: len(before) - len(cursor.rest)]
    return TableReference(name, _alias(cursor), version=version)


def _alias(cursor: SqlCursor) -> Token | None:
    if cursor.take("as"):
        alias = cursor.name("what it is called")
        if cursor.is_at_symbol("("):
            raise SqlRefusal(cursor.rest[:1], "columns are named in the SELECT list, not behind the table")
        return alias
    token = cursor.peek()
    return cursor.advance() if token is not None and is_name(token) and not token.is_word(*_ENDS) else None


def _table_function(cursor: SqlCursor) -> TableReference:
    """Read TUMBLE or HOP over a table, as Flink or RisingWave write it."""
    function = cursor.name("a function such as TUMBLE")
    if not function.is_word(*WINDOW_FUNCTIONS):
        raise SqlRefusal([function], "rows come from a stream, a view, or TUMBLE or HOP of one")
    arguments = cursor.parenthesized()
    positional, named = _arguments(arguments)
    table = named.pop("data") if "data" in named else positional.pop(0) if positional else ()
    inner = SqlCursor(table, [function])
    inner.take("table")
    source: Token | Select
    source = read_whole_select(inner.parenthesized()) if inner.is_at_symbol("(") else inner.name("a stream or view")
    inner.expect_end()
    time = named.pop("timecol") if "timecol" in named else positional.pop(0) if positional else ()
    if len(time) > 2 and time[0].is_word("descriptor"):
        time = time[2:-1]
    return TableReference(source, None, WindowCall(function, time, tuple(positional), named, (function,)))


def _arguments(cursor: SqlCursor) -> tuple[list[Tokens], dict[str, Tokens]]:
    positional, named = [], {}
    for argument in cursor.listed():
        if len(argument) > 2 and argument[1].is_symbol("=>"):
            named[argument[0].text.lower()] = argument[2:]
        else:
            positional.append(argument)
    return positional, named


def _join(cursor: SqlCursor) -> JoinClause | None:
    if cursor.is_at_symbol(","):
        raise SqlRefusal([cursor.advance()], "a comma joins all rows with all: write JOIN ... ON ...")
    first = cursor.peek()
    words = []
    while (token := cursor.peek()) is not None and token.is_word(*_JOIN_WORDS):
        words.append(cursor.advance())
        if token.is_word("join"):
            break
    if first is None or not words:
        return None
    said = " ".join(word.text.lower() for word in words)
    kind = {
        "join": "inner",
        "inner join": "inner",
        "left semi join": "semi",
        "semi join": "semi",
        "left anti join": "anti",
        "anti join": "anti",
    }.get(said)
    if kind is None:
        raise SqlRefusal(
            words,
            f"{said.upper()} cannot be answered: JOIN gives pairs, LEFT SEMI JOIN and LEFT ANTI JOIN the rows with and"
            " without a partner in a relation",
        )
    table = _table(cursor)
    if cursor.take("using"):
        inside = cursor.parenthesized()
        return JoinClause(kind, table, inside.rest, using=True, tokens=tuple(words))
    if not cursor.is_at("on") or cursor.is_at("on", "overload"):
        raise SqlRefusal(words, "a join needs a condition: ON a.column = b.column, or USING (column)")
    cursor.advance()
    on = cursor.until(*(word for word in _ENDS if word != "from"))
    if not on:
        raise SqlRefusal(words, "ON needs a condition")
    return JoinClause(kind, table, on, using=False, tokens=tuple(words))


def call_of(tokens: Tokens) -> WindowCall | None:
    """Read `window(...)`, `TUMBLE(...)` or `HOP(...)` in GROUP BY; None: it is something else."""
    if len(tokens) < 3 or not tokens[0].is_word("window", "session_window", *WINDOW_FUNCTIONS):
        return None
    cursor = SqlCursor(tokens)
    function = cursor.advance()
    if not cursor.is_at_symbol("("):
        return None
    positional, named = _arguments(cursor.parenthesized())
    if cursor.peek() is not None:
        return None
    is_length = bool(positional) and (positional[0][0].is_word("interval") or _is_literal(positional[0]))
    time = () if is_length or not positional else positional[0]
    return WindowCall(function, time, tuple(positional[0 if is_length else 1 :]), named, tokens)


def _is_literal(tokens: Tokens) -> bool:
    return len(tokens) == 1 and tokens[0].kind in {TokenKind.STRING, TokenKind.NUMBER}
