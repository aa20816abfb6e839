"""The event times that the footer of a Parquet file tells of, and which of them are believed.

All are whole microseconds since the epoch, in years that no `datetime` reaches, too.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.network.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER

_NANOSECONDS = {"milliseconds": 1_000_000, "microseconds": 1_000, "nanoseconds": 1}


def events_in_footer(metadata: parquet.FileMetaData, time: str) -> list[tuple[int, int]] | None:
    """Return the first and the last event time, or number, of each row group; None: the footer does not tell them.

    Args:
        metadata: The footer.
        time: The column of event times, in whatever case.
    """
    names = [metadata.schema.column(index).path.lower() for index in range(metadata.num_columns)]
    if time.lower() not in names:
        return None
    column = names.index(time.lower())
    kind = json.loads(metadata.schema.column(column).logical_type.to_json())
    is_number = kind["Type"] in {"None", "Int"} and metadata.schema.column(column).physical_type in {"INT32", "INT64"}
    if not is_number and kind["Type"] != "Timestamp":
        return None
    events = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        first, last = int(statistics.min_raw), int(statistics.max_raw)
        if is_number and max(abs(first), abs(last)) > LARGEST_NUMBER:
            return None
        factor = MICROSECONDS_PER_NUMBER * 1_000 if is_number else _NANOSECONDS[kind["timeUnit"]]
        events.append((first * factor // 1_000, last * factor // 1_000))
    return events or None


def believed_events(path: str, time: str, furthest: int) -> tuple[int, int] | None:
    """Return the first and the last event time of a file up to one; None: it has none.

    Of row groups that reach beyond it the column is read: there are few, as are such rows.

    Args:
        path: A file whose footer tells first and last of all row groups.
        time: The column of event times, in whatever case.
        furthest: Later ones do not count, microseconds.
    """
    with parquet.ParquetFile(path) as file:
        names = [file.metadata.schema.column(index).path for index in range(file.metadata.num_columns)]
        column = [name.lower() for name in names].index(time.lower())
        found: list[tuple[int, int]] = []
        for group, (first, last) in enumerate(events_in_footer(file.metadata, time) or ()):
            believed = last
            if last > furthest >= first:
                believed = _latest(file.read_row_group(group, columns=[names[column]]).column(0), furthest)
            if believed <= furthest:
                found.append((first, believed))
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def _latest(instants: pa.ChunkedArray, furthest: int) -> int:
    """The latest of instants that is no later than one; there is one that is not."""
    microseconds = instants.cast(pa.timestamp("us", instants.type.tz), safe=False).cast(pa.int64())
    latest: int = pc.max(microseconds.filter(pc.less_equal(microseconds, furthest))).as_py()
    return latest
