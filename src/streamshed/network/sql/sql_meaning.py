"""What an SQL expression means for a stream: which words name columns, and whether it is about one row."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from streamshed.network.sql.sql_syntax import Syntax, Token, TokenKind, Tree
from streamshed.network.words.function_names import (
    AGGREGATE_FUNCTIONS,
    CHANGING_FUNCTIONS,
    FUNCTIONS_OF_A_UNIT,
    GENERATOR_FUNCTIONS,
    LITERAL_FUNCTIONS,
    TIME_UNITS,
    WINDOW_FUNCTIONS,
)

_REFUSED: tuple[tuple[tuple[type[Tree], ...], str], ...] = (
    ((exp.Window,), "window functions see more than one row"),
    ((exp.Query, exp.Values), "subqueries are not rows of the stream: use a lookup or a semijoin"),
    ((exp.Star,), "* stands for several columns"),
    ((exp.Placeholder, exp.Parameter), "parameters have no value here"),
    ((exp.Distinct,), "DISTINCT belongs to aggregates"),
    (
        (exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBContains, exp.JSONBExtract),
        "Spark has no operators ->, ->> and ?",
    ),
)

_SWALLOWED = ("as", "fetch", "describe")
_EDGE = Token(TokenKind.SYMBOL, "", -1, -1)


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A place [start, end) in the source that names a column."""

    name: str
    start: int
    end: int


@lru_cache(maxsize=2048)
def column_uses(syntax: Syntax) -> tuple[ColumnUse, ...]:
    """Find every place that names a column, in order: not fields, lambda variables, time units or types.

    Example:
        >>> from streamshed.network.sql.sql_syntax import read_sql
        >>> sql = "dateadd(day, 1, a.b) > transform(xs, x -> x + day)[0]"
        >>> [use.name for use in column_uses(read_sql(sql))]
        ['a', 'xs', 'day']
    """
    uses = set()
    for column in syntax.nodes:
        if not isinstance(column, exp.Column):
            continue
        first = column.parts[0]
        if not (_is_lambda_variable(column, first.name) or _is_time_unit(column)):
            uses.add(ColumnUse(first.name, *syntax.place(first)))
    return tuple(sorted(uses, key=lambda use: use.start))


def lambda_variables(syntax: Syntax) -> frozenset[str]:
    """The names, in lower case, that lambdas of the expression bind."""
    lambdas = (node for node in syntax.nodes if isinstance(node, exp.Lambda))
    return frozenset(name for node in lambdas for name in _parameters(node))


def row_problem(syntax: Syntax) -> str | None:
    """Tell what keeps an expression from giving one value for one row; None where nothing does."""
    if (word := _misread_word(syntax)) is not None:
        return f'"{word}" could be a column or a word of SQL: backquote it if it is a column'
    for name in _functions_called(syntax):
        if (problem := _call_problem(name)) is not None:
            return problem
    for node in syntax.nodes:
        for kinds, problem in _REFUSED:
            if isinstance(node, kinds):
                return problem
        if isinstance(node, exp.Lambda) and not isinstance(node.parent, exp.Func):
            return "a lambda must be the argument of a function"
    return None


def aggregates_called(syntax: Syntax) -> tuple[str, ...]:
    """The lower-case names of the aggregate functions that an expression calls, in order."""
    return tuple(name for name in _functions_called(syntax) if name in AGGREGATE_FUNCTIONS)


def changing_functions(syntax: Syntax) -> tuple[str, ...]:
    """The lower-case names of the functions in an expression that may give another value when a row is read again.

    Example:
        >>> from streamshed.network.sql.sql_syntax import read_sql
        >>> changing_functions(read_sql("greatest(ts, current_timestamp, now()) + a.now"))
        ('current_timestamp', 'now')
    """
    columns = {use.start for use in column_uses(syntax)}
    bare = (
        token.text.lower()
        for before, token, _ in _with_neighbors(syntax.tokens)
        if token.is_word(*LITERAL_FUNCTIONS) and token.start not in columns and not before.is_symbol(".")
    )
    return tuple(sorted(CHANGING_FUNCTIONS.intersection((*bare, *_functions_called(syntax)))))


def _functions_called(syntax: Syntax) -> Iterator[str]:
    """The lower-case words before an opening parenthesis: functions, and some that are none, such as IN."""
    for before, token, after in _with_neighbors(syntax.tokens):
        if after.is_symbol("(") and token.kind is TokenKind.WORD and not before.is_symbol("."):
            is_quantifier = token.is_word("any", "some") and before.is_word("like", "ilike")
            if not is_quantifier:
                yield token.text.lower()


def _with_neighbors(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, Token, Token]]:
    around = (_EDGE, *tokens, _EDGE)
    yield from zip(around, tokens, around[2:], strict=False)


def _call_problem(name: str) -> str | None:
    if name in AGGREGATE_FUNCTIONS:
        return f"the aggregate {name}() belongs after a window, in agg(...)"
    if name in WINDOW_FUNCTIONS:
        return f"the window function {name}() sees more than one row"
    if name in GENERATOR_FUNCTIONS:
        return f"{name}() makes several rows of one"
    return None


def _misread_word(syntax: Syntax) -> str | None:
    """A word that the parser reads otherwise than Spark would: `list[0]` as an array, `f(all)` as f()."""
    columns = {use.start for use in column_uses(syntax)}
    bound = lambda_variables(syntax)
    for before, token, after in _with_neighbors(syntax.tokens):
        if token.start in columns and token.kind is TokenKind.WORD:
            is_misread = after.is_symbol("(")
        elif token.kind is not TokenKind.WORD or before.is_symbol(".") or token.text.lower() in bound:
            is_misread = False
        elif token.is_word("all"):
            is_misread = after.kind is TokenKind.SYMBOL and not after.is_symbol("(")
        else:
            is_swallowed = token.is_word(*_SWALLOWED) and after.kind is TokenKind.SYMBOL
            is_misread = after.is_symbol("[") or is_swallowed
        if is_misread:
            return token.text
    return None


def _parameters(node: exp.Lambda) -> frozenset[str]:
    return frozenset(parameter.name.lower() for parameter in node.expressions)


def _is_lambda_variable(column: exp.Column, name: str) -> bool:
    ancestor = column.find_ancestor(exp.Lambda)
    while ancestor is not None:
        if name.lower() in _parameters(ancestor):
            return True
        ancestor = ancestor.find_ancestor(exp.Lambda)
    return False


def _is_time_unit(column: exp.Column) -> bool:
    call = column.parent
    return (
        isinstance(call, exp.Anonymous)
        and call.name.lower() in FUNCTIONS_OF_A_UNIT
        and len(call.expressions) == 3
        and call.expressions[0] is column
        and len(column.parts) == 1
        and column.name.lower() in TIME_UNITS
    )
