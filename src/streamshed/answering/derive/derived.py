"""Arithmetic over answers of one window and group, and over their bounds: what follows from parts is within them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.answering.table.window_partials import Doubles, Truths
from streamshed.network.terms.derivation import Constant, Formula, Operation, Part


@dataclass(frozen=True)
class Bounded:
    """Values between bounds.

    Attributes:
        values: Values; NaN where there is none, and where it is no number.
        lower: Lower bounds; −∞ where there is none.
        upper: Upper ones, likewise.
        is_null: Where there is no value.
    """

    values: Doubles
    lower: Doubles
    upper: Doubles
    is_null: Truths


def exactly(values: pa.Array) -> Bounded:
    """Return values that are their own bounds."""
    numbers: Doubles = values.to_numpy(zero_copy_only=False)
    return Bounded(numbers, numbers, numbers, values.is_null().to_numpy(zero_copy_only=False))


def derived(formula: Formula, parts: Sequence[Bounded]) -> Bounded:
    """Work arithmetic out, of values and of all that lies between bounds.

    With every part within its bounds, what follows from them is within its own: for +, −, · and / these are the least
    and the largest that operands within theirs can give. What is divided by 0 is null, and by what may be 0, without
    bounds.

    Args:
        formula: What to work out.
        parts: Its parts, value by value.

    Example:
        >>> def between(value, lower, upper):
        ...     return Bounded(*(np.array([number], float) for number in (value, lower, upper)), np.array([False]))
        >>> quotient = Operation("/", Part(0), Part(1))
        >>> found = derived(quotient, [between(10, 8, 12), between(4, 2, 5)])
        >>> found.values.tolist(), found.lower.tolist(), found.upper.tolist()
        ([2.5], [1.6], [6.0])
    """
    match formula:
        case Constant():
            number = np.full(len(parts[0].values), formula.value)
            return Bounded(number, number, number, np.zeros(len(number), np.bool_))
        case Part(number):
            return parts[number]
        case Operation(symbol, left, right):
            return _applied(symbol, derived(left, parts), derived(right, parts))


def _applied(symbol: str, left: Bounded, right: Bounded) -> Bounded:
    is_null = left.is_null | right.is_null
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        match symbol:
            case "+":
                values, lower, upper = left.values + right.values, left.lower + right.lower, left.upper + right.upper
            case "-":
                values, lower, upper = left.values - right.values, left.lower - right.upper, left.upper - right.lower
            case "*":
                values = left.values * right.values
                lower, upper = _corners(left, right)
            case _:
                is_null |= right.values == 0
                values = left.values / right.values
                lower, upper = _corners(left, _inverse(right))
    return Bounded(values, _without_nan(lower, -np.inf), _without_nan(upper, np.inf), is_null)


def _inverse(divisor: Bounded) -> Bounded:
    """1/x for all x between the bounds, of which none may be 0."""
    may_be_zero = (divisor.lower <= 0) & (divisor.upper >= 0)
    lower = np.where(may_be_zero, -np.inf, 1 / divisor.upper)
    upper = np.where(may_be_zero, np.inf, 1 / divisor.lower)
    return Bounded(1 / divisor.values, lower, upper, divisor.is_null)


def _corners(left: Bounded, right: Bounded) -> tuple[Doubles, Doubles]:
    """The least and the largest product of what is between bounds; of 0 and what has no bound, 0."""
    products = np.stack([np.where((x == 0) | (y == 0), 0.0, x * y) for x, y in _pairs(left, right)])
    return products.min(axis=0), products.max(axis=0)


def _pairs(left: Bounded, right: Bounded) -> Iterator[tuple[Doubles, Doubles]]:
    for x in (left.lower, left.upper):
        for y in (right.lower, right.upper):
            yield x, y


def _without_nan(bound: Doubles, otherwise: float) -> Doubles:
    """Replace NaN, as in the difference of infinities, which bounds nothing."""
    bounds: Doubles = np.where(np.isnan(bound), otherwise, bound)
    return bounds
