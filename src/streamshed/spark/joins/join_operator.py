"""The stage that joins: one call per label and micro-batch, its windows in Spark's state."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.partition.join_result import JoinResult
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.spark.common.internal_names import NEVER_IN_TIME
from streamshed.spark.common.late_processor import MapStateNeeded
from streamshed.spark.common.running_task import micro_batch_id
from streamshed.spark.joins.join_reports import JoinReports, ReportKey
from streamshed.spark.joins.join_work import PIECE_DDL, JoinWork, packed_by_side
from streamshed.spark.plan.plan_client import PlanClient

JOINED_AT = "joined_at"
OUTPUT_DDL = f"{JOINED_AT} timestamp, {PIECE_DDL}"
"""What came of it in pieces; the time is what Spark checks against the watermark."""
BASIC_WINDOWS = MapStateNeeded("basic_windows", "side int, number bigint", "rows binary")


class JoinOperator(StatefulProcessor):
    """The join of the rows of one label.

    State is what `JoinPartition` keeps: basic windows and their directory, of which only those are read that are
    probed. All follows from the rows, the state and the plan of the micro-batch: run again, it does the same.

    Args:
        work: What is joined.
        client: Asks for the plan of a micro-batch.
        reports: Told what was done.
    """

    def __init__(self, work: JoinWork, client: PlanClient, reports: Accumulator[JoinReports]) -> None:
        self._work = work
        self._client = client
        self._reports = reports

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        state = handle.getMapState(*BASIC_WINDOWS)
        self._partition = JoinPartition(self._work.specification, _HeldWindows(state))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N803 - Spark's names
        """Join the rows of a micro-batch with one another and with those of earlier ones."""
        number = micro_batch_id()
        plan = self._client.plan(number)
        come = pd.concat(list(rows), ignore_index=True)
        begun = time.process_time()
        left, right = self._work.tables(packed_by_side(come["side"].tolist(), come["rows"].tolist()))
        # Before there is a watermark, no row is late but what stands for one that was.
        watermark = plan.open - self._work.delay_microseconds if plan.open > 0 else NEVER_IN_TIME + 1
        stream_plan = plan.streams[self._work.name]
        results, expected = self._joined(left, right, stream_plan.join, watermark, int(key[0]))
        pieces = list(self._work.pieces(results, is_summed=self._work.sums_all_of(stream_plan)))
        # What is as old as the watermark is late to Spark, and not to us.
        at = pd.Timestamp(max(plan.open + 1, _latest(results)), unit="us")
        report = PartitionReport.of(results, expected, time.process_time() - begun, self._work.fragments)
        self._reports.add({ReportKey(self._work.name, number, int(key[0])): report})
        for piece in pieces:
            yield pd.DataFrame({JOINED_AT: [at], "kind": [piece.kind], "rows": [piece.blob]})

    def _joined(
        self, left: pa.Table, right: pa.Table, directive: JoinDirective | None, watermark: int | None, label: int
    ) -> tuple[JoinResult, ExpectedComparisons | None]:
        """The results; where the join is not done fully, what that would have compared."""
        if directive is None:
            return self._partition.join(left, right, JoinPlan(watermark_microseconds=watermark)), None
        memory = directive.memory_limit(label)
        if directive.is_full:
            plan = JoinPlan(watermark_microseconds=watermark, seed=directive.seed, memory=memory)
            return self._partition.join(left, right, plan), None
        if directive.sampling_code:
            plan = JoinPlan(watermark_microseconds=watermark, sampling_code=directive.sampling_code)
            return self._partition.join(left, right, plan), None
        expected = self._partition.expected_comparisons(left, right, watermark_microseconds=watermark)
        plan = replace(directive.plan(expected, watermark_microseconds=watermark), memory=memory)
        return self._partition.join(left, right, plan), expected

    def close(self) -> None:
        """Do nothing: all there is to close is Spark's."""


def _latest(results: JoinResult) -> int:
    return int(max(results.left_microseconds.max(initial=0), results.right_microseconds.max(initial=0)))


@dataclass(frozen=True)
class _HeldWindows:
    """Basic windows in Spark's state."""

    state: Any

    def get(self, key: tuple[int, int]) -> bytes | None:
        stored_row = self.state.getValue(key)
        return None if stored_row is None else bytes(stored_row[0])

    def put(self, key: tuple[int, int], blob: bytes) -> None:
        self.state.updateValue(key, (blob,))

    def remove(self, key: tuple[int, int]) -> None:
        self.state.removeKey(key)
