"""A trace: recorded rows with their times, read from Parquet."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamshed.errors import SourceUnavailableError, near_miss
from streamshed.traces.errors import InvalidTraceError

TIME_TYPE = pa.timestamp("us", "UTC")
_SECOND = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """Rows in the order in which they arrived.

    Args:
        table: The rows; the time column is `timestamp(us, UTC)` and may hold nulls, but not only.
        time: Name of the time column.

    Raises:
        InvalidTraceError: There are no rows, no such column, or it holds no times.

    Example:
        >>> times = pa.array([0, 1_000_000, 2_000_000], TIME_TYPE)
        >>> Trace(table=pa.table({"ts": times, "size": [40, 52, -1]}), time="ts").rows_per_second
        1.0
    """

    table: pa.Table
    time: str

    def __post_init__(self) -> None:
        _check(self.table, self.time)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """Microseconds since 1970, one per row; a null time is that of the latest row before it."""
        microseconds = self.table.column(self.time).combine_chunks().cast(pa.int64())
        earliest = pc.min(microseconds).as_py()
        filled = pc.fill_null(pc.fill_null_forward(microseconds), earliest)
        return np.asarray(filled, dtype=np.int64)

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Microseconds after the earliest time at which each row arrived; never decreases."""
        times = self.times
        arrived: NDArray[np.int64] = np.maximum.accumulate(times) - times.min()
        return arrived

    @cached_property
    def period_microseconds(self) -> int:
        """How long one pass takes, up to where the next can begin: the span and one mean gap."""
        span = int(self.positions[-1])
        return span + max(1, round(span / (self.rows - 1))) if span else _SECOND

    @property
    def start_microseconds(self) -> int:
        """The earliest time, in microseconds since 1970."""
        return int(self.times.min())

    @property
    def rows_per_second(self) -> float:
        """The natural rows per second: what a replay at speed 1 delivers."""
        return self.rows * _SECOND / self.period_microseconds


def read_trace(path: Path, *, time: str = "ts") -> Trace:
    """Read a trace into memory.

    Args:
        path: A Parquet file, or a folder of them, read in the order of their names.
        time: Name of the time column.

    Returns:
        The trace, as `trace_of` makes it.

    Raises:
        SourceUnavailableError: There is no such file, or it is not Parquet.
        InvalidTraceError: It has no rows, or no such column of times.
    """
    try:
        return trace_of(_read(path), time=time)
    except InvalidTraceError as error:
        raise InvalidTraceError(f"trace {path}: {error}") from None


def trace_of(table: pa.Table, *, time: str = "ts") -> Trace:
    """Make a trace of rows in memory.

    Strings are held as dictionaries, so that repeating and writing them costs little.

    Args:
        table: The rows, in the order in which they arrived.
        time: Name of the time column, of any timestamp type; one without zone is taken as UTC.

    Returns:
        The trace.

    Raises:
        InvalidTraceError: There are no rows, or no such column of times.
    """
    _check_time(table.schema, time)
    index = table.schema.get_field_index(time)
    times = pc.cast(table.column(index), TIME_TYPE, safe=False)
    table = table.set_column(index, time, times).replace_schema_metadata(None)
    return Trace(table=_with_dictionaries(table), time=time)


def _read(path: Path) -> pa.Table:
    if not path.exists():
        siblings = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise SourceUnavailableError(f"trace {path}: no such file{near_miss(path.name, siblings)}")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise SourceUnavailableError(f"trace {path}: the folder holds no *.parquet files")
    try:
        return pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    except (pa.ArrowException, OSError) as error:
        raise SourceUnavailableError(f"trace {path}: cannot be read as Parquet: {error}") from error


def _check_time(schema: pa.Schema, time: str) -> None:
    if time not in schema.names:
        candidates = [field.name for field in schema if pa.types.is_timestamp(field.type)]
        time_columns = f"; its columns of times: {', '.join(candidates)}" if candidates else ""
        raise InvalidTraceError(f"no column {time!r}{near_miss(time, schema.names)}{time_columns}")
    if not pa.types.is_timestamp(schema.field(time).type):
        raise InvalidTraceError(f"column {time!r} must be a timestamp, got {schema.field(time).type}")


def _check(table: pa.Table, time: str) -> None:
    _check_time(table.schema, time)
    if table.schema.field(time).type != TIME_TYPE:
        raise InvalidTraceError(f"column {time!r} must be {TIME_TYPE}, got {table.schema.field(time).type}")
    if table.num_rows == 0:
        raise InvalidTraceError("has no rows, a replay needs at least one")
    if table.column(time).null_count == table.num_rows:
        raise InvalidTraceError(f"column {time!r} holds only nulls, a replay needs at least one time")


def _with_dictionaries(table: pa.Table) -> pa.Table:
    """Encode what repeats; a dictionary of nearly as many values as rows would only cost memory."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(index)
            if pc.count_distinct(column).as_py() <= table.num_rows // 2:
                column = column.cast(pa.string()).dictionary_encode().combine_chunks()
            table = table.set_column(index, field.name, column)
    return table
