"""Rows as JSON text, column by column."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.traces.iso_time import iso_times

_MUST_BE_ESCAPED = r'["\\\x00-\x1f]'


def json_members(table: pa.Table) -> pa.ChunkedArray:
    r"""Write every row as the members of a JSON object, without the braces.

    Strings are escaped, times are ISO-8601 in UTC to the microsecond, dates `"2004-11-09"`, null is
    `null`. JSON has no NaN and no infinities: they are the strings `"NaN"`, `"Infinity"`, `"-Infinity"`,
    which Spark reads as such. Nested values are written one by one as Python's `json` does it, which is
    slow; bytes are base64.

    Args:
        table: Columns in the order of the members; at least one.

    Returns:
        Large strings, one per row.

    Example:
        >>> table = pa.table({"host": ["a", 'b"', None], "size": [40, -1, None]})
        >>> json_members(table).to_pylist()
        ['"host":"a","size":40', '"host":"b\\"","size":-1', '"host":null,"size":null']
    """
    chunks = [_members(record_batch) for record_batch in table.to_batches(max_chunksize=1 << 20)]
    return pa.chunked_array(chunks, type=pa.large_string())


def _members(record_batch: pa.RecordBatch) -> pa.Array:
    parts: list[str | pa.Array] = []
    for index, name in enumerate(record_batch.schema.names):
        comma = "," if index else ""
        parts += [f"{comma}{json_text(name)}:", json_values(record_batch.column(index))]
    return joined(*parts)


def joined(*parts: str | pa.Array) -> pa.Array:
    """Concatenate texts row by row; a missing text is the JSON `null`.

    Args:
        *parts: Large string arrays of one length, and texts that are the same in every row.

    Returns:
        A large string array.

    Example:
        >>> joined("[", pa.array(["1", None], pa.large_string()), "]").to_pylist()
        ['[1]', '[null]']
    """
    return _concatenated(parts, null_handling="replace", null_replacement="null")


def json_text(text: str) -> str:
    """Write one text as a JSON string, in quotes."""
    return json.dumps(text, ensure_ascii=False)


def quoted(texts: pa.Array) -> pa.Array:
    """Put texts that need no escaping in quotes; null stays null."""
    return _concatenated(('"', texts, '"'), null_handling="emit_null")


def json_values(column: pa.Array) -> pa.Array:
    """Write a column as JSON values.

    Args:
        column: An array of any type.

    Returns:
        A large string array; null stays null.

    Example:
        >>> json_values(pa.array([1.5, float("nan"), float("inf"), None])).to_pylist()
        ['1.5', '"NaN"', '"Infinity"', None]
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return json_values(column.dictionary).take(column.indices)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return quoted(_escaped(column.cast(pa.large_string())))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.large_string())
    if pa.types.is_floating(kind):
        return _floats(column)
    if pa.types.is_date32(kind):
        return quoted(column.cast(pa.large_string()))
    if pa.types.is_timestamp(kind):
        return _times(column)
    return pa.array([_one_by_one(value) for value in column.to_pylist()], pa.large_string())


def _concatenated(parts: Sequence[str | pa.Array], **null_options: str) -> pa.Array:
    arguments = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*arguments, **null_options)


def _escaped(texts: pa.Array) -> pa.Array:
    if not pc.any(pc.match_substring_regex(texts, _MUST_BE_ESCAPED)).as_py():
        return texts
    distinct = texts.dictionary_encode()
    escaped = [json_text(text)[1:-1] for text in distinct.dictionary.to_pylist()]
    return pa.array(escaped, pa.large_string()).take(distinct.indices)


def _floats(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.large_string())
    # Without a point it would be read as a whole number, which has no negative zero.
    texts = pc.if_else(pc.equal(texts, "-0"), "-0.0", texts).cast(pa.large_string())
    if pc.all(pc.is_finite(column)).as_py() is not False:
        return texts
    texts = pc.if_else(pc.is_nan(column), '"NaN"', texts)
    infinity = pc.if_else(pc.greater(column, 0.0), '"Infinity"', '"-Infinity"')
    return pc.if_else(pc.is_inf(column), infinity, texts).cast(pa.large_string())


def _times(column: pa.Array) -> pa.Array:
    microseconds = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    texts = quoted(iso_times(np.asarray(pc.fill_null(microseconds, 0))))
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.large_string()))


def _one_by_one(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: object) -> object:
    match value:
        case datetime():
            in_utc = value.astimezone(UTC) if value.tzinfo else value
            return in_utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Decimal():
            return float(value)
        case timedelta():
            return value.total_seconds()
        case _:
            return str(value)
