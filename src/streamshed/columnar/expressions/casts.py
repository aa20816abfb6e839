"""CAST, where Spark's answer is sure."""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.columnar.expressions.coercion import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FRACTIONS,
    INT,
    INTEGERS,
    NUMBERS,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    type_name,
    widened,
)
from streamshed.columnar.expressions.column_node import ColumnNode, Kernel, constant, is_null, strict
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.expressions.text_casts import (
    decoded_texts,
    parsed_dates,
    parsed_numbers,
    parsed_times,
    parsed_truths,
)
from streamshed.columnar.expressions.values import Datum, SureValues, array_of, noted, numbers, valid
from streamshed.columnar.expressions.zone import DAY, SECOND, SURE_DAYS, zone
from streamshed.columnar.untranslatable import Untranslatable

CAST_TYPES: Mapping[str, pa.DataType] = {
    "tinyint": TINYINT,
    "byte": TINYINT,
    "smallint": SMALLINT,
    "short": SMALLINT,
    "int": INT,
    "integer": INT,
    "bigint": BIGINT,
    "long": BIGINT,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "string": STRING,
    "text": STRING,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMP,
    "timestampntz": TIMESTAMP_NTZ,
}
"""Types by name: Spark's and the parser's."""


def cast(node: ColumnNode, kind: pa.DataType, dialect: Dialect) -> ColumnNode:
    """Convert a value to a type; under ANSI what does not fit is unsure.

    Raises:
        Untranslatable: It is left to Spark.
    """
    if node.type == kind:
        return node
    if is_null(node):
        return constant(pa.scalar(None, kind))
    if pa.types.is_decimal(node.type):
        return widened(node, kind)
    return strict(kind, _kernel(node.type, kind, dialect), node)


def _kernel(source: pa.DataType, kind: pa.DataType, dialect: Dialect) -> Kernel:
    if source == STRING:
        return _from_text(kind, dialect)
    if source in NUMBERS and kind in NUMBERS:
        return _between_numbers(source, kind, dialect)
    if source in NUMBERS and kind == BOOLEAN:
        return lambda datum: SureValues(array_of(BOOLEAN, numbers(datum) != 0, datum))
    if source == BOOLEAN and kind in (*NUMBERS, STRING):
        return lambda datum: SureValues(pc.cast(datum, kind))
    if source in INTEGERS and kind == STRING:
        return lambda datum: SureValues(pc.cast(datum, STRING))
    if source == DATE and kind == STRING:
        return _date_as_text
    if source == BINARY and kind == STRING:
        return decoded_texts
    if (between := _TIMES.get((source, kind))) is not None:
        return between(dialect)
    raise Untranslatable(f"the cast of {type_name(source)} to {type_name(kind)} is evaluated by Spark")


def _between_numbers(source: pa.DataType, kind: pa.DataType, dialect: Dialect) -> Kernel:
    is_wider = NUMBERS.index(kind) > NUMBERS.index(source)
    if kind in FRACTIONS or is_wider or (source in INTEGERS and not dialect.ansi):
        return lambda datum: SureValues(pc.cast(datum, kind, safe=False))

    def kernel(datum: pa.Array) -> SureValues:
        values = numbers(datum)
        fits = _fits(values, kind)
        whole = np.where(fits, values, values.dtype.type(0)).astype(kind.to_pandas_dtype())
        return SureValues(array_of(kind, whole, datum), noted(~fits & valid(datum)))

    return kernel


def _fits(values: np.ndarray, kind: pa.DataType) -> np.ndarray:
    """Where numbers, their fractions cut off, are within a whole type; the limits are exact in floating numbers."""
    low, high = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1)
    if values.dtype.kind == "i":
        return np.asarray((values >= low) & (values <= high - 1))
    return np.asarray((values >= low) & (values < high))


def _from_text(kind: pa.DataType, dialect: Dialect) -> Kernel:
    if kind in NUMBERS:
        return lambda datum: parsed_numbers(datum, kind, ansi=dialect.ansi)
    if kind == BOOLEAN:
        return parsed_truths
    if kind == DATE:
        return parsed_dates
    if kind == TIMESTAMP:
        return _text_as_timestamp(dialect)
    if kind == TIMESTAMP_NTZ:
        return _text_as_local_time
    raise Untranslatable(f"the cast of string to {type_name(kind)} is evaluated by Spark")


def _text_as_timestamp(dialect: Dialect) -> Kernel:
    hours = zone(dialect.time_zone)

    def kernel(datum: pa.Array) -> SureValues:
        local, is_utc, unsure = parsed_times(datum)
        instants = np.where(is_utc, local, hours.instants(local))
        unsure = unsure | (~(hours.is_sure(instants) | is_utc) & valid(datum))
        return SureValues(array_of(TIMESTAMP, instants, datum), noted(unsure))

    return kernel


def _text_as_local_time(datum: pa.Array) -> SureValues:
    local, is_utc, unsure = parsed_times(datum)
    return SureValues(array_of(TIMESTAMP_NTZ, local, datum), noted(unsure | is_utc))


def _date_as_text(datum: pa.Array) -> SureValues:
    days = numbers(datum)
    unsure = noted(((days < SURE_DAYS[0]) | (days > SURE_DAYS[1])) & valid(datum))
    if unsure is not None:
        datum = pc.if_else(pa.array(unsure), pa.scalar(None, DATE), datum)
    return SureValues(pc.cast(datum, STRING), unsure)


def _local_days(dialect: Dialect) -> Kernel:
    hours = zone(dialect.time_zone)

    def kernel(datum: Datum) -> SureValues:
        instants = numbers(datum)
        days = hours.local(instants) // DAY
        unsure = noted(~np.broadcast_to(hours.is_sure(instants), len(days)) & valid(datum))
        return SureValues(array_of(DATE, days, datum), unsure)

    return kernel


def _starts_of_days(dialect: Dialect) -> Kernel:
    hours = zone(dialect.time_zone)

    def kernel(datum: Datum) -> SureValues:
        days = numbers(datum).astype(np.int64)
        near = np.clip(days, *SURE_DAYS)
        instants = hours.instants(near * DAY)
        sure = np.broadcast_to(hours.is_sure(instants), len(days)) & (near == days)
        return SureValues(array_of(TIMESTAMP, instants, datum), noted(~sure & valid(datum)))

    return kernel


def _seconds(_: Dialect) -> Kernel:
    return lambda datum: SureValues(array_of(BIGINT, numbers(datum) // SECOND, datum))


def _fractional_seconds(_: Dialect) -> Kernel:
    return lambda datum: SureValues(array_of(DOUBLE, numbers(datum) / float(SECOND), datum))


def _from_seconds(_: Dialect) -> Kernel:
    return lambda datum: scaled_to_micros(datum, SECOND)


def scaled_to_micros(datum: Datum, factor: int) -> SureValues:
    """Instants of whole numbers of units of so many microseconds; unsure where they do not fit."""
    values = numbers(datum).astype(np.int64)
    most = np.iinfo(np.int64).max // factor
    near = np.clip(values, -most, most)
    return SureValues(array_of(TIMESTAMP, near * factor, datum), noted((near != values) & valid(datum)))


def _to_local(dialect: Dialect) -> Kernel:
    hours = zone(dialect.time_zone)

    def kernel(datum: Datum) -> SureValues:
        instants = numbers(datum)
        unsure = noted(~np.broadcast_to(hours.is_sure(instants), len(instants)) & valid(datum))
        return SureValues(array_of(TIMESTAMP_NTZ, hours.local(instants), datum), unsure)

    return kernel


def _to_instants(dialect: Dialect) -> Kernel:
    hours = zone(dialect.time_zone)

    def kernel(datum: Datum) -> SureValues:
        instants = hours.instants(numbers(datum))
        unsure = noted(~np.broadcast_to(hours.is_sure(instants), len(instants)) & valid(datum))
        return SureValues(array_of(TIMESTAMP, instants, datum), unsure)

    return kernel


_TIMES: Mapping[tuple[pa.DataType, pa.DataType], Callable[[Dialect], Kernel]] = {
    (TIMESTAMP, DATE): _local_days,
    (TIMESTAMP_NTZ, DATE): lambda _: lambda datum: SureValues(array_of(DATE, numbers(datum) // DAY, datum)),
    (DATE, TIMESTAMP): _starts_of_days,
    (TIMESTAMP, BIGINT): _seconds,
    (TIMESTAMP, DOUBLE): _fractional_seconds,
    (TIMESTAMP, TIMESTAMP_NTZ): _to_local,
    (TIMESTAMP_NTZ, TIMESTAMP): _to_instants,
    **{(kind, TIMESTAMP): _from_seconds for kind in INTEGERS},
}
