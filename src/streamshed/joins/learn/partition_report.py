"""What a partition of a join reports of a micro-batch, to plan the next one."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.learn.learned_prices import MicroBatchWork
from streamshed.joins.match.fragments import WHOLE, Fragments
from streamshed.joins.model.arrays import Floats
from streamshed.joins.partition.join_result import JoinResult, RowsBySide
from streamshed.joins.windows.forgotten import EventTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """One partition, one micro-batch.

    A row that goes to several partitions counts in each of them as its share of 1, so that all reports together count
    it once; bytes are what each partition holds.

    Args:
        work: What it did.
        seconds: What that took of a core, planning included.
        expected: Per cell, the comparisons of the full join.
        comparisons: Per cell, those that were made.
        results: Per cell, what they gave.
        weight: Per cell, the same by weight.
        late_rows: New rows older than the watermark, neither compared nor kept.
        full_rows: New rows that would have come to it without sampling.
        full_left_rows: Those of them that are of the left side.
        full_stored_rows: Rows that its windows would hold without it.
        sampling_rate: The rate at which rows were drawn; 1 where all were.
        stored_rows: Rows in the windows after it.
        stored_bytes: How large they are.
        basic_windows: How many there are.
        released_rows: Rows that left the windows early, for memory.
        missed_comparisons: Per cell, comparisons with rows that left so earlier.
        forgotten_rows: Rows that left so and would still be in the windows.
        forgotten_bytes: How large they were.
        missing_times: The first and the last event times of results that are missing for them from now on.
    """

    work: MicroBatchWork
    seconds: float
    expected: tuple[float, ...]
    comparisons: tuple[float, ...]
    results: tuple[float, ...]
    weight: tuple[float, ...]
    late_rows: float
    full_rows: float
    full_left_rows: float
    full_stored_rows: float
    sampling_rate: float
    stored_rows: float
    stored_bytes: int
    basic_windows: int
    released_rows: float
    missed_comparisons: tuple[float, ...]
    forgotten_rows: float
    forgotten_bytes: int
    missing_times: tuple[EventTimes, ...]

    @classmethod
    def of(
        cls,
        join_result: JoinResult,
        expected: ExpectedComparisons | None,
        seconds: float,
        fragments: Fragments = WHOLE,
    ) -> PartitionReport:
        """Return the report on a result.

        Args:
            join_result: The result.
            expected: What the full join would have compared; None: it was the full join, or a sample of its rows.
            seconds: What it took of a core.
            fragments: How the rows of the join are spread over partitions.
        """
        cells, state = join_result.cells, join_result.state
        late = RowsBySide(join_result.left_counts.late, join_result.right_counts.late)
        return cls(
            work=MicroBatchWork.of(join_result, fragments),
            seconds=seconds,
            expected=_as_tuple(join_result.full.comparisons if expected is None else expected.comparisons),
            comparisons=_as_tuple(cells.comparisons),
            results=_as_tuple(cells.results),
            weight=_as_tuple(cells.weight),
            late_rows=late.counted_once(fragments),
            full_rows=join_result.full.come.counted_once(fragments),
            full_left_rows=RowsBySide(join_result.full.come.left, 0.0).counted_once(fragments),
            full_stored_rows=join_result.full.held.counted_once(fragments),
            sampling_rate=join_result.full.sampling_rate,
            stored_rows=state.held.counted_once(fragments),
            stored_bytes=state.bytes,
            basic_windows=state.basic_windows,
            released_rows=state.released.counted_once(fragments),
            missed_comparisons=_as_tuple(join_result.forgotten.comparisons),
            forgotten_rows=join_result.forgotten.held.counted_once(fragments),
            forgotten_bytes=join_result.forgotten.bytes,
            missing_times=join_result.forgotten.times,
        )


def _as_tuple(counts: Floats) -> tuple[float, ...]:
    return tuple(counts.tolist())
