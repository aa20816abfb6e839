"""What a micro-batch of a join gave."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from streamshed.joins.match.fragments import Fragments
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.side import Side
from streamshed.joins.windows.directory import Directory
from streamshed.joins.windows.forgotten import EventTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCounts:
    """New rows of one side: received = late + without_time + unmatchable + dropped + admitted.

    Args:
        received: How many came.
        late: Older than the watermark; neither compared nor stored.
        without_time: Their time is null.
        unmatchable: They join nothing: null in the key, too few items in the set.
        dropped: Dropped by `keep_share`.
        admitted: Compared, and stored in the window.
    """

    received: int
    late: int
    without_time: int
    unmatchable: int
    dropped: int
    admitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCounts:
    """What was counted of each cell.

    Args:
        comparisons: Pairs whose lags were compared.
        results: Those of them that join.
        weight: What these are worth; the same as `results` where they have no weight.
    """

    comparisons: Floats
    results: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class RowsBySide:
    """Rows of both sides.

    Args:
        left: Of the left side.
        right: Of the right side.

    Example:
        >>> RowsBySide(6, 8).counted_once(Fragments(left=4, right=2))
        5.0
    """

    left: float
    right: float

    @classmethod
    def of(cls, directory: Directory) -> RowsBySide:
        """Return the rows of some basic windows."""
        left, right = (sum(one.rows for one in directory.of(side)) for side in Side)
        return cls(left, right)

    @property
    def total(self) -> float:
        """Rows of either."""
        return self.left + self.right

    def counted_once(self, fragments: Fragments) -> float:
        """Return the rows that a partition stands for: a row that goes to n partitions counts as 1/n in each."""
        return self.left / fragments.copies(Side.LEFT) + self.right / fragments.copies(Side.RIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCounts:
    """What became of the state.

    Args:
        basic_windows_read: How many were read.
        basic_windows: How many there are.
        held: The rows that they hold.
        bytes: How large they are.
        released: Rows that left early, for memory.
    """

    basic_windows_read: int
    basic_windows: int
    held: RowsBySide
    bytes: int
    released: RowsBySide

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return round(self.held.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenCounts:
    """What is missing because rows were released for memory, in this micro-batch or earlier ones.

    Args:
        comparisons: Per cell, how many this micro-batch would have made with such rows.
        held: Those of them that the windows would still hold.
        bytes: How large they were.
        times: The intervals of event times in which results will be missing for want of them, from the next micro-batch
            on.
    """

    comparisons: Floats
    held: RowsBySide
    bytes: int
    times: tuple[EventTimes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FullJoin:
    """What the micro-batch would have been with all rows of the sampled side, as far as those drawn tell.

    Args:
        comparisons: Per cell; where comparisons are left out for other reasons, those that were made.
        come: New rows.
        held: Rows that the windows would hold.
        sampling_rate: The rate at which new rows were drawn.
    """

    comparisons: Floats
    come: RowsBySide
    held: RowsBySide
    sampling_rate: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinResult:
    """Pairs that join, and what was counted on the way.

    Args:
        left: Left rows, of which some are in pairs.
        right: Right rows likewise.
        left_places: Per pair, the place of its left row in `left`.
        right_places: That of its right row in `right`.
        left_microseconds: The time of each pair's left row.
        right_microseconds: That of its right row.
        cells: Counts per cell.
        left_counts: New rows of the left side.
        right_counts: Those of the right side.
        state: What became of the state.
        forgotten: What is missing because of earlier releases.
        full: What it would have been, had all rows been drawn.
        strata: Per row of the sampled side, in `left` or `right`, a number for the rate and the cohort of its pairs
            (`Drawn.strata`); None: all pairs are there.
    """

    left: pa.Table
    right: pa.Table
    left_places: Ints
    right_places: Ints
    left_microseconds: Ints
    right_microseconds: Ints
    cells: CellCounts
    left_counts: SideCounts
    right_counts: SideCounts
    state: StateCounts
    forgotten: ForgottenCounts
    full: FullJoin
    strata: Ints | None = None

    def __len__(self) -> int:
        return len(self.left_places)

    def left_rows(self) -> pa.Table:
        """Return the left row of each pair."""
        return self.left.take(pa.array(self.left_places))

    def right_rows(self) -> pa.Table:
        """Return the right row of each pair."""
        return self.right.take(pa.array(self.right_places))
