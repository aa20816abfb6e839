"""One partition of a windowed join: the operator, micro-batch by micro-batch."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons, expected_comparisons
from streamshed.joins.match.coins import DROPPED, chosen_rows
from streamshed.joins.match.drawn import Drawn, drawn_now, mean_weight
from streamshed.joins.match.kernel import Kernel
from streamshed.joins.match.matching import Clock, kernel_of
from streamshed.joins.match.prepare import Prepared, prepared
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.comparable import check_comparable
from streamshed.joins.model.side import Side
from streamshed.joins.model.side_rows import SideRows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.join_result import (
    ForgottenCounts,
    FullJoin,
    JoinResult,
    RowsBySide,
    SideCounts,
    StateCounts,
)
from streamshed.joins.partition.probe import Probe
from streamshed.joins.windows.directory import Directory
from streamshed.joins.windows.forgotten import missing_times
from streamshed.joins.windows.join_plan import EVERYTHING, JoinPlan
from streamshed.joins.windows.release import released
from streamshed.joins.windows.store import BasicWindowStore
from streamshed.joins.windows.window_state import WindowState


class JoinPartition:
    """Joins what comes with what came before; all that it remembers is in its store.

    Args:
        specification: The join.
        store: Basic windows of this partition; it may be one that an earlier partition left.
        clock: Seconds, to measure what kernels cost.
        kernel: What finds pairs; None: what the condition has, the cheaper where there are several.

    Example:
        >>> from streamshed.joins.model.conditions import Equality
        >>> from streamshed.joins.model.join_windows import JoinWindows
        >>> from streamshed.joins.windows.store import MemoryStore
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
            watermark_microseconds: SideRows older than this are late.

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
        admitted = self._admitted(new, plan)
        state = WindowState(self._windows, self._store, self._specification.columns)
        state.expire(plan.watermark_microseconds)
        if plan.basic_multiple is not None:
            state.recut(plan.basic_multiple)
        probe = Probe(self._specification, self._kernel, plan, admitted, state)
        pairs = probe.pairs()
        read = state.read
        missed = self._missed(admitted, state)
        freed = self._keep(admitted, state, plan)
        lefts, rights = probe.rows[Side.LEFT], probe.rows[Side.RIGHT]
        counts = {side: _side_counts(tables[side], new[side], admitted[side]) for side in Side}
        strata = None if sampled is None else Drawn.of(probe.rows[sampled].table).strata(plan.sampling_code)
        return JoinResult(
            left=lefts.payload,
            right=rights.payload,
            left_places=pairs.places[0],
            right_places=pairs.places[1],
            left_microseconds=pairs.times[0],
            right_microseconds=pairs.times[1],
            cells=probe.counter.counts(),
            left_counts=counts[Side.LEFT],
            right_counts=counts[Side.RIGHT],
            state=_state_counts(state.directory, freed, basic_windows_read=read),
            forgotten=ForgottenCounts(
                comparisons=missed,
                held=RowsBySide.of(state.forgotten),
                bytes=state.forgotten.bytes,
                times=missing_times(state.forgotten, self._windows, plan.watermark_microseconds),
            ),
            full=self._full(probe, counts, state.directory, plan.sampling_code),
            strata=strata,
        )

    def _admitted(self, new: Mapping[Side, Prepared], plan: JoinPlan) -> dict[Side, SideRows]:
        """The new rows that take part: not dropped, and in the sample where their side is sampled."""
        admitted = {}
        for side, arrived in new.items():
            times = arrived.rows.times
            admitted[side] = arrived.rows.chosen(
                chosen_rows(times, plan.keep_share, salt=DROPPED + side, seed=plan.seed)
            )
        sampled = self._specification.sampled
        if sampled is not None:
            admitted[sampled] = drawn_now(admitted[sampled], plan.sampling_code)
        return admitted

    def _full(self, probe: Probe, counts: Mapping[Side, SideCounts], held: Directory, code: int) -> FullJoin:
        """Estimate what the micro-batch would have been without sampling, from the rows in reach."""
        come, stored = [], []
        for side in Side:
            received, rows_in_store = counts[side].received, sum(entry.rows for entry in held.of(side))
            is_drawn = side is self._specification.sampled
            come.append(mean_weight([], code) * (received - counts[side].dropped) if is_drawn else received)
            stored.append(probe.stored_weight * rows_in_store if is_drawn else rows_in_store)
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

    def _missed(self, rows: Mapping[Side, SideRows], state: WindowState) -> Floats:
        """The comparisons with rows that were released, per cell."""
        if not state.forgotten.entries:
            return np.zeros(self._windows.cells)
        of_sides = (rows[side].times for side in Side)
        return np.array(expected_comparisons(self._windows, state.forgotten, *of_sides).with_stored)

    def _keep(self, rows: Mapping[Side, SideRows], state: WindowState, plan: JoinPlan) -> Directory:
        """Take new rows into the windows; return what had to be released for it."""
        for side, new in rows.items():
            state.add(side, new)
        freed = Directory()
        if plan.memory is not None:
            freed = state.release(released(state.directory, state.forgotten, self._windows, plan.memory))
        state.save()
        return freed


def _state_counts(directory: Directory, freed: Directory, *, basic_windows_read: int) -> StateCounts:
    return StateCounts(
        basic_windows_read=basic_windows_read,
        basic_windows=len(directory.entries),
        held=RowsBySide.of(directory),
        bytes=directory.bytes,
        released=RowsBySide.of(freed),
    )


def _side_counts(table: pa.Table, new: Prepared, admitted: SideRows) -> SideCounts:
    return SideCounts(
        received=table.num_rows,
        late=new.late,
        without_time=new.without_time,
        unmatchable=new.unmatchable,
        dropped=len(new.rows) - len(admitted),
        admitted=len(admitted),
    )
