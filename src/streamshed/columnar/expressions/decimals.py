"""Decimals beside each other and beside whole numbers: as one decimal type that holds all their digits."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import BIGINT, INT, INTEGERS, SMALLINT, TINYINT, type_name
from streamshed.columnar.expressions.column_node import ColumnNode, constant, is_null, strict
from streamshed.columnar.expressions.values import SureValues
from streamshed.columnar.untranslatable import Untranslatable

_MOST_DIGITS = 38
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
"""Of whole numbers, as Spark counts them."""


def with_common_digits(nodes: Sequence[ColumnNode]) -> list[ColumnNode]:
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
