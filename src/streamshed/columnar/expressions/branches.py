"""CASE and its kin: a branch that a row does not take does not make the row unsure."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import BOOLEAN, expect, in_common
from streamshed.columnar.expressions.column_node import ColumnNode, ColumnRows, constant, shared, spread
from streamshed.columnar.expressions.comparison import comparison
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.logic import present
from streamshed.columnar.expressions.values import Mask, SureValues, either, noted, truths
from streamshed.columnar.untranslatable import Untranslatable


def case(
    dialect: Dialect, conditions: Sequence[ColumnNode], results: Sequence[ColumnNode], default: ColumnNode
) -> ColumnNode:
    """`CASE WHEN condition THEN result ... ELSE default END`.

    Args:
        dialect: The session's.
        conditions: Truth values; the first that is true decides.
        results: As many.
        default: Where none is true.
    """
    wheres = [expect(condition, [BOOLEAN], "WHEN") for condition in conditions]
    kind, (*thens, otherwise) = in_common([*results, default], dialect)
    if kind == pa.null():
        raise Untranslatable("CASE without a type is evaluated by Spark")

    def evaluate(rows: ColumnRows) -> SureValues:
        branches = list(zip(wheres, thens, strict=True))
        values = otherwise.evaluate(rows)
        for where, then in reversed(branches):
            values = _chosen(rows, where.evaluate(rows), then.evaluate(rows), values)
        return values

    return ColumnNode(kind, evaluate)


def _chosen(rows: ColumnRows, condition: SureValues, then: SureValues, otherwise: SureValues) -> SureValues:
    """The first where the condition is true, else the second; each is as sure as what was chosen."""
    where = pc.fill_null(spread(condition.datum, rows.count), False)
    unsure = condition.unsure
    if then.unsure is not None or otherwise.unsure is not None:
        taken = truths(where)
        unsure = either(
            unsure,
            None if then.unsure is None else then.unsure & taken,
            None if otherwise.unsure is None else otherwise.unsure & ~taken,
        )
    return SureValues(pc.if_else(where, then.datum, otherwise.datum), unsure)


def simple_case(
    dialect: Dialect,
    operand: ColumnNode,
    values: Sequence[ColumnNode],
    results: Sequence[ColumnNode],
    default: ColumnNode,
) -> ColumnNode:
    """`CASE operand WHEN value THEN result ... ELSE default END`."""
    operand = shared(operand)
    conditions = [comparison("=")(dialect, [operand, value]) for value in values]
    return case(dialect, conditions, results, default)


def if_else(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`if(condition, then, otherwise)`."""
    condition, then, otherwise = operands
    return case(dialect, [condition], [then], otherwise)


def coalesce(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`coalesce`, `nvl`, `ifnull`: the first that is not null."""
    kind, nodes = in_common(operands, dialect)
    if kind == pa.null():
        raise Untranslatable("coalesce without a type is evaluated by Spark")

    def evaluate(rows: ColumnRows) -> SureValues:
        values = [node.evaluate(rows) for node in nodes]
        unsure: Mask | None = None
        if any(each.unsure is not None for each in values):
            unsure = np.zeros(rows.count, np.bool_)
            open_rows = np.ones(rows.count, np.bool_)
            for each in values:
                if each.unsure is not None:
                    unsure |= open_rows & each.unsure
                open_rows &= ~truths(pc.is_valid(spread(each.datum, rows.count)))
            unsure = noted(unsure)
        first, *others = (each.datum for each in values)
        return SureValues(pc.coalesce(spread(first, rows.count), *others), unsure)

    return ColumnNode(kind, evaluate)


def null_if(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`nullif(first, second)`: null where both are equal."""
    first, second = shared(operands[0]), operands[1]
    return case(dialect, [comparison("=")(dialect, [first, second])], [constant(pa.scalar(None, pa.null()))], first)


def if_present(dialect: Dialect, operands: Sequence[ColumnNode]) -> ColumnNode:
    """`nvl2(value, then, otherwise)`."""
    value, then, otherwise = operands
    return case(dialect, [present(dialect, [value])], [then], otherwise)
