"""Aggregate calls such as `sum(size)`: which function over which expression."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from streamshed.errors import InvalidExpressionError, InvalidNetworkError, Problem, closest_name
from streamshed.network.sql.expression import Expression, parse_expression, quoted
from streamshed.network.sql.sql_meaning import aggregates_called
from streamshed.network.sql.sql_syntax import Token, TokenKind, matching_pairs, read_sql, sql_number
from streamshed.network.terms.distinct_values import DistinctValues
from streamshed.network.terms.function import FunctionReference, function_reference
from streamshed.network.words.columns import normal_type
from streamshed.network.words.function_names import AGGREGATE_FUNCTIONS
from streamshed.network.words.given import given_names, is_text
from streamshed.network.words.words_of_spark import instead_of_aggregate


class AggregateKind(StrEnum):
    """The aggregate functions, by their names in Spark's SQL; VARIANCE and STDDEV are those of a sample.

    QUANTILE is the smallest value that a share of all values does not exceed, from a KLL sketch; DISTINCT counts
    distinct values, by a HyperLogLog sketch, COUNT_DISTINCT exactly. USER is an aggregate of the user's own, see
    `user_aggregate`; so is COUNT_DISTINCT, of a class that comes with streamshed.
    """

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    VARIANCE = "variance"
    VAR_POP = "var_pop"
    STDDEV = "stddev"
    STDDEV_POP = "stddev_pop"
    QUANTILE = "percentile_approx"
    DISTINCT = "approx_count_distinct"
    COUNT_DISTINCT = "count_distinct"
    USER = "user"


ESTIMATED = frozenset({AggregateKind.QUANTILE, AggregateKind.DISTINCT})
"""Those whose answers are estimates even when nothing is shed."""

_MEDIAN = "median"
_SYNONYMS = {
    "mean": "avg",
    "var_samp": "variance",
    "stddev_samp": "stddev",
    "std": "stddev",
    "approx_percentile": "percentile_approx",
    _MEDIAN: "percentile_approx",
}
_WRITTEN_AS: Mapping[str, tuple[str, str]] = {
    "count_if": ("count", "CASE WHEN {} THEN 1 END"),
    **dict.fromkeys(("bool_or", "any", "some"), ("max", "({}) OR false")),
    **dict.fromkeys(("bool_and", "every"), ("min", "({}) AND true")),
    "any_value": ("min", "{}"),
}
"""Functions that are others of a changed argument; what is no Boolean, Spark refuses beside OR and AND."""

_OF_CLASSES = frozenset({AggregateKind.USER, AggregateKind.COUNT_DISTINCT})
_NAMED = tuple(kind for kind in AggregateKind if kind not in _OF_CLASSES)
_KINDS = {
    **{kind.value: kind for kind in _NAMED},
    **{name: AggregateKind(v) for name, v in _SYNONYMS.items()},
    **{name: AggregateKind(v) for name, (v, _) in _WRITTEN_AS.items()},
}

_EXTREMES: Mapping[float | None, AggregateKind] = {0.0: AggregateKind.MIN, 1.0: AggregateKind.MAX}
"""What quantiles of these shares are: no estimates."""


@dataclass(frozen=True, slots=True)
class UserFunction:
    """An aggregate F(init, incr, final) of the user's own ([T06] §2).

    Attributes:
        function: A class, or what returns an object, with the methods `init()`, `incr(state, *values)`, `final(state)`
            and perhaps `merge(left, right)`.
        columns: Whose values `incr` is given, in order.
        returns: Type of what `final` returns.
        where: Which rows are handed over; None: all.
    """

    function: FunctionReference
    columns: tuple[str, ...]
    returns: str
    where: Expression | None = None


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate over the rows of a window and group.

    Attributes:
        kind: The function.
        argument: What it aggregates; nulls do not count. None: COUNT of all rows.
        share: Of a quantile, the share of all values that does not exceed it, in (0, 1); else None.
        user: Of an aggregate of the user's own, or an exact distinct count, what it is; else None.
        written: How the user wrote it, where that is not the function and its argument.
    """

    kind: AggregateKind
    argument: Expression | None
    share: float | None = None
    user: UserFunction | None = None
    written: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if (self.user is not None) is not (self.kind in _OF_CLASSES):
            raise InvalidExpressionError(f"{self.kind}: an aggregate of the user's own is made by user_aggregate(...)")
        if (self.share is not None) is not (self.kind is AggregateKind.QUANTILE):
            raise InvalidExpressionError(
                Problem(f"{self.kind}: a share is for quantiles, and they need one", got=str(self.share))
            )
        if self.share is not None and not 0 < self.share < 1:
            raise InvalidExpressionError(
                Problem(f"{self.kind} takes a share between 0 and 1, such as 0.95", got=f"{self.share:g}")
            )
        if self.argument is None and self.kind is not AggregateKind.COUNT:
            raise InvalidExpressionError(f"{self.kind}(*) has no meaning: only count(*) takes whole rows")

    @property
    def canonical(self) -> str:
        """The text that all trivial variants of the call share."""
        if self.user is not None and self.argument is not None:
            return f"{self.user.function.definition}({self.argument.canonical}) returns {self.user.returns}"
        return f"{self.kind}({'*' if self.argument is None else self.argument.canonical}{self._share})"

    @property
    def columns(self) -> frozenset[str]:
        """The columns it uses."""
        return frozenset() if self.argument is None else self.argument.columns

    def __str__(self) -> str:
        if self.written is not None:
            return self.written
        if self.user is not None:
            return f"{self.user.function.name}({', '.join(self.user.columns)})"
        return f"{self.kind}({'*' if self.argument is None else self.argument}{self._share})"

    def only_where(self, predicate: Expression) -> "AggregateCall":
        """Return the same aggregate over the rows alone for which a predicate is true: it is of null for all others.

        >>> str(parse_aggregate("sum(size)").only_where(parse_expression("proto = 6")).argument)
        'CASE WHEN proto = 6 THEN size END'
        """
        value = "1" if self.argument is None else self.argument.text
        guarded = parse_expression(f"CASE WHEN {predicate} THEN {value} END")
        return replace(self, argument=guarded, written=f"{self} FILTER (WHERE {predicate})")

    @property
    def carried(self) -> Expression | None:
        """What of a row the aggregate is computed from: the argument, or for distinct counts a hash of it."""
        if self.argument is None or self.kind is not AggregateKind.DISTINCT:
            return self.argument
        return parse_expression(f"CASE WHEN ({self.argument}) IS NOT NULL THEN xxhash64({self.argument}) END")

    @property
    def _share(self) -> str:
        return "" if self.share is None else f", {self.share!r}"


def hashed_argument(carried: str) -> str:
    """Return what is hashed in the text of `AggregateCall.carried` of a distinct count, whose names may be others.

    >>> hashed_argument(parse_aggregate("approx_count_distinct(lower(host))").carried.text)
    'lower(host)'
    """
    tokens = read_sql(carried).tokens
    first, last = min(matching_pairs(tokens))
    return carried[tokens[first].end : tokens[last].start]


def user_aggregate(
    function: Callable[..., Any] | str, *, columns: Sequence[str], returns: str, where: str | None = None
) -> AggregateCall:
    """Aggregate by a class of one's own, F(init, incr, final).

    `incr` is given the rows of a window and group in order of event time, or of the numbers that windows lie along;
    those of one time in an order that is the same whenever they are aggregated again. So an answer may depend on that
    order, as the last price does. One object serves many windows: what belongs to one is in its state. Queries with
    such aggregates are `exact` or in mode `subset`, as nothing tells what a sample would make of them.

    With a method `merge(left, right)`, the state of one's rows followed by the other's, of which all are later, each
    slice of a stream is given to `incr` once, however many windows overlap in it, and windows are put together from the
    states of slices: pickled, so of plain values, or of classes at the top of a module. Answers are what they are
    without it. Where rows come between those of a slice when it is folded already, all of them are handed to `incr` in
    order: they are kept, compressed, until the last of their windows has closed, unless the class says
    `order_matters = False`. Windows over answers of other aggregates, windows of so many rows, and windows that do not
    overlap are given their rows one by one.

    Args:
        function: A class, or what returns an object, with the methods `init()` which returns a state,
            `incr(state, *values)` which returns the state after one row, and `final(state)` which returns the answer
            or None, and perhaps `merge(left, right)`; or its name, "module:class".
        columns: Whose values `incr` is given, in order, as int, float, Decimal, bool, str, bytes, date or datetime (in
            UTC); None for null.
        returns: The type of the answer, such as "double".
        where: An SQL predicate: `incr` is given the rows for which it is true. None: all.

    Raises:
        InvalidNetworkError: Listing what is wrong.

    Example:
        How far a price has fallen below the highest before it, the same whether all rows are handed over or two states
        are merged:

        >>> import functools
        >>> class Fall:
        ...     def init(self):
        ...         return {"highest": float("-inf"), "lowest": float("inf"), "fall": 0.0}
        ...
        ...     def incr(self, state, price):
        ...         return self.merge(state, {"highest": price, "lowest": price, "fall": 0.0})
        ...
        ...     def merge(self, left, right):
        ...         fall = max(left["fall"], right["fall"], left["highest"] - right["lowest"])
        ...         highest, lowest = max(left["highest"], right["highest"]), min(left["lowest"], right["lowest"])
        ...         return {"highest": highest, "lowest": lowest, "fall": fall}
        ...
        ...     def final(self, state):
        ...         return state["fall"]
        >>> made = Fall()
        >>> def of(prices):
        ...     return functools.reduce(made.incr, prices, made.init())
        >>> made.final(of([5, 9, 2, 7, 1])), made.final(made.merge(of([5, 9]), of([2, 7, 1])))
        (8, 8)
        >>> print(user_aggregate("stocks:Fall", columns=["price"], returns="double"))
        stocks:Fall(price)
    """
    names = given_names("columns", columns)
    if not names:
        raise InvalidNetworkError("an aggregate of your own needs at least one column")
    fields = ", ".join(f"'c{number}', {quoted(name)}" for number, name in enumerate(names))
    predicate = None if where is None else parse_expression(where)
    user = UserFunction(function_reference(function), tuple(names), normal_type(returns), predicate)
    call = AggregateCall(AggregateKind.USER, parse_expression(f"named_struct({fields})"), None, user)
    return call if predicate is None else call.only_where(predicate)


def parse_aggregate(text: str) -> AggregateCall:
    """Read one aggregate call.

    Args:
        text: A call such as `sum(size)`, `count(*)` or `avg(size / 1024)`, perhaps followed by `FILTER (WHERE ...)`.
            `count(1)` is `count(*)`, `median(size)` is `percentile_approx(size, 0.5)`, of which the shares 0 and 1 are
            `min` and `max`; `count_if(p)` is `count(*) FILTER (WHERE p)`, `bool_or` and `bool_and` are the largest and
            the least of predicates, and `any_value` is `min`.

    Raises:
        InvalidExpressionError: An unknown function, DISTINCT of other functions than count, several arguments, or
            anything else around the call, such as OVER.

    Example:
        >>> str(parse_aggregate("SUM( size )")), str(parse_aggregate("count(1)"))
        ('sum(size)', 'count(*)')
        >>> parse_aggregate("count_if(size > 9)") == parse_aggregate("count(*) FILTER (WHERE size > 9)")
        True
        >>> parse_aggregate("smu(size)")
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: unknown aggregate "smu" (did you mean "sum"?) in "smu(size)"
    """
    if not is_text(text):
        raise InvalidExpressionError(Problem('an aggregate is text such as "sum(size)"', got=repr(text)))
    return _parsed(text)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> AggregateCall:
    tokens, predicate = _without_filter(read_sql(text).tokens, text)
    call = _call(tokens, text)
    return call if predicate is None else call.only_where(predicate)


def _without_filter(tokens: tuple[Token, ...], text: str) -> tuple[tuple[Token, ...], Expression | None]:
    """Take FILTER (WHERE ...) from behind a call."""
    for opening, closing in matching_pairs(tokens):
        is_last = closing == len(tokens) - 1 and opening > 2
        if is_last and tokens[opening - 1].is_word("filter") and tokens[opening + 1].is_word("where"):
            predicate = text[tokens[opening + 1].end : tokens[closing].start]
            return tokens[: opening - 1], parse_expression(predicate)
    return tokens, None


def _call(tokens: tuple[Token, ...], text: str) -> AggregateCall:
    if not _is_one_call(tokens):
        raise InvalidExpressionError(problem_of_combination(text))
    name = tokens[0].text.strip("`").lower()
    kind = _KINDS.get(name)
    if kind is None:
        raise InvalidExpressionError(_problem_of_function(name, text))
    inside = tokens[2:-1]
    if len(inside) > 1 and inside[0].is_word("distinct"):
        return _distinct_count(name, inside[1:], text)
    share = None
    if kind is AggregateKind.QUANTILE:
        inside, share = (inside, 0.5) if name == _MEDIAN else _with_share(inside, name, text)
    _check_argument(kind, name, inside, text)
    argument = text[inside[0].start : inside[-1].end]
    if name in _WRITTEN_AS:
        changed = _WRITTEN_AS[name][1].format(parse_expression(argument))
        return AggregateCall(kind, parse_expression(changed), written=f"{name}({argument})")
    if share in _EXTREMES:
        return AggregateCall(_EXTREMES[share], parse_expression(argument), written=f"{name}({argument}, {share:g})")
    if inside[0].is_symbol("*") or (kind is AggregateKind.COUNT and _is_constant(inside)):
        return AggregateCall(kind, None)
    return AggregateCall(kind, parse_expression(argument), share)


def _distinct_count(name: str, inside: tuple[Token, ...], text: str) -> AggregateCall:
    if name != AggregateKind.COUNT:
        raise InvalidExpressionError(f'"{text}": DISTINCT is for count(DISTINCT ...), not for {name}')
    _check_argument(AggregateKind.COUNT_DISTINCT, "count(DISTINCT ...)", inside, text)
    value = parse_expression(text[inside[0].start : inside[-1].end])
    user = UserFunction(function_reference(DistinctValues), (str(value),), "bigint")
    present = parse_expression(f"CASE WHEN ({value}) IS NOT NULL THEN named_struct('c0', {value}) END")
    return AggregateCall(AggregateKind.COUNT_DISTINCT, present, None, user, f"count(DISTINCT {value})")


def _check_argument(kind: AggregateKind, name: str, inside: tuple[Token, ...], text: str) -> None:
    if _has_several_arguments(inside):
        most = "a value and a share" if name != _MEDIAN and kind is AggregateKind.QUANTILE else "one"
        raise InvalidExpressionError(f'"{text}" has several arguments: {name} takes {most}')
    if not inside:
        raise InvalidExpressionError(f'"{text}" has no argument: ' + _suggestion_without_argument(kind))
    if inside[0].is_symbol("*") and name != AggregateKind.COUNT:
        raise InvalidExpressionError(f"{name}(*) has no meaning: only count(*) takes whole rows")


def _with_share(inside: tuple[Token, ...], name: str, text: str) -> tuple[tuple[Token, ...], float]:
    """Take the share, a number behind the last comma, from the arguments of a quantile."""
    comma = max((index for index, token in enumerate(inside) if token.is_symbol(",")), default=0)
    behind = inside[comma + 1 :] if comma else ()
    share = sql_number(text[behind[0].start : behind[-1].end]) if behind else None
    if share is None:
        raise InvalidExpressionError(
            f'"{text}": {name} takes a value and a share between 0 and 1, a number, such as {name}(size, 0.95)'
        )
    return inside[:comma], share


def _is_one_call(tokens: tuple[Token, ...]) -> bool:
    named = tokens[0].kind in {TokenKind.WORD, TokenKind.QUOTED}
    return named and len(tokens) > 2 and (1, len(tokens) - 1) in set(matching_pairs(tokens))


def problem_of_combination(text: str) -> str:
    """Phrase what is wrong with what is no call, nor arithmetic over calls."""
    calls = aggregates_called(read_sql(text))
    if not calls:
        return f'"{text}" is no aggregate: write a call such as "sum({text})", or group by it'
    return (
        f'"{text}" is more than one call: between aggregates there can be + - * / and numbers; compute all else inside'
        f" {calls[0]}(...), or change the answers afterwards"
    )


def _problem_of_function(name: str, text: str) -> Problem:
    if name in AGGREGATE_FUNCTIONS:
        known_names = ", ".join((*_NAMED, *_WRITTEN_AS))
        instead = instead_of_aggregate(name)
        return Problem(f'the aggregate {name} in "{text}" is not supported: {instead}; known are: {known_names}')
    return Problem(f'unknown aggregate "{name}"', source=text, near_miss=closest_name(name, _KINDS), name=name)


def _has_several_arguments(inside: tuple[Token, ...]) -> bool:
    depth = 0
    for token in inside:
        depth += token.is_symbol("(", "[") - token.is_symbol(")", "]")
        if depth == 0 and token.is_symbol(","):
            return True
    return False


def _suggestion_without_argument(kind: AggregateKind) -> str:
    return "write count(*) to count rows" if kind is AggregateKind.COUNT else f"what should {kind} aggregate?"


def _is_constant(inside: tuple[Token, ...]) -> bool:
    return len(inside) == 1 and (
        inside[0].kind in {TokenKind.NUMBER, TokenKind.STRING} or inside[0].is_word("true", "false")
    )
