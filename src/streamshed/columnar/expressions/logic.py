"""Truth values: AND, OR, NOT and what asks for nulls. What an operand decides alone does not depend on the other."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import BOOLEAN, FRACTIONS, expect
from streamshed.columnar.expressions.column_node import (
    ColumnNode,
    ColumnRows,
    any_values,
    constant,
    is_null,
    spread,
    strict,
)
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.values import Datum, Mask, SureValues, array_of, either, numbers, truths


def both(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`AND` with three truth values; false on the left is sure whatever stands on the right."""
    return _guarded(operands, pc.and_kleene, deciding=False)


def any_of(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`OR` with three truth values; true on the left is sure whatever stands on the right."""
    return _guarded(operands, pc.or_kleene, deciding=True)


def _guarded(operands: Sequence[ColumnNode], combine: pc.Function, *, deciding: bool) -> ColumnNode:
    first, second = (expect(operand, [BOOLEAN], "AND and OR") for operand in operands)

    def evaluate(rows: ColumnRows) -> SureValues:
        left, right = first.evaluate(rows), second.evaluate(rows)
        array = combine(spread(left.datum, rows.count), right.datum)
        right_unsure = right.unsure
        if right_unsure is not None:
            array_left = spread(left.datum, rows.count)
            right_unsure = right_unsure & ~truths(array_left if deciding else pc.invert(array_left))
        return SureValues(array, either(left.unsure, right_unsure))

    return ColumnNode(BOOLEAN, evaluate)


def negation(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`NOT`."""
    return strict(BOOLEAN, lambda datum: SureValues(pc.invert(datum)), expect(operands[0], [BOOLEAN], "NOT"))


def missing(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`IS NULL`."""
    if is_null(operands[0]):
        return constant(pa.scalar(True, BOOLEAN))
    return any_values(BOOLEAN, lambda datum: SureValues(pc.is_null(datum)), operands[0])


def present(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`isnotnull`."""
    if is_null(operands[0]):
        return constant(pa.scalar(False, BOOLEAN))
    return any_values(BOOLEAN, lambda datum: SureValues(pc.is_valid(datum)), operands[0])


def is_truth(operand: ColumnNode, *, truth: bool) -> ColumnNode:
    """`IS TRUE`, `IS FALSE`: never null."""
    node = expect(operand, [BOOLEAN], "IS TRUE")

    def kernel(datum: Datum) -> SureValues:
        return SureValues(pc.fill_null(datum if truth else pc.invert(datum), False))

    return constant(pa.scalar(False, BOOLEAN)) if is_null(node) else any_values(BOOLEAN, kernel, node)


def is_nan(_: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`isnan`: false of null."""
    node = expect(operands[0], FRACTIONS, "isnan")

    def kernel(datum: pa.Array) -> SureValues:
        nans: Mask = np.isnan(numbers(datum))
        return SureValues(pc.fill_null(array_of(BOOLEAN, nans, datum), False))

    return constant(pa.scalar(False, BOOLEAN)) if is_null(node) else any_values(BOOLEAN, kernel, node)
