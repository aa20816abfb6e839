"""Expressions put together: nodes that give values for rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from streamshed.columnar.expressions.values import Datum, SureValues, either


@dataclass(frozen=True, slots=True, eq=False)
class ColumnRows:
    """Some rows of a stream, as columns.

    Attributes:
        columns: Arrays by name.
        count: How many rows.
        shared: What nodes that several others use gave, by identity.
    """

    columns: Mapping[str, pa.Array]
    count: int
    shared: dict[int, SureValues] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNode:
    """An expression.

    Attributes:
        type: Of its values; nulls without a type occur in constants only.
        evaluate: Gives an array of as many rows, or a scalar, not null, if it is constant.
        constant: Its value, if that is the same for all rows.
    """

    type: pa.DataType
    evaluate: Callable[[ColumnRows], SureValues]
    constant: pa.Scalar | None = None


Kernel: TypeAlias = Callable[..., SureValues]
"""From the values of its operands, of which one at least is an array, to those of a node."""


def constant(value: pa.Scalar) -> ColumnNode:
    """A node that gives the same value for all rows; a null as an array: kernels meet no scalar that is null."""
    if not value.is_valid:
        return ColumnNode(value.type, lambda rows: SureValues(pa.nulls(rows.count, value.type)), value)
    return ColumnNode(value.type, lambda _: SureValues(value), value)


def is_null(node: ColumnNode) -> bool:
    """Whether a node is a constant null."""
    return node.constant is not None and not node.constant.is_valid


def strict(kind: pa.DataType, kernel: Kernel, *operands: ColumnNode) -> ColumnNode:
    """A node that is null where any operand is, and unsure where any operand is.

    Args:
        kind: The type of its values.
        kernel: Computes them; its result is null wherever an operand is.
        operands: What it computes them from; constants come as scalars that are not null.
    """
    if any(is_null(operand) for operand in operands):
        return _null(kind, [operand for operand in operands if operand.constant is None])
    return any_values(kind, kernel, *operands)


def _null(kind: pa.DataType, operands: Sequence[ColumnNode]) -> ColumnNode:
    """A null that is as sure as the operands beside it: Spark may evaluate them first, and fail."""
    if not operands:
        return constant(pa.scalar(None, kind))

    def evaluate(rows: ColumnRows) -> SureValues:
        unsure = either(*(operand.evaluate(rows).unsure for operand in operands))
        return SureValues(pa.nulls(rows.count, kind), unsure)

    return ColumnNode(kind, evaluate)


def any_values(kind: pa.DataType, kernel: Kernel, *operands: ColumnNode) -> ColumnNode:
    """A node whose kernel handles nulls itself; unsure where any operand is."""

    def evaluate(rows: ColumnRows) -> SureValues:
        values = [operand.evaluate(rows) for operand in operands]
        result = kernel(*(each.datum for each in values))
        unsure_rows = either(result.unsure, *(each.unsure for each in values))
        # A kernel may say it of all rows at once.
        return SureValues(result.datum, None if unsure_rows is None else np.broadcast_to(unsure_rows, rows.count))

    constants = [operand.constant for operand in operands]
    if None in constants:
        return ColumnNode(kind, evaluate)
    result = kernel(*(pa.repeat(each, 1) for each in constants))
    return constant(result.datum[0]) if result.unsure is None else unsure(kind)


def unsure(kind: pa.DataType) -> ColumnNode:
    """A node of which no row is sure."""
    return ColumnNode(kind, lambda rows: SureValues(pa.nulls(rows.count, kind), np.ones(rows.count, np.bool_)))


def shared(node: ColumnNode) -> ColumnNode:
    """A node that several others use: it is evaluated once for the same rows."""
    if node.constant is not None:
        return node

    def evaluate(rows: ColumnRows) -> SureValues:
        values = rows.shared.get(id(node))
        if values is None:
            values = rows.shared[id(node)] = node.evaluate(rows)
        return values

    return ColumnNode(node.type, evaluate)


def spread(datum: Datum, count: int) -> pa.Array:
    """An array of so many rows: a scalar is repeated."""
    return pa.repeat(datum, count) if isinstance(datum, pa.Scalar) else datum
