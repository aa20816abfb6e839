"""How a value of some Spark type travels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.spark.common.group_keys import as_long, as_text


def value_kind(kind: T.DataType) -> ValueKind | None:  # noqa: PLR0911 - one return per type
    """Return how values of a type travel; None for types that have no order and no sum."""
    match kind:
        case T.DecimalType():
            return ValueKind(Carriage.DECIMAL, Notation.NUMBER, kind.scale)
        case T.IntegralType():
            return ValueKind(Carriage.LONG, Notation.NUMBER)
        case T.FractionalType():
            return ValueKind(Carriage.DOUBLE, Notation.NUMBER)
        case T.BooleanType():
            return ValueKind(Carriage.LONG, Notation.BOOLEAN)
        case T.DateType():
            return ValueKind(Carriage.LONG, Notation.DATE)
        case T.TimestampType():
            return ValueKind(Carriage.LONG, Notation.TIMESTAMP)
        case T.TimestampNTZType():
            return ValueKind(Carriage.LONG, Notation.TIMESTAMP_NTZ)
        case T.StringType() | T.BinaryType():
            return ValueKind(Carriage.TEXT, Notation.TEXT)
        case _:
            return None


@dataclass(frozen=True)
class CarriedValue:
    """The four columns of a row that together carry one value, all null where the value is.

    Attributes:
        number: The value as a double.
        long: The exact integer, or days or microseconds since the epoch; for texts, and values of which only the
            presence matters, 0.
        decimal: The unscaled decimal.
        text: The text.
    """

    number: Column
    long: Column
    decimal: Column
    text: Column


def presence(value: Column) -> CarriedValue:
    """Return the columns that tell only whether there is a value."""
    nothing = carried(None, None)
    present = F.when(value.isNotNull(), F.lit(0).cast("bigint"))
    return CarriedValue(present.cast("double"), present, nothing.decimal, nothing.text)


def carried(value: Column | None, kind: T.DataType | None) -> CarriedValue:
    """Return the columns that carry a value of a type; of a type without order, only its presence.

    Values for an aggregate of the user's own, fields of a struct, are one text.
    """
    none_long, none_decimal = F.lit(None).cast("bigint"), F.lit(None).cast("decimal(38,0)")
    none_number, none_text = F.lit(None).cast("double"), F.lit(None).cast("string")
    if value is None or kind is None:
        return CarriedValue(none_number, none_long, none_decimal, none_text)
    travels = value_kind(kind)
    present = presence(value)
    if isinstance(kind, T.StructType):
        return replace(present, text=as_text(value, kind))
    if travels is None:
        return present
    match travels.carriage:
        case Carriage.LONG:
            exact = as_long(value, kind)
            return CarriedValue(exact.cast("double"), exact, none_decimal, none_text)
        case Carriage.DOUBLE:
            return CarriedValue(value.cast("double"), none_long, none_decimal, none_text)
        case Carriage.DECIMAL:
            return CarriedValue(value.cast("double"), none_long, _unscaled(value, kind), none_text)
        case Carriage.TEXT:
            text = F.hex(value) if isinstance(kind, T.BinaryType) else value.cast("string")
            return replace(present, text=text)


MOST_DIGITS = 32
"""A product of two decimals has at least so many digits before the point, whatever their scales."""


def is_carried_exactly(kind: T.DataType) -> bool:
    """Whether all digits of a decimal can travel; of every other type they do."""
    return not isinstance(kind, T.DecimalType) or kind.scale <= MOST_DIGITS


def _unscaled(value: Column, kind: T.DataType) -> Column:
    """A decimal without its point, as a whole number of up to 38 digits."""
    if not isinstance(kind, T.DecimalType):
        raise TypeError(f"{kind.simpleString()} is no decimal")
    if kind.precision <= MOST_DIGITS:
        return _shifted(value, kind.scale)
    if kind.scale == 0:
        return value.cast("decimal(38,0)")
    whole = F.when(value < 0, F.ceil(value)).otherwise(F.floor(value)).cast(f"decimal({kind.precision - kind.scale},0)")
    return (_shifted(whole, kind.scale) + _shifted(value % F.lit(1), kind.scale)).cast("decimal(38,0)")


def _shifted(value: Column, scale: int) -> Column:
    power = F.lit(str(10**scale)).cast("decimal(38,0)")
    return (value * power).cast("decimal(38,0)")
