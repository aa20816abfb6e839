"""Arithmetic over exact answers, with all their digits: of integers and decimals no digit is lost on the way."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.derive.derived import Bounded, derived
from streamshed.answering.estimate.quantile import MOST_OF_DOUBLES
from streamshed.answering.table.output import Shape
from streamshed.answering.table.value_kind import Carriage, Notation
from streamshed.answering.table.window_partials import Doubles, Truths
from streamshed.answering.table.written import doubles_written
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.derivation import Constant, Formula, Operation, Part

_COUNTS = frozenset({AggregateKind.COUNT, AggregateKind.COUNT_DISTINCT})
_OF_VALUES = frozenset({AggregateKind.SUM, AggregateKind.MIN, AggregateKind.MAX})
_EVERY_DIGIT = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact]
)
_OF_DECIMALS: Mapping[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EVERY_DIGIT.add,
    "-": _EVERY_DIGIT.subtract,
    "*": _EVERY_DIGIT.multiply,
}
_OF_DOUBLES: Mapping[str, Callable[[Doubles, Doubles], Doubles]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}
_OF_FRACTIONS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


@dataclass(frozen=True)
class ExactParts:
    """Parts of an answer, for the rows where they are exact.

    Attributes:
        bounded: Part by part, values and bounds.
        texts: Part by part, values with all their digits; meaningful where all parts are exact.
        is_plain: Of which parts the texts are integers or decimals, with no digit rounded.
    """

    bounded: Sequence[Bounded]
    texts: Sequence[pa.Array]
    is_plain: Sequence[bool]


@dataclass(frozen=True)
class WorkedOut:
    """What follows from parts.

    Attributes:
        bounded: Values and bounds.
        texts: Where all parts are exact, the values with all their digits.
    """

    bounded: Bounded
    texts: pa.Array


def is_plain(shape: Shape) -> bool:
    """Whether exact texts of an aggregate are integers or decimals, with no digit rounded."""
    if shape.function in _COUNTS:
        return True
    value = shape.value
    return (
        shape.function in _OF_VALUES
        and value is not None
        and value.notation is Notation.NUMBER
        and value.carriage in {Carriage.LONG, Carriage.DECIMAL}
    )


def with_every_digit(formula: Formula, parts: ExactParts, exact: Truths) -> WorkedOut:
    """Work arithmetic out as `derived` does; where all parts are exact, of integers and decimals with all digits.

    Sums, differences and products of integers and decimals are integers and decimals. What is divided is rounded once,
    at the end. What has a part of doubles is computed in doubles.

    Args:
        formula: What to work out.
        parts: Its parts.
        exact: Where all parts are exact.

    Example:
        >>> from streamshed.answering.derive.derived import exactly
        >>> bounded = exactly(pa.array([2.0**53]))
        >>> texts = pa.array(["9007199254740993"]), pa.array(["9007199254740992"])
        >>> parts = ExactParts([bounded, bounded], texts, [True, True])
        >>> found = with_every_digit(Operation("-", Part(0), Part(1)), parts, np.array([True]))
        >>> found.bounded.values.tolist(), found.texts.to_pylist()
        ([1.0], ['1'])
    """
    rounded = derived(formula, parts.bounded)
    is_finite = np.logical_and.reduce([np.isfinite(part.values) & ~part.is_null for part in parts.bounded])
    if _is_decimal(formula, parts.is_plain):
        return _in_decimals(formula, parts, rounded, exact & is_finite)
    is_large = np.logical_or.reduce([np.abs(part.values) >= MOST_OF_DOUBLES for part in parts.bounded])
    bounded = _in_fractions(formula, parts, rounded, exact & is_finite & (is_large | _in_doubles(formula, parts).lost))
    return WorkedOut(bounded, doubles_written(pa.array(bounded.values, mask=bounded.is_null)))


def _is_decimal(formula: Formula, plain_parts: Sequence[bool]) -> bool:
    match formula:
        case Constant():
            return True
        case Part(number):
            return plain_parts[number]
        case Operation(symbol, left, right):
            return symbol in _OF_DECIMALS and _is_decimal(left, plain_parts) and _is_decimal(right, plain_parts)


def _in_decimals(formula: Formula, parts: ExactParts, rounded: Bounded, where: Truths) -> WorkedOut:
    values = rounded.values.copy()
    written = doubles_written(pa.array(values, mask=rounded.is_null)).to_pylist()
    for row in np.flatnonzero(where).tolist():
        number = _decimal(formula, [text[row].as_py() for text in parts.texts])
        number = number or number.copy_abs()
        values[row], written[row] = float(number), format(number, "f")
    return WorkedOut(replace(rounded, values=values), pa.array(written, pa.string()))


def _decimal(formula: Formula, texts: Sequence[str]) -> Decimal:
    match formula:
        case Constant(number):
            return number
        case Part(which):
            return Decimal(texts[which])
        case Operation(symbol, left, right):
            return _OF_DECIMALS[symbol](_decimal(left, texts), _decimal(right, texts))


@dataclass(frozen=True)
class _Computed:
    """What doubles make of a formula.

    Attributes:
        values: The results.
        is_whole: Where the result is an integer that doubles hold; None: doubles are what is asked for.
        lost: Where digits of an integer or a decimal may have been lost on the way.
    """

    values: Doubles
    is_whole: Truths | None
    lost: Truths


def _in_doubles(formula: Formula, parts: ExactParts) -> _Computed:
    nowhere = np.zeros(len(parts.bounded[0].values), np.bool_)
    match formula:
        case Constant(number):
            is_whole = formula.value == number and _are_whole(np.array([formula.value]))[0]
            return _Computed(np.full(len(nowhere), formula.value), nowhere | is_whole, nowhere)
        case Part(which):
            values, texts = parts.bounded[which].values, parts.texts[which]
            if not parts.is_plain[which]:
                return _Computed(values, None, nowhere)
            has_point = pc.fill_null(pc.match_substring(texts, "."), True).to_numpy(zero_copy_only=False)
            return _Computed(values, _are_whole(values) & ~has_point, nowhere)
        case Operation(symbol, left, right):
            of_left, of_right = _in_doubles(left, parts), _in_doubles(right, parts)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                values = _OF_DOUBLES[symbol](of_left.values, of_right.values)
            lost = of_left.lost | of_right.lost
            if of_left.is_whole is None or of_right.is_whole is None:
                return _Computed(values, None, lost)
            is_whole = of_left.is_whole & of_right.is_whole
            if symbol == "/":
                return _Computed(values, None, lost | ~is_whole)
            is_whole &= _are_whole(values)
            return _Computed(values, is_whole, lost | ~is_whole)


def _are_whole(values: Doubles) -> Truths:
    return np.asarray((np.abs(values) < MOST_OF_DOUBLES) & (np.floor(values) == values), np.bool_)


def _in_fractions(formula: Formula, parts: ExactParts, rounded: Bounded, where: Truths) -> Bounded:
    values, is_null = rounded.values.copy(), rounded.is_null.copy()
    for row in np.flatnonzero(where).tolist():
        numbers = [
            _fraction_of(text[row].as_py(), part.values[row])
            for text, part in zip(parts.texts, parts.bounded, strict=True)
        ]
        fraction = _fraction(formula, numbers)
        is_null[row] = fraction is None
        values[row] = np.nan if fraction is None else _nearest(fraction)
    return replace(rounded, values=values, is_null=is_null)


def _fraction_of(text: str, value: float) -> Fraction:
    """What a text says; one with an exponent is a double's, in the fewest digits that determine it."""
    return Fraction(value) if "e" in text.lower() else Fraction(text)


def _fraction(formula: Formula, parts: Sequence[Fraction]) -> Fraction | None:
    match formula:
        case Constant(number):
            return Fraction(number)
        case Part(which):
            return parts[which]
        case Operation(symbol, left, right):
            of_left, of_right = _fraction(left, parts), _fraction(right, parts)
            if of_left is None or of_right is None or (symbol == "/" and of_right == 0):
                return None
            return _OF_FRACTIONS[symbol](of_left, of_right)


def _nearest(fraction: Fraction) -> float:
    try:
        return float(fraction)
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf
