"""Literals: numbers and texts, with the types that Spark gives them."""

from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from streamshed.columnar.expressions.coercion import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from streamshed.columnar.untranslatable import Untranslatable

_INT_BITS, _BIGINT_BITS = 31, 63
_MOST_DIGITS = 18
"""Of decimals: more could lose digits beside a bigint."""


def literal_value(node: exp.Expr, *, negative: bool = False) -> pa.Scalar:
    """The value of a literal, of the type that Spark gives it.

    Args:
        node: A literal of SQL.
        negative: A minus stands before it; in Spark it belongs to the number.

    Example:
        >>> literal_value(exp.Literal.number("2147483648"), negative=True)
        <pyarrow.Int32Scalar: -2147483648>
        >>> literal_value(exp.Literal.number("2147483648")).type, literal_value(exp.Literal.number("1.50")).type
        (DataType(int64), Decimal128Type(decimal128(3, 2)))
        >>> literal_value(exp.Literal.number("1e3"))
        <pyarrow.DoubleScalar: 1000.0>
    """
    if isinstance(node, exp.Null):
        return pa.scalar(None, pa.null())
    if isinstance(node, exp.Boolean):
        return pa.scalar(bool(node.this), BOOLEAN)
    if node.is_string:
        return pa.scalar(str(node.this), STRING)
    text = f"-{node.this}" if negative else str(node.this)
    if "e" in text.lower():
        return pa.scalar(float(text), DOUBLE)
    return _decimal(text) if "." in text else _integer(text)


def _integer(text: str) -> pa.Scalar:
    number = int(text)
    for bits, kind in ((_INT_BITS, INT), (_BIGINT_BITS, BIGINT)):
        if -(1 << bits) <= number < 1 << bits:
            return pa.scalar(number, kind)
    raise Untranslatable(f"the number {text} is a decimal, which is evaluated by Spark")


def _decimal(text: str) -> pa.Scalar:
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > _MOST_DIGITS:
        raise Untranslatable(f"the number {text} has so many digits that it is evaluated by Spark")
    return pa.scalar(number, pa.decimal128(precision, scale))
