"""Comparisons in Spark's order: NaN equals NaN and is above everything, −0.0 equals 0.0, texts compare by bytes."""

import functools
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.casts import cast
from streamshed.columnar.expressions.coercion import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Builder,
    in_common,
    is_scalar_type,
    type_name,
)
from streamshed.columnar.expressions.column_node import (
    ColumnNode,
    any_values,
    constant,
    is_null,
    shared,
    spread,
    strict,
)
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.logic import both
from streamshed.columnar.expressions.values import Datum, Mask, SureValues, array_of, numbers
from streamshed.columnar.untranslatable import Untranslatable

_ARROW = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FEW = 8
_PLAIN_INTEGER = re.compile(r"[+-]?\d{1,18}")
_PLAIN_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")


def compare(operator: str, first: Datum, second: Datum) -> Datum:
    """Compare values of one type.

    Args:
        operator: One of = != < <= > >=.
        first: An array or a scalar.
        second: Another one; one of them is an array.

    Example:
        >>> compare(">", pa.array([1.0, float("nan"), None]), pa.scalar(2.0)).to_pylist()
        [False, True, None]
    """
    if first.type in FRACTIONS:
        nans = [np.isnan(numbers(datum)) for datum in (first, second)]
        if any(mask.any() for mask in nans):
            return array_of(BOOLEAN, _with_nans(operator, numbers(first), numbers(second), *nans), first, second)
    return _ARROW[operator](first, second)


def _with_nans(operator: str, first: Any, second: Any, first_nan: Mask, second_nan: Mask) -> Mask:
    match operator:
        case "=":
            return np.asarray((first == second) | (first_nan & second_nan))
        case "<":
            return np.asarray((first < second) | (second_nan & ~first_nan))
        case ">":
            return _with_nans("<", second, first, second_nan, first_nan)
        case "!=":
            return ~_with_nans("=", first, second, first_nan, second_nan)
        case "<=":
            return ~_with_nans("<", second, first, second_nan, first_nan)
    return ~_with_nans("<", first, second, first_nan, second_nan)


def comparison(operator: str) -> Builder:
    """Make nodes of one of the operators = != < <= > >=."""
    return partial(_comparison, operator)


def _comparison(operator: str, dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    _, (first, second) = _comparable(operands[0], operands[1], dialect)
    return strict(BOOLEAN, lambda left, right: SureValues(compare(operator, left, right)), first, second)


def null_safe_equal(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`<=>`: as `=`, but null equals null, and nothing else."""
    _, (first, second) = _comparable(operands[0], operands[1], dialect)
    if is_null(first) and is_null(second):
        return constant(pa.scalar(True, BOOLEAN))

    def kernel(left: Datum, right: Datum) -> SureValues:
        nulls = pc.and_(pc.is_null(left), pc.is_null(right))
        equal = compare("=", left, right)
        return SureValues(equal if equal.null_count == 0 else pc.or_(equal.fill_null(False), nulls))

    return any_values(BOOLEAN, kernel, first, second)


def between(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`first BETWEEN low AND high`: two comparisons."""
    first, low, high = operands
    first = shared(first)
    at_least = comparison(">=")(dialect, [first, low])
    return both(dialect, [at_least, comparison("<=")(dialect, [first, high])])


def is_in(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`first IN (...)`: null where the value is, or where it equals none and one of them is null."""
    kind, (first, *values) = _with_common_type(operands, dialect)
    constants = [value.constant for value in values if value.constant is not None and value.constant.is_valid]
    if len(constants) < sum(not is_null(value) for value in values):
        raise Untranslatable("IN with values that are not constants is evaluated by Spark")
    has_null = len(constants) < len(values)
    if not constants:
        return strict(BOOLEAN, lambda datum: SureValues(pa.nulls(len(datum), BOOLEAN)), first)
    value_set = pa.array([value.as_py() for value in constants], kind)

    def kernel(datum: pa.Array) -> SureValues:
        among = _among_fractions(datum, value_set) if kind in FRACTIONS else _among(datum, value_set)
        if not has_null and datum.null_count == 0:
            return SureValues(among)
        unknown = pc.or_(pc.is_null(datum), pc.invert(among)) if has_null else pc.is_null(datum)
        return SureValues(pc.if_else(unknown, pa.scalar(None, BOOLEAN), among))

    return strict(BOOLEAN, kernel, first)


def _among(datum: pa.Array, value_set: pa.Array) -> pa.BooleanArray:
    """Which values are in a set; null is not. A few numbers are compared, which is faster."""
    if len(value_set) > _FEW or datum.null_count or not pa.types.is_integer(datum.type):
        return pc.is_in(datum, value_set=value_set)
    return functools.reduce(pc.or_, (pc.equal(datum, value) for value in value_set))


def _among_fractions(datum: pa.Array, value_set: pa.Array) -> pa.BooleanArray:
    """Which floating numbers are in a set: Arrow tells −0.0 from 0.0, and kinds of NaN."""
    zero = pa.scalar(0.0, datum.type)
    is_number = pc.invert(pc.is_nan(value_set))
    among = pc.is_in(pc.add(datum, zero), value_set=pc.add(value_set.filter(is_number), zero))
    return among if pc.all(is_number).as_py() else pc.or_(among, pc.fill_null(pc.is_nan(datum), False))


def _comparable(first: ColumnNode, second: ColumnNode, dialect: Dialect) -> tuple[pa.DataType, list[ColumnNode]]:
    """Two operands of a comparison with one type; a text that is a literal becomes what it is compared with."""
    first, second = _fitted(first, second, dialect), _fitted(second, first, dialect)
    return _with_common_type([first, second], dialect)


def _with_common_type(operands: Sequence[ColumnNode], dialect: Dialect) -> tuple[pa.DataType, list[ColumnNode]]:
    kinds = {operand.type for operand in operands}
    if any(pa.types.is_decimal128(kind) for kind in kinds) and kinds.isdisjoint(FRACTIONS):
        nodes = _with_common_digits(operands)
        return nodes[0].type, nodes
    kind, nodes = in_common(operands, dialect)
    _check_comparable(kind)
    return kind, nodes


def _check_comparable(kind: pa.DataType) -> None:
    if kind != pa.null() and not is_scalar_type(kind):
        raise Untranslatable(f"comparing {type_name(kind)} is evaluated by Spark")


def _fitted(node: ColumnNode, other: ColumnNode, dialect: Dialect) -> ColumnNode:
    if node.type != STRING or other.type in (STRING, pa.null()) or is_null(node):
        return node
    text = "" if node.constant is None else node.constant.as_py()
    if other.type in INTEGERS and _PLAIN_INTEGER.fullmatch(text):
        bits = other.type.bit_width - 1
        if -(1 << bits) <= int(text) < 1 << bits:
            return constant(pa.scalar(int(text), other.type))
    if other.type == DOUBLE and _PLAIN_NUMBER.fullmatch(text):
        return constant(pa.scalar(float(text), DOUBLE))
    if other.type in (DATE, TIMESTAMP):
        time = cast(node, other.type, dialect)
        if time.constant is not None and time.constant.is_valid:
            return time
    raise Untranslatable(f"comparing text with {type_name(other.type)} is evaluated by Spark")


def extreme(operator: str) -> Builder:
    """Make nodes of `greatest` (">") or `least` ("<"): nulls are passed over, of equal values the first is taken."""

    def build(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
        kind, nodes = in_common(operands, dialect)
        _check_comparable(kind)
        if len(nodes) < 2 or kind == pa.null():
            raise Untranslatable("greatest and least of fewer than two values are evaluated by Spark")

        def kernel(*compared: Datum) -> SureValues:
            count = max(len(datum) for datum in compared if isinstance(datum, pa.Array))
            best = spread(compared[0], count)
            for datum in compared[1:]:
                # Compared with null it is null: better than one, worse than none.
                best = pc.if_else(pc.coalesce(compare(operator, datum, best), pc.is_null(best)), datum, best)
            return SureValues(best)

        return any_values(kind, kernel, *nodes)

    return build


_MOST_DIGITS = 38
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""Of whole numbers, as Spark counts them."""


def _with_common_digits(nodes: Sequence[ColumnNode]) -> list[ColumnNode]:
    """Convert decimals and whole numbers, exactly, to one decimal type.

    Raises:
        Untranslatable: It would need too many digits: Spark rounds then.
    """
    digits = [_digits(node) for node in nodes if not is_null(node)]
    scale = max((after for _, after in digits), default=0)
    if max((before for before, _ in digits), default=0) + scale > _MOST_DIGITS:
        raise Untranslatable("decimals of so many digits are evaluated by Spark")
    kind = pa.decimal128(_MOST_DIGITS, scale)
    return [_as_decimal(node, kind) for node in nodes]


def _digits(node: ColumnNode) -> tuple[int, int]:
    """How many digits a number has before and after the point."""
    if node.type in INTEGERS:
        return _DIGITS[node.type], 0
    if pa.types.is_decimal128(node.type):
        return node.type.precision - node.type.scale, max(0, node.type.scale)
    raise Untranslatable(f"{type_name(node.type)} beside a decimal is evaluated by Spark")


def _as_decimal(node: ColumnNode, kind: pa.DataType) -> ColumnNode:
    if is_null(node):
        return constant(pa.scalar(None, kind))
    if node.constant is not None:
        return constant(pa.scalar(node.constant.as_py(), kind))
    return strict(kind, lambda datum: SureValues(pc.cast(datum, kind)), node)
