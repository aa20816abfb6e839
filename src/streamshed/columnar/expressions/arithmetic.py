"""Arithmetic of whole and floating numbers. Overflow is unsure under ANSI and wraps else; so are zero divisors."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import (
    BIGINT,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGERS,
    NUMBERS,
    Builder,
    expect,
    in_common,
    type_name,
    widened,
)
from streamshed.columnar.expressions.column_node import ColumnNode, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.values import (
    Datum,
    Mask,
    Numbers,
    SureValues,
    array_of,
    either,
    noted,
    numbers,
    valid,
)
from streamshed.columnar.untranslatable import Untranslatable

_LARGEST_OF_DOUBLE = 2.0**63


def _numeric(operands: Sequence[ColumnNode], dialect: Dialect, what: str) -> tuple[pa.DataType, list[ColumnNode]]:
    kind, nodes = in_common(operands, dialect)
    if kind not in NUMBERS:
        raise Untranslatable(f"{what} of {type_name(kind)} is evaluated by Spark")
    return kind, nodes


def _sum_overflows(first: Numbers, second: Numbers) -> Mask:
    total = first + second
    return np.asarray(((first ^ total) & (second ^ total)) < 0)


def _difference_overflows(first: Numbers, second: Numbers) -> Mask:
    difference = first - second
    return np.asarray(((first ^ second) & (first ^ difference)) < 0)


def _product_overflows(first: Numbers, second: Numbers) -> Mask:
    """Where dividing a wrapped product does not lead back."""
    lowest = np.iinfo(first.dtype).min
    divisor = np.where((second == 0) | (second == -1), np.ones_like(second), second)
    quotient = first * second // divisor
    return np.asarray(np.where(second == -1, first == lowest, (second != 0) & (quotient != first)))


def _is_lowest(value: Numbers) -> Mask:
    """The lowest whole number has no opposite."""
    return np.asarray(value == np.iinfo(value.dtype).min)


def _arithmetic(plain: Callable[..., Datum], checked: Callable[..., Datum], overflows: Callable[..., Mask]) -> Builder:
    """Make nodes of an operator.

    Args:
        plain: Computes it; whole numbers wrap.
        checked: Computes it, and fails where whole numbers overflow.
        overflows: Where they do, of the numbers.
    """

    def kernel(*operands: Datum) -> SureValues:
        try:
            return SureValues(checked(*operands))
        except pa.ArrowInvalid:
            with np.errstate(over="ignore"):
                overflow = overflows(*(numbers(datum) for datum in operands))
            return SureValues(plain(*operands), noted(overflow & valid(*operands)))

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        kind, nodes = _numeric(operands, dialect, "arithmetic")
        wraps = kind in FRACTIONS or not dialect.ansi
        return strict(kind, (lambda *data: SureValues(plain(*data))) if wraps else kernel, *nodes)

    return build


addition = _arithmetic(pc.add, pc.add_checked, _sum_overflows)
subtraction = _arithmetic(pc.subtract, pc.subtract_checked, _difference_overflows)
multiplication = _arithmetic(pc.multiply, pc.multiply_checked, _product_overflows)
opposite = _arithmetic(pc.negate, pc.negate_checked, _is_lowest)
absolute = _arithmetic(pc.abs, pc.abs_checked, _is_lowest)


def _by_divisor(dialect: Dialect, divide: Callable[[Datum, Datum], Datum]) -> Callable[[Datum, Datum], SureValues]:
    """A kernel of a division: by zero it is null, or unsure under ANSI."""

    def kernel(dividend: Datum, divisor: Datum) -> SureValues:
        zeros = numbers(divisor) == 0
        if not zeros.any():
            return SureValues(divide(dividend, divisor))
        zero_rows = np.broadcast_to(zeros, len(dividend) if isinstance(dividend, pa.Array) else len(divisor))
        safe = pa.scalar(1, divisor.type)
        quotient = divide(
            dividend, safe if isinstance(divisor, pa.Scalar) else pc.if_else(pa.array(zeros), safe, divisor)
        )
        unsure = noted(zero_rows & valid(dividend, divisor)) if dialect.ansi else None
        return SureValues(pc.if_else(pa.array(zero_rows), pa.scalar(None, quotient.type), quotient), unsure)

    return kernel


def division(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`/`: always a double."""
    _numeric(operands, dialect, "division")
    nodes = [widened(operand, DOUBLE) for operand in operands]
    return strict(DOUBLE, _by_divisor(dialect, pc.divide), *nodes)


def whole_division(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`div`: a bigint, cut off toward zero."""
    kind, _ = _numeric(operands, dialect, "div")
    if kind not in INTEGERS:
        raise Untranslatable("div of floating numbers is evaluated by Spark")
    by_divisor = _by_divisor(dialect, pc.divide)

    def kernel(dividend: Datum, divisor: Datum) -> SureValues:
        quotient = by_divisor(dividend, divisor)
        overflow = (numbers(dividend) == np.iinfo(np.int64).min) & (numbers(divisor) == -1)
        if not overflow.any():
            return quotient
        return SureValues(quotient.datum, either(quotient.unsure, noted(overflow & valid(dividend, divisor))))

    return strict(BIGINT, kernel, *(widened(operand, BIGINT) for operand in operands))


def remainder(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`%`: with the sign of the dividend."""
    kind, nodes = _numeric(operands, dialect, "the remainder")

    def divide(dividend: Datum, divisor: Datum) -> pa.Array:
        with np.errstate(invalid="ignore"):
            return array_of(kind, np.fmod(numbers(dividend), numbers(divisor)), dividend, divisor)

    return strict(kind, _by_divisor(dialect, divide), *nodes)


def positive_remainder(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`pmod` by numbers that are positive; by others it is unsure."""
    kind, nodes = _numeric(operands, dialect, "pmod")
    if kind not in INTEGERS:
        raise Untranslatable("pmod of floating numbers is evaluated by Spark")

    def kernel(dividend: Datum, divisor: Datum) -> SureValues:
        modulus = numbers(divisor)
        positive = np.maximum(modulus, np.ones_like(modulus))
        unsure = None if (modulus > 0).all() else (modulus <= 0) & valid(dividend, divisor)
        values = np.mod(numbers(dividend), positive)
        return SureValues(array_of(kind, values, dividend, divisor), None if unsure is None else noted(unsure))

    return strict(kind, kernel, *nodes)


def bitwise(function: pc.Function) -> Builder:
    """Make nodes of `&`, `|`, `^` and `~`."""

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        kind, nodes = in_common(operands, dialect)
        nodes = [expect(node, INTEGERS, "bits") for node in nodes]
        return strict(kind, lambda *data: SureValues(function(*data)), *nodes)

    return build


def shift(function: Callable[[Numbers, Numbers], Numbers]) -> Builder:
    """Make nodes of `<<` and `>>`: of the distance the lowest 5 bits count, 6 of a bigint."""

    def build(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        first = expect(operands[0], INTEGERS, "a shift")
        kind = BIGINT if first.type == BIGINT else INT
        distance = widened(expect(operands[1], INTEGERS[:3], "a shift by a number"), INT)

        def kernel(value: Datum, by: Datum) -> SureValues:
            places = (numbers(by) & (kind.bit_width - 1)).astype(numbers(value).dtype)
            return SureValues(array_of(kind, function(numbers(value), places), value, by))

        return strict(kind, kernel, widened(first, kind), distance)

    return build


def square_root(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`sqrt`: NaN of negative numbers."""
    _numeric(operands, dialect, "sqrt")
    return strict(DOUBLE, lambda datum: SureValues(pc.sqrt(datum)), widened(operands[0], DOUBLE))


def rounded(function: pc.Function) -> Builder:
    """Make nodes of `floor` and `ceil`: bigints."""

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        kind, _ = _numeric(operands, dialect, "floor and ceil")
        if kind in INTEGERS:
            return widened(operands[0], BIGINT)

        def kernel(datum: pa.Array) -> SureValues:
            values = numbers(function(datum))
            fits = (values >= -_LARGEST_OF_DOUBLE) & (values < _LARGEST_OF_DOUBLE)
            whole = np.where(fits, values, 0.0).astype(np.int64)
            return SureValues(array_of(BIGINT, whole, datum), noted(~fits & valid(datum)))

        return strict(BIGINT, kernel, widened(operands[0], DOUBLE))

    return build
