"""The event times of a Parquet file some rows of which are too far ahead to be believed."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.network.numbering import MICROSECONDS_PER_NUMBER

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def believed_events(path: str, time: str, furthest: int) -> tuple[int, int] | None:
    """Return the first and the last event time of a file up to one; None: it has none.

    Of row groups that reach beyond it the column is read: there are few, as are such rows.

    Args:
        path: A file whose footer tells first and last of all row groups.
        time: The column of event times, in whatever case.
        furthest: Later ones do not count, microseconds.
    """
    with parquet.ParquetFile(path) as file:
        metadata = file.metadata
        names = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
        column = [name.lower() for name in names].index(time.lower())
        found: list[tuple[int, int]] = []
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(column).statistics
            first, last = instant_of(statistics.min), instant_of(statistics.max)
            if last > furthest >= first:
                last = _latest(file.read_row_group(group, columns=[names[column]]).column(0), furthest)
            if last <= furthest:
                found.append((first, last))
    return (min(first for first, _ in found), max(last for _, last in found)) if found else None


def instant_of(bound: datetime | int) -> int:
    """Return what a footer says of an event time, or a number, in microseconds."""
    if isinstance(bound, int):
        return bound * MICROSECONDS_PER_NUMBER
    elapsed = bound.replace(tzinfo=UTC) - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def _latest(instants: pa.ChunkedArray, furthest: int) -> int:
    """The latest of instants that is no later than one; there is one that is not."""
    microseconds = instants.cast(pa.timestamp("us", instants.type.tz), safe=False).cast(pa.int64())
    latest: int = pc.max(microseconds.filter(pc.less_equal(microseconds, furthest))).as_py()
    return latest
