"""Types that operands have in common, and the conversions that Spark puts in by itself."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.column_types import TYPES
from streamshed.columnar.expressions.column_node import ColumnNode, constant, is_null, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.values import SureValues
from streamshed.columnar.untranslatable import Untranslatable

BOOLEAN, STRING, BINARY, DATE = pa.bool_(), pa.string(), pa.binary(), pa.date32()
TINYINT, SMALLINT, INT, BIGINT = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TIMESTAMP, TIMESTAMP_NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
"""From the narrowest to the widest."""
FRACTIONS = (FLOAT, DOUBLE)
NUMBERS = (*INTEGERS, *FRACTIONS)
"""What comes later takes what comes earlier."""
_NAMES: Mapping[pa.DataType, str] = {**{kind: name for name, kind in TYPES.items()}, pa.null(): "void"}


def is_scalar_type(kind: pa.DataType) -> bool:
    """Whether values of this type can be evaluated here."""
    return pa.types.is_decimal128(kind) or (kind in _NAMES and kind != pa.null())


def type_name(kind: pa.DataType) -> str:
    """A type as Spark calls it.

    Example:
        >>> type_name(pa.int64()), type_name(pa.decimal128(3, 1)), type_name(pa.list_(pa.int8()))
        ('bigint', 'decimal(3,1)', 'list<item: int8>')
    """
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES.get(kind, str(kind))


def wider_type(first: pa.DataType, second: pa.DataType, dialect: Dialect) -> pa.DataType | None:
    """The type that both of two convert to without being asked; None: there is none, or Spark must say it.

    Example:
        >>> wider_type(pa.int8(), pa.int32(), Dialect(ansi=True, time_zone="UTC"))
        DataType(int32)
        >>> wider_type(pa.float32(), pa.int32(), Dialect(ansi=True, time_zone="UTC"))
        DataType(double)
        >>> wider_type(pa.float32(), pa.int32(), Dialect(ansi=False, time_zone="UTC"))
        DataType(float)
    """
    if first == second:
        return first
    if pa.null() in (first, second):
        return second if first == pa.null() else first
    if any(pa.types.is_decimal(kind) for kind in (first, second)):
        return DOUBLE if first in FRACTIONS or second in FRACTIONS else None
    if first not in NUMBERS or second not in NUMBERS:
        return None
    wider = NUMBERS[max(NUMBERS.index(first), NUMBERS.index(second))]
    return DOUBLE if wider == FLOAT and dialect.ansi else wider


def common_type(nodes: Sequence[ColumnNode], dialect: Dialect) -> pa.DataType:
    """The type that all of some values convert to, one after the other.

    Raises:
        Untranslatable: There is none, or Spark must say it.
    """
    kind = pa.null()
    for node in nodes:
        wider = wider_type(kind, node.type, dialect)
        if wider is None:
            raise Untranslatable(f"{type_name(kind)} beside {type_name(node.type)} is evaluated by Spark")
        kind = wider
    return kind


def widened(node: ColumnNode, kind: pa.DataType) -> ColumnNode:
    """A number as one of a wider type, a null as one of any type."""
    if node.type == kind:
        return node
    if is_null(node):
        return constant(pa.scalar(None, kind))
    if pa.types.is_decimal(node.type) and node.constant is not None and kind in FRACTIONS:
        value = pa.scalar(float(node.constant.as_py()), DOUBLE)
        return constant(value if kind == DOUBLE else pc.cast(value, kind))
    if node.type not in NUMBERS or kind not in NUMBERS:
        raise Untranslatable(f"{type_name(node.type)} as {type_name(kind)} is evaluated by Spark")
    return strict(kind, lambda datum: SureValues(pc.cast(datum, kind, safe=False)), node)


def in_common(nodes: Sequence[ColumnNode], dialect: Dialect) -> tuple[pa.DataType, list[ColumnNode]]:
    """Some values converted to the type that they have in common."""
    kind = common_type(nodes, dialect)
    return kind, [widened(node, kind) for node in nodes]


def expect(node: ColumnNode, kinds: Sequence[pa.DataType], what: str) -> ColumnNode:
    """A node of one of some types, a null as one of the first.

    Raises:
        Untranslatable: It is of another type.
    """
    if is_null(node) and node.type == pa.null():
        return constant(pa.scalar(None, kinds[0]))
    if node.type not in kinds:
        raise Untranslatable(f"{what} of {type_name(node.type)} is evaluated by Spark")
    return node


Builder = Callable[[Dialect, Sequence[ColumnNode]], ColumnNode]
"""Makes a node of an operator or a function from its operands; raises `Untranslatable`."""
