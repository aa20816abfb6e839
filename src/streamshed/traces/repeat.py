"""A trace repeated without end and compressed in time, its rows numbered through all passes."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.load_profile import LoadProfile
from streamshed.traces.trace import TIME_TYPE, Trace

_SECOND = 1_000_000
_MOST_PIECES = 16


class Pacing(StrEnum):
    """How closely the rows per second follow the load profile.

    `STEADY`: every interval holds exactly as many rows as the profile says; the trace's own gaps are kept,
    in proportion, inside each interval.
    `TRACE`: the trace's own bursts are kept at every scale; the profile's rows per second are met as the
    mean over a pass of the trace.
    """

    STEADY = "steady"
    TRACE = "trace"


@dataclass(frozen=True, kw_only=True, eq=False)
class Repetition:
    """When each row of an endlessly repeated trace arrives, and what its time is.

    Row g is row g mod N of pass g div N of a trace of N rows. One second of replay is one second of event
    time: event times go on over the passes, compressed so that a pass takes N / R seconds at load factor 1.

    Args:
        trace: What is repeated.
        profile: Load factor over the time of the replay.
        rows_per_second: R, the base rate, above 0.
        pacing: How closely the profile is followed.
        interval_microseconds: Length of the intervals that `STEADY` pacing fills.
        start_microseconds: The event time at which the replay starts; None takes that of the trace.

    Raises:
        InvalidReplayError: The base rate or the interval is not above 0.

    Example:
        >>> from streamshed.traces.load_profile import constant_load
        >>> times = pa.array([0, 1_000_000, 3_000_000], pa.timestamp("us", "UTC"))
        >>> trace = Trace(table=pa.table({"ts": times, "size": [40, 52, -1]}), time="ts")
        >>> repetition = Repetition(trace=trace, profile=constant_load(2_000_000), rows_per_second=3)
        >>> repetition.rows_until(2_000_000)
        6
        >>> repetition.arrivals(0, 6, begin=0, end=2_000_000).tolist()
        [0, 222222, 666666, 1000000, 1222222, 1666666]
    """

    trace: Trace
    profile: LoadProfile
    rows_per_second: float
    pacing: Pacing = Pacing.STEADY
    interval_microseconds: int = 500_000
    start_microseconds: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rows_per_second < float("inf"):
            raise InvalidReplayError(f"rows per second must be above 0, got {self.rows_per_second}")
        if self.interval_microseconds <= 0:
            raise InvalidReplayError(
                f"the feed interval must last longer than 0, got {self.interval_microseconds} microseconds"
            )

    @property
    def start(self) -> int:
        """The event time at which the replay starts, in microseconds since 1970."""
        return self.trace.start_microseconds if self.start_microseconds is None else self.start_microseconds

    @cached_property
    def _compression(self) -> float:
        """Microseconds at load factor 1 per microsecond of the trace."""
        return self.trace.rows / self.rows_per_second * _SECOND / self.trace.period_microseconds

    def rows_until(self, microseconds: int) -> int:
        """Count the rows that arrive before a time of the replay, which starts at 0."""
        match self.pacing:
            case Pacing.STEADY:
                return self.profile.rows_until(microseconds, rows_per_second=self.rows_per_second)
            case Pacing.TRACE:
                position = self.profile.load_until(microseconds) / self._compression
                passes, rest = divmod(position, self.trace.period_microseconds)
                return int(passes) * self.trace.rows + int(np.searchsorted(self.trace.positions, rest))
            case _:
                assert_never(self.pacing)

    def rows(self, first: int, last: int, *, times: NDArray[np.int64]) -> pa.Table:
        """Take rows of the repeated trace.

        Args:
            first: The first row.
            last: Behind the last row.
            times: Their shifted times, from `event_times`; a row whose time is null keeps it.

        Returns:
            A table with the columns of the trace.
        """
        rows = repeated(self.trace.table, first, last)
        index = rows.schema.get_field_index(self.trace.time)
        without_time = np.asarray(rows.column(index).is_null()) if rows.column(index).null_count else None
        return rows.set_column(index, rows.schema.field(index), pa.array(times, TIME_TYPE, mask=without_time))

    def arrivals(self, first: int, last: int, *, begin: int, end: int) -> NDArray[np.int64]:
        """Say when rows arrive that all arrive in one interval.

        Args:
            first: The first row.
            last: Behind the last row.
            begin: Where the interval begins, in microseconds of the replay.
            end: Where it ends; `rows_until(begin)` is `first` and `rows_until(end)` is `last`.

        Returns:
            Microseconds of the replay, never decreasing, in [begin, end).
        """
        if first == last:
            return np.empty(0, dtype=np.int64)
        match self.pacing:
            case Pacing.STEADY:
                arrived = begin + self._shares(first, last) * (end - begin)
            case Pacing.TRACE:
                arrived = self.profile.time_of_load(self._positions(first, last) * self._compression)
            case _:
                assert_never(self.pacing)
        return np.clip(arrived.astype(np.int64), begin, end - 1)

    def _shares(self, first: int, last: int) -> NDArray[np.float64]:
        """Where rows lie between the first of them and the one after the last, in [0, 1]."""
        positions = self._positions(first, last + 1)
        width = int(positions[-1] - positions[0])
        if width == 0:
            return np.arange(last - first) / (last - first)
        shares: NDArray[np.float64] = (positions[:-1] - positions[0]) / width
        return shares

    def event_times(self, first: int, last: int, arrivals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Say what the shifted times of rows are.

        Args:
            first: The first row.
            last: Behind the last row.
            arrivals: When they arrive, from `arrivals`.

        Returns:
            Microseconds since 1970: the arrival, or earlier by as much as the row was out of order in the
            trace, compressed like the trace.
        """
        lags = self._lags
        if lags is None:
            return arrivals + self.start
        return arrivals + self.start - lags[np.arange(first, last) % self.trace.rows]

    @cached_property
    def _lags(self) -> NDArray[np.int64] | None:
        lags = self.trace.positions - (self.trace.times - self.trace.start_microseconds)
        return (lags * self._compression).astype(np.int64) if lags.any() else None

    def _positions(self, first: int, last: int) -> NDArray[np.int64]:
        """Microseconds of the trace at which rows lie, counted through all passes."""
        passes, rows = np.divmod(np.arange(first, last), self.trace.rows)
        positions: NDArray[np.int64] = passes * self.trace.period_microseconds + self.trace.positions[rows]
        return positions


def repeated(table: pa.Table, first: int, last: int) -> pa.Table:
    """Take rows [first, last) of a table repeated without end.

    Nothing is copied unless there are so many passes that the pieces would cost more than the copy.

    Args:
        table: What is repeated, at least one row.
        first: The first row, counted through all passes.
        last: Behind the last row.

    Returns:
        A table of last - first rows.

    Example:
        >>> repeated(pa.table({"size": [40, 52, -1]}), 2, 7).column("size").to_pylist()
        [-1, 40, 52, -1, 40]
    """
    if last - first > _MOST_PIECES * table.num_rows:
        return table.take(np.arange(first, last) % table.num_rows)
    pieces = []
    while first < last:
        offset = first % table.num_rows
        length = min(last - first, table.num_rows - offset)
        pieces.append(table.slice(offset, length))
        first += length
    return pa.concat_tables(pieces) if pieces else table.slice(0, 0)
