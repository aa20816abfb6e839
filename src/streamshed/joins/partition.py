"""One partition of a windowed join: the operator, micro-batch by micro-batch."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamshed.joins.arrays import Floats
from streamshed.joins.coins import DROPPED, chosen_rows
from streamshed.joins.comparable import check_comparable
from streamshed.joins.directory import Directory
from streamshed.joins.drawn import Drawn, drawn_now, mean_weight
from streamshed.joins.expected_comparisons import ExpectedComparisons, expected_comparisons
from streamshed.joins.forgotten import missing_times
from streamshed.joins.join_result import ForgottenCounts, FullJoin, JoinResult, RowsBySide, SideCounts, StateCounts
from streamshed.joins.kernel import Kernel
from streamshed.joins.matching import Clock, kernel_of
from streamshed.joins.plan import EVERYTHING, JoinPlan
from streamshed.joins.prepare import Prepared, prepared
from streamshed.joins.probe import Probe
from streamshed.joins.release import released
from streamshed.joins.rows import Rows
from streamshed.joins.side import Side
from streamshed.joins.specification import JoinSpecification
from streamshed.joins.store import BasicWindowStore
from streamshed.joins.window_state import WindowState


class JoinPartition:
    """Joins what comes with what came before; all that it remembers is in its store.

    Args:
        specification: The join.
        store: Basic windows of this partition; it may be one that an earlier partition left.
        clock: Seconds, to measure what kernels cost.
        kernel: What finds pairs; None: what the condition has, the cheaper where there are several.

    Example:
        >>> from streamshed.joins.conditions import Equality
        >>> from streamshed.joins.join_windows import JoinWindows
        >>> from streamshed.joins.store import MemoryStore
        >>> specification = JoinSpecification(
        ...     windows=JoinWindows(10, 10, 5),
        ...     condition=Equality(("host",), ("host",)),
        ...     left_time="t",
        ...     right_time="t",
        ... )
        >>> partition = JoinPartition(specification, MemoryStore())
        >>> calls = pa.table({"t": [0, 4], "host": ["a", "b"]})
        >>> alerts = pa.table({"t": [3, 9], "host": ["a", "b"]})
        >>> found = partition.join(calls, alerts.slice(0, 1))
        >>> found.left_microseconds.tolist(), found.right_microseconds.tolist()
        ([0], [3])
        >>> found = partition.join(calls.slice(0, 0), alerts.slice(1, 1))
        >>> found.left_rows().to_pylist(), found.right_rows().to_pylist()
        ([{'t': 4, 'host': 'b'}], [{'t': 9, 'host': 'b'}])
    """

    def __init__(
        self,
        specification: JoinSpecification,
        store: BasicWindowStore,
        *,
        clock: Clock = time.perf_counter,
        kernel: Kernel | None = None,
    ) -> None:
        self._specification = specification
        self._windows = specification.windows
        self._store = store
        self._kernel = kernel or kernel_of(specification.condition, clock)

    def expected_comparisons(
        self, left: pa.Table, right: pa.Table, *, watermark_microseconds: int | None = None
    ) -> ExpectedComparisons:
        """Return what comparing new rows over all lags would take, before anything is read but the directory.

        Args:
            left: New rows of the left side.
            right: Those of the right side.
            watermark_microseconds: Rows older than this are late.

        Raises:
            InvalidNetworkError: A column is missing, or of a type that cannot be compared.
        """
        new = self._prepared(left, right, watermark_microseconds)
        directory = WindowState(self._windows, self._store).directory
        return expected_comparisons(self._windows, directory, new[Side.LEFT].rows.times, new[Side.RIGHT].rows.times)

    def join(self, left: pa.Table, right: pa.Table, plan: JoinPlan = EVERYTHING) -> JoinResult:
        """Join the rows of a micro-batch with one another and with the rows of earlier ones.

        Args:
            left: New rows of the left side, in any order; the same columns and types every time.
            right: Those of the right side.
            plan: What of the full join is done.

        Raises:
            InvalidNetworkError: A column is missing, or of a type that cannot be compared.
            ValueError: The plan is of other windows, or samples a join neither side of which is sampled.
        """
        sampled = self._specification.sampled
        if plan.sampling_code and sampled is None:
            raise ValueError(f"the plan samples at code {plan.sampling_code}, but no side of the join is sampled")
        tables = {Side.LEFT: left, Side.RIGHT: right}
        new = self._prepared(left, right, plan.watermark_microseconds)
        kept = {
            side: one.rows.chosen(chosen_rows(one.rows.times, plan.keep_share, salt=DROPPED + side, seed=plan.seed))
            for side, one in new.items()
        }
        if sampled is not None:
            kept[sampled] = drawn_now(kept[sampled], plan.sampling_code)
        state = WindowState(self._windows, self._store, self._specification.columns)
        expired = state.expire(plan.watermark_microseconds)
        if plan.basic_multiple is not None:
            state.recut(plan.basic_multiple)
        probe = Probe(self._specification, self._kernel, plan, kept, state)
        found = probe.pairs()
        read = state.read
        missed = self._missed(kept, state)
        freed = self._keep(kept, state, plan)
        lefts, rights = probe.rows[Side.LEFT], probe.rows[Side.RIGHT]
        counts = {side: _side_counts(tables[side], new[side], kept[side]) for side in Side}
        strata = None if sampled is None else Drawn.of(probe.rows[sampled].table).strata(plan.sampling_code)
        return JoinResult(
            left=lefts.payload,
            right=rights.payload,
            left_places=found.places[0],
            right_places=found.places[1],
            left_microseconds=found.times[0],
            right_microseconds=found.times[1],
            cells=probe.counter.counts(),
            left_counts=counts[Side.LEFT],
            right_counts=counts[Side.RIGHT],
            state=StateCounts(
                basic_windows_read=read,
                basic_windows=len(state.directory.entries),
                held=RowsBySide.of(state.directory),
                bytes=state.directory.bytes,
                released=RowsBySide.of(freed),
                released_bytes=freed.bytes,
                expired_rows=expired.rows,
            ),
            forgotten=ForgottenCounts(
                comparisons=missed,
                held=RowsBySide.of(state.forgotten),
                bytes=state.forgotten.bytes,
                times=missing_times(state.forgotten, self._windows, plan.watermark_microseconds),
            ),
            full=self._full(probe, counts, state.directory, plan.sampling_code),
            strata=strata,
        )

    def _full(self, probe: Probe, counts: Mapping[Side, SideCounts], held: Directory, code: int) -> FullJoin:
        """What the micro-batch would have been without sampling, as far as rows in reach tell of those stored."""
        come, stored = [], []
        for side in Side:
            received, kept = counts[side].received, sum(one.rows for one in held.of(side))
            is_drawn = side is self._specification.sampled
            come.append(mean_weight([], code) * (received - counts[side].dropped) if is_drawn else received)
            stored.append(probe.stored_weight * kept if is_drawn else kept)
        return FullJoin(
            comparisons=probe.counter.full_comparisons,
            come=RowsBySide(*come),
            held=RowsBySide(*stored),
            sampling_rate=1.0 / mean_weight([], code),
        )

    def _prepared(self, left: pa.Table, right: pa.Table, watermark: int | None) -> dict[Side, Prepared]:
        check_comparable(self._specification.condition, left.schema, right.schema)
        tables = {Side.LEFT: left, Side.RIGHT: right}
        return {side: prepared(self._specification, side, table, watermark) for side, table in tables.items()}

    def _missed(self, rows: Mapping[Side, Rows], state: WindowState) -> Floats:
        """The comparisons with rows that were released, per cell."""
        if not state.forgotten.entries:
            return np.zeros(self._windows.cells)
        of_sides = (rows[side].times for side in Side)
        return np.array(expected_comparisons(self._windows, state.forgotten, *of_sides).with_stored)

    def _keep(self, rows: Mapping[Side, Rows], state: WindowState, plan: JoinPlan) -> Directory:
        """Take new rows into the windows; return what had to be released for it."""
        for side, new in rows.items():
            state.add(side, new)
        freed = Directory()
        if plan.memory is not None:
            freed = state.release(released(state.directory, state.forgotten, self._windows, plan.memory))
        state.save()
        return freed


def _side_counts(table: pa.Table, new: Prepared, kept: Rows) -> SideCounts:
    return SideCounts(
        received=table.num_rows,
        late=new.late,
        without_time=new.without_time,
        unmatchable=new.unmatchable,
        dropped=len(new.rows) - len(kept),
        kept=len(kept),
    )
