"""Group keys of any type in two state columns: injective, null apart from "", NaN equal to NaN, -0.0 to 0.0.

One key of an integral or temporal type stays a number (`key_long`), one of another type its text (`key_text`); several
keys are escaped and joined into `key_text`. An answer carries them as an array of texts, null elements for nulls.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.group_key import ESCAPE, ESCAPED_SEPARATOR, NULL, SEPARATOR


def key_columns(keys: Sequence[tuple[Column, T.DataType]]) -> tuple[Column, Column]:
    """Return (key_long, key_text) of a row; both null where its key is.

    Args:
        keys: The grouping columns with their types; none for an ungrouped query, whose key is the number 0.
    """
    nothing = F.lit(None)
    if not keys:
        return F.lit(0).cast("bigint"), nothing.cast("string")
    if len(keys) > 1:
        return nothing.cast("bigint"), joined_text(keys)
    column, kind = keys[0]
    if is_long_key(kind):
        return as_long(column, kind), nothing.cast("string")
    return nothing.cast("bigint"), as_text(column, kind)


def joined_text(values: Sequence[tuple[Column, T.DataType]]) -> Column:
    """Return several values as one text that determines them; never null."""
    return F.concat_ws(SEPARATOR, *[_escaped(*value) for value in values]) if values else F.lit("")


def is_long_key(kind: T.DataType) -> bool:
    """Whether a single key of this type is held as a number."""
    return isinstance(kind, (T.IntegralType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType))


def as_long(column: Column, kind: T.DataType) -> Column:
    """An integral, Boolean or temporal value as a number that determines it: days or microseconds since the epoch."""
    match kind:
        case T.DateType():
            return F.unix_date(column).cast("bigint")
        case T.TimestampType():
            return F.unix_micros(column)
        case T.TimestampNTZType():
            return _ntz_microseconds(column)
        case _:
            return column.cast("bigint")


def as_text(column: Column, kind: T.DataType) -> Column:
    """A value of any type as text that determines it; null stays null.

    Text as Python reads it, with U+FFFD for bytes that are no UTF-8, numbers in their shortest exact form, times as
    numbers (see `as_long`), binary in hexadecimal, arrays and structs as their escaped and joined elements.
    """
    match kind:
        case T.StringType():
            return F.make_valid_utf8(column).cast("string")
        case T.FloatType() | T.DoubleType():
            return (column + F.lit(0.0).cast(kind)).cast("string")
        case T.BinaryType():
            return F.hex(column)
        case T.ArrayType():
            joined = F.concat_ws(SEPARATOR, F.transform(column, lambda item: _escaped(item, kind.elementType)))
            return F.when(column.isNotNull(), F.concat(F.size(column).cast("string"), F.lit(":"), joined))
        case T.StructType():
            parts = [_escaped(column.getField(field.name), field.dataType) for field in kind.fields]
            return F.when(column.isNotNull(), F.concat_ws(SEPARATOR, *parts))
        case _ if is_long_key(kind):
            return as_long(column, kind).cast("string")
        case _:
            return column.cast("string")


def _ntz_microseconds(column: Column) -> Column:
    """Microseconds of a local time since 1970 on the same clock, whatever the session's time zone."""
    origin = F.to_timestamp_ntz(F.lit("1970-01-01 00:00:00"))
    return F.timestamp_diff("MICROSECOND", origin, column)


def _escaped(column: Column, kind: T.DataType) -> Column:
    text = as_text(column, kind)
    if not is_long_key(kind) and not isinstance(kind, T.NumericType):
        text = F.replace(F.replace(text, F.lit("\\"), F.lit(ESCAPE)), F.lit(SEPARATOR), F.lit(ESCAPED_SEPARATOR))
    return F.coalesce(text, F.lit(NULL))
