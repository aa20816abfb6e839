"""Aggregate calls such as `sum(size)`: which function over which expression."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from streamshed.errors import InvalidExpressionError, near_miss
from streamshed.network.expression import Expression, parse_expression
from streamshed.network.function_names import AGGREGATE_FUNCTIONS
from streamshed.network.given import is_text
from streamshed.network.sql_meaning import aggregates_called
from streamshed.network.sql_syntax import Token, TokenKind, matching_pairs, read_sql


class AggregateKind(StrEnum):
    """The aggregate functions, by their names in Spark's SQL; VARIANCE and STDDEV are those of a sample."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    VARIANCE = "variance"
    VAR_POP = "var_pop"
    STDDEV = "stddev"
    STDDEV_POP = "stddev_pop"


_SYNONYMS = {"mean": "avg", "var_samp": "variance", "stddev_samp": "stddev", "std": "stddev"}
_KINDS = {
    **{kind.value: kind for kind in AggregateKind},
    **{name: AggregateKind(v) for name, v in _SYNONYMS.items()},
}


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate over the rows of a window and group.

    Attributes:
        kind: The function.
        argument: What it aggregates; nulls do not count. None: COUNT of all rows.
    """

    kind: AggregateKind
    argument: Expression | None

    def __post_init__(self) -> None:
        if self.argument is None and self.kind is not AggregateKind.COUNT:
            raise InvalidExpressionError(f"{self.kind}(*) has no meaning: only count(*) takes whole rows")

    @property
    def canonical(self) -> str:
        """The text that all trivial variants of the call share."""
        return f"{self.kind}({'*' if self.argument is None else self.argument.canonical})"

    @property
    def columns(self) -> frozenset[str]:
        """The columns it uses."""
        return frozenset() if self.argument is None else self.argument.columns

    def __str__(self) -> str:
        return f"{self.kind}({'*' if self.argument is None else self.argument})"


def parse_aggregate(text: str) -> AggregateCall:
    """Read one aggregate call.

    Args:
        text: A call such as `sum(size)`, `count(*)` or `avg(size / 1024)`; `count(1)` is `count(*)`.

    Raises:
        InvalidExpressionError: An unknown function, DISTINCT, several arguments, or anything around the call,
            such as FILTER and OVER.

    Example:
        >>> str(parse_aggregate("SUM( size )")), str(parse_aggregate("count(1)"))
        ('sum(size)', 'count(*)')
        >>> parse_aggregate("smu(size)")
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: unknown aggregate "smu" in "smu(size)" (did you mean "sum"?)
    """
    if not is_text(text):
        raise InvalidExpressionError(f'an aggregate is text such as "sum(size)", got {text!r}')
    return _parsed(text)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> AggregateCall:
    tokens = read_sql(text).tokens
    if not _is_one_call(tokens):
        raise InvalidExpressionError(_problem_of_combination(text))
    name = tokens[0].text.strip("`").lower()
    kind = _KINDS.get(name)
    if kind is None:
        raise InvalidExpressionError(_problem_of_function(name, text))
    inside = tokens[2:-1]
    if len(inside) > 1 and inside[0].is_word("distinct"):
        raise InvalidExpressionError(f'"{text}": DISTINCT is not supported, a sample does not tell the distinct values')
    if _has_several_arguments(inside):
        raise InvalidExpressionError(f'"{text}" has several arguments: {kind} takes one')
    if not inside:
        raise InvalidExpressionError(f'"{text}" has no argument: ' + _suggestion_without_argument(kind))
    if inside[0].is_symbol("*") or (kind is AggregateKind.COUNT and _is_constant(inside)):
        return AggregateCall(kind, None)
    return AggregateCall(kind, parse_expression(text[inside[0].start : inside[-1].end]))


def _is_one_call(tokens: tuple[Token, ...]) -> bool:
    named = tokens[0].kind in {TokenKind.WORD, TokenKind.QUOTED}
    return named and len(tokens) > 2 and (1, len(tokens) - 1) in set(matching_pairs(tokens))


def _problem_of_combination(text: str) -> str:
    calls = aggregates_called(read_sql(text))
    if len(calls) > 1:
        return f'"{text}" combines aggregates: name each one and combine the answers'
    if not calls:
        return f'"{text}" is no aggregate: write a call such as "sum({text})", or group by it'
    return (
        f'"{text}" is more than one call: compute inside {calls[0]}(...), filter before the window,'
        " or change the answers afterwards"
    )


def _problem_of_function(name: str, text: str) -> str:
    if name in AGGREGATE_FUNCTIONS:
        return f'the aggregate {name} in "{text}" is not supported, known are: {", ".join(AggregateKind)}'
    return f'unknown aggregate "{name}" in "{text}"{near_miss(name, _KINDS)}'


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
