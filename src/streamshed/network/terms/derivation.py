"""Arithmetic over aggregates, such as `sum(a) / sum(b)`: an answer that follows from others of its window and group."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from streamshed.errors import InvalidExpressionError
from streamshed.network.sql.sql_syntax import Token, matching_pairs, read_sql
from streamshed.network.terms.aggregate import AggregateCall, parse_aggregate, problem_of_combination
from streamshed.network.words.given import is_text

_MOST_OPERATIONS = 100
_NUMBER = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)(?:bd|[dflsy])?(?![\w.])", re.IGNORECASE)
"""A number as Spark's SQL writes it, and the letters of its type."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, with all digits that it is written with."""

    number: Decimal

    @property
    def value(self) -> float:
        """The double that is nearest to it."""
        return float(self.number)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the aggregates, by its place among them."""

    number: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on two operands; `operator` is one of + - * /."""

    operator: str
    left: Formula
    right: Formula


Formula: TypeAlias = Constant | Part | Operation


@dataclass(frozen=True, slots=True)
class Derivation:
    """What is worked out of several aggregates.

    Attributes:
        formula: How.
        calls: The aggregates, each once.
        text: As it was written.
    """

    formula: Formula
    calls: tuple[AggregateCall, ...]
    text: str = field(compare=False)

    @property
    def canonical(self) -> str:
        """The text that all trivial variants share."""
        return _written(self.formula, [call.canonical for call in self.calls])

    @property
    def columns(self) -> frozenset[str]:
        """The columns that its aggregates use."""
        return frozenset[str]().union(*(call.columns for call in self.calls))

    def with_calls(self, calls: Sequence[AggregateCall]) -> Derivation:
        """Return the same of other aggregates."""
        return replace(self, calls=tuple(calls))

    def __str__(self) -> str:
        return self.text


Answered: TypeAlias = AggregateCall | Derivation
"""What is asked for under one name."""


def parse_answer(text: str) -> Answered:
    """Read an aggregate call, or arithmetic over several with + - * /, numbers and parentheses.

    Args:
        text: Such as `sum(size)`, or `100.0 * count_if(size > 1400) / count(*)`.

    Raises:
        InvalidExpressionError: As `parse_aggregate`; or something else between the aggregates.

    Example:
        >>> share = parse_answer("100 * count_if(a > 1) / COUNT(*)")
        >>> [str(call) for call in share.calls], share.canonical
        (['count_if(a > 1)', 'count(*)'], '((100.0 * count(case when a > 1 then 1 end)) / count(*))')
        >>> parse_answer("sum(a) / b")
        Traceback (most recent call last):
        streamshed.errors.InvalidExpressionError: "sum(a) / b" is more than one call: between aggregates ...
    """
    if not is_text(text):
        return parse_aggregate(text)
    return _parsed(text)


@lru_cache(maxsize=16384)
def _parsed(text: str) -> Answered:
    reader = _TermReader(text)
    formula = reader.sum()
    reader.expect_end()
    if isinstance(formula, Part):
        return reader.calls[0]
    if not reader.calls:
        raise InvalidExpressionError(problem_of_combination(text))
    return Derivation(formula, tuple(reader.calls), text.strip())


class _TermReader:
    """Reads tokens from the left: sums of products of operands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = read_sql(text).tokens
        self._pairs = dict(matching_pairs(self._tokens))
        self._next = self._operations = 0
        self.calls: list[AggregateCall] = []

    def sum(self) -> Formula:
        formula = self._product()
        while (operator := self._taken("+", "-")) is not None:
            formula = self._operation(operator, formula, self._product())
        return formula

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise InvalidExpressionError(problem_of_combination(self._text))

    def _product(self) -> Formula:
        formula = self._operand()
        while (operator := self._taken("*", "/")) is not None:
            formula = self._operation(operator, formula, self._operand())
        return formula

    def _operand(self) -> Formula:
        if self._taken("-") is not None:
            operand = self._operand()
            if isinstance(operand, Constant):
                return Constant(operand.number.copy_negate() if operand.number else operand.number)
            return self._operation("-", Constant(Decimal(0)), operand)
        if self._taken("(") is not None:
            inner = self.sum()
            if self._taken(")") is None:
                raise InvalidExpressionError(problem_of_combination(self._text))
            return inner
        number = self._number()
        return self._part() if number is None else Constant(number)

    def _number(self) -> Decimal | None:
        token = self._token()
        number_match = None if token is None else _NUMBER.match(self._text, token.start)
        if number_match is None:
            return None
        while (token := self._token()) is not None and token.start < number_match.end():
            self._next += 1
        number = float(number_match[1])
        if math.isinf(number):
            raise InvalidExpressionError(f'"{self._text[:80]}": {number_match[0][:20]} is too large a number')
        return Decimal(_digits(Decimal(number_match[1]))) if number else Decimal(0)

    def _operation(self, operator: str, left: Formula, right: Formula) -> Operation:
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise InvalidExpressionError(f'"{self._text[:80]}..." has more than {_MOST_OPERATIONS} operations')
        return Operation(operator, left, right)

    def _part(self) -> Formula:
        """A call, and what filters its rows."""
        first, opening = self._next, self._next + 1
        if opening not in self._pairs:
            raise InvalidExpressionError(problem_of_combination(self._text))
        last = self._pairs[opening]
        behind = self._tokens[last + 1 : last + 2]
        if behind and behind[0].is_word("filter") and last + 2 in self._pairs:
            last = self._pairs[last + 2]
        self._next = last + 1
        call = parse_aggregate(self._text[self._tokens[first].start : self._tokens[last].end])
        if call not in self.calls:
            self.calls.append(call)
        return Part(self.calls.index(call))

    def _token(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _taken(self, *symbols: str) -> str | None:
        token = self._token()
        if token is None or not token.is_symbol(*symbols):
            return None
        self._next += 1
        return token.text


def _written(formula: Formula, calls: Sequence[str]) -> str:
    match formula:
        case Constant(number):
            nearest = repr(float(number))
            return nearest if Decimal(nearest) == number else _digits(number)
        case Part(number):
            return calls[number]
        case Operation(operator, left, right):
            return f"({_written(left, calls)} {operator} {_written(right, calls)})"


def _digits(number: Decimal) -> str:
    """Write a number without an exponent, and without zeros at the end of a fraction.

    >>> _digits(Decimal("1.50")), _digits(Decimal("1e3")), _digits(Decimal("12345678901234567890.0"))
    ('1.5', '1000', '12345678901234567890')
    """
    digits = format(number, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
