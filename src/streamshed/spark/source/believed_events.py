"""The event times that the footer of a Parquet file tells of, and which of them are believed.

All are whole microseconds since the epoch, in years that no `datetime` reaches, too.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.network.terms.windowing_attribute import StoredColumn
from streamshed.network.words.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER

_NANOSECONDS = {"milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}


_LARGEST_INSTANT = LARGEST_NUMBER * MICROSECONDS_PER_NUMBER


def events_in_footer(metadata: parquet.FileMetaData, stored: StoredColumn) -> list[tuple[int, int]] | None:
    """Return the first and the last event time, or number, of each row group; None: the footer does not tell them.

    Args:
        metadata: The footer.
        stored: The column that they follow from, in whatever case.
    """
    column = _place(metadata, stored.name)
    if column is None:
        return None
    nanoseconds = _nanoseconds(metadata.schema.column(column), stored)
    if nanoseconds is None:
        return None
    events = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        first, last = (int(end) * nanoseconds // 1_000 for end in (statistics.min_raw, statistics.max_raw))
        if _is_number(metadata.schema.column(column)) and max(abs(first), abs(last)) > _LARGEST_INSTANT:
            return None
        events.append((first, last))
    return events or None


def believed_events(path: str, stored: StoredColumn, furthest: int) -> tuple[int, int] | None:
    """Return the first and the last event time of a file up to a bound; None: it has none.

    The column is read only in row groups that reach beyond the bound. There are few, as such rows are few.

    Args:
        path: A file whose footer tells first and last of all row groups.
        stored: The column that event times follow from, in whatever case.
        furthest: Later ones do not count, microseconds.
    """
    with parquet.ParquetFile(path) as file:
        column = _place(file.metadata, stored.name)
        if column is None:
            return None
        name = file.metadata.schema.column(column).path
        bounds: list[tuple[int, int]] = []
        for group, (first, last) in enumerate(events_in_footer(file.metadata, stored) or ()):
            believed = last
            if last > furthest >= first:
                believed = _latest(file.read_row_group(group, columns=[name]).column(0), stored, furthest)
            if believed <= furthest:
                bounds.append((first, believed))
    return (min(first for first, _ in bounds), max(last for _, last in bounds)) if bounds else None


def _place(metadata: parquet.FileMetaData, name: str) -> int | None:
    paths = [metadata.schema.column(index).path.lower() for index in range(metadata.num_columns)]
    return paths.index(name.lower()) if name.lower() in paths else None


def _nanoseconds(column: parquet.ColumnSchema, stored: StoredColumn) -> int | None:
    """How long what is stored as 1 takes; None: it is neither a time nor a whole number."""
    kind = json.loads(column.logical_type.to_json())
    if kind["Type"] == "Timestamp":
        return _NANOSECONDS[kind["timeUnit"]]
    return stored.microseconds_per_number * 1_000 if _is_number(column) else None


def _is_number(column: parquet.ColumnSchema) -> bool:
    """Whether a column holds whole numbers; of those without a sign, footers do not say the order."""
    kind = json.loads(column.logical_type.to_json())
    is_whole = kind["Type"] == "None" or (kind["Type"] == "Int" and kind["isSigned"])
    return is_whole and column.physical_type in {"INT32", "INT64"}


def _latest(values: pa.ChunkedArray, stored: StoredColumn, furthest: int) -> int:
    """The latest of some instants that is no later than one; there is one that is not."""
    if pa.types.is_integer(values.type):
        last: int = pc.max(values.filter(pc.less_equal(values, furthest // stored.microseconds_per_number))).as_py()
        return last * stored.microseconds_per_number
    microseconds = values.cast(pa.timestamp("us", values.type.tz), safe=False).cast(pa.int64())
    latest: int = pc.max(microseconds.filter(pc.less_equal(microseconds, furthest))).as_py()
    return latest
