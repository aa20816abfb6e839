"""Text from a file, or values of another type, as the type that a schema says."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import SourceUnavailableError
from streamshed.network.words.footer import spark_type

_KEPT_AS_WRITTEN = (pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
_OFFSET = re.compile(r"(GMT|UTC|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(:?(?P<minutes>\d\d))?")
_ZONE = r"\d\d:\d\d.*([zZ]|[+-]\d\d(:?\d\d)?)$"


def typed(values: pa.ChunkedArray, field: pa.Field, *, where: str, time_zone: str) -> pa.ChunkedArray:
    """Read a column's values as the type of a field, and never as an approximation of them.

    Text is read as Spark reads it from a file, but what Spark would take for null because it is not of the type is
    an error. White space around what is not to be text does not count.

    Args:
        values: The values.
        field: Name and type of the column.
        where: Which relation and file, for errors.
        time_zone: Of times that are written without one.

    Raises:
        SourceUnavailableError: A value is not of the type.

    Example:
        >>> zips = pa.chunked_array([["00123", None]])
        >>> typed(zips, pa.field("zip", pa.int32()), where='"zips.csv"', time_zone="UTC").to_pylist()
        [123, None]
        >>> typed(pa.chunked_array([["1.5"]]), pa.field("zip", pa.int32()), where='"zips.csv"', time_zone="UTC")
        Traceback (most recent call last):
        streamshed.errors.SourceUnavailableError: "zips.csv": "zip" holds '1.5', which is no int: is it of another type?
    """
    if values.type == field.type:
        return values
    try:
        return _cast(values, field.type, time_zone)
    except pa.ArrowNotImplementedError as error:
        raise SourceUnavailableError(
            f'{where}: "{field.name}" is {values.type}, which cannot be read as {field.type}: is it of another type?'
        ) from error
    except pa.ArrowException as error:
        value = _first_unreadable(values, field.type, time_zone)
        kind = spark_type(field.type) or field.type
        raise SourceUnavailableError(
            f'{where}: "{field.name}" holds {value!r}, which is no {kind}: is it of another type?'
        ) from error


def _cast(values: pa.ChunkedArray, kind: pa.DataType, time_zone: str) -> pa.ChunkedArray:
    if not pa.types.is_string(values.type) or any(is_kept(kind) for is_kept in _KEPT_AS_WRITTEN):
        return values.cast(kind)
    trimmed = pc.utf8_trim_whitespace(values)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return _moments(trimmed, kind, time_zone)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        trimmed = pc.replace_substring_regex(trimmed, r"^\+", "")
    return trimmed.cast(kind)


def _moments(texts: pa.ChunkedArray, kind: pa.TimestampType, time_zone: str) -> pa.ChunkedArray:
    is_zoned = pc.match_substring_regex(texts, _ZONE)
    zoned = pc.if_else(is_zoned, texts, None).cast(kind)
    local = pc.if_else(is_zoned, None, texts).cast(pa.timestamp(kind.unit))
    moments = pc.assume_timezone(local, arrow_zone(time_zone), ambiguous="earliest", nonexistent="latest")
    return pc.coalesce(zoned, moments.cast(kind))


def arrow_zone(time_zone: str) -> str:
    """Write a time zone of Spark's as Arrow knows it.

    Example:
        >>> arrow_zone("Europe/Berlin"), arrow_zone("GMT+2"), arrow_zone("-05:30"), arrow_zone("Z")
        ('Europe/Berlin', '+02:00', '-05:30', 'UTC')
    """
    if offset := _OFFSET.fullmatch(time_zone):
        return f"{offset['sign']}{offset['hours']:0>2}:{offset['minutes'] or '00'}"
    return "UTC" if time_zone == "Z" else time_zone


def _first_unreadable(values: pa.ChunkedArray, kind: pa.DataType, time_zone: str) -> object:
    while len(values) > 1:
        half = len(values) // 2
        values = values.slice(half) if _is_readable(values.slice(0, half), kind, time_zone) else values.slice(0, half)
    return values[0].as_py() if len(values) else None


def _is_readable(values: pa.ChunkedArray, kind: pa.DataType, time_zone: str) -> bool:
    try:
        _cast(values, kind, time_zone)
    except pa.ArrowException:
        return False
    return True
