"""The stage that joins: one call per label and micro-batch, its windows in Spark's state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from streamshed.joins.arrays import one_chunk
from streamshed.joins.directive import JoinDirective
from streamshed.joins.expected_comparisons import ExpectedComparisons
from streamshed.joins.join_result import JoinResult
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.partition import JoinPartition
from streamshed.joins.partition_report import PartitionReport
from streamshed.joins.plan import EVERYTHING, JoinPlan
from streamshed.joins.side import Side
from streamshed.joins.specification import JoinSpecification
from streamshed.joins.store import MemoryStore
from streamshed.network.join_source import JoinSource
from streamshed.spark.internal_names import TIME
from streamshed.spark.join_reports import JoinReports, ReportKey
from streamshed.spark.join_rows import join_condition_of, pieces, to_blob, unpacked_side
from streamshed.spark.join_weight import JoinWeight
from streamshed.spark.late_processor import MapStateNeeded
from streamshed.spark.plan_client import PlanClient
from streamshed.spark.running_task import micro_batch_id

JOINED_AT = "joined_at"
OUTPUT_DDL = f"{JOINED_AT} timestamp, rows binary"
"""Results in pieces; the time is what Spark checks against the watermark."""
BASIC_WINDOWS = MapStateNeeded("basic_windows", "side int, number bigint", "rows binary")


@dataclass(frozen=True)
class JoinWork:
    """What the tasks of a join are told.

    Attributes:
        name: Of the joined stream.
        join: The join.
        sides: The columns of either side's rows: `TIME`, then those that results have.
        schema: The columns of results that are asked for: their time, then those of the left and of the right rows.
        weight: What results are worth; None: all the same.
    """

    name: str
    join: JoinSource
    sides: Mapping[Side, pa.Schema]
    schema: pa.Schema
    weight: JoinWeight | None = None

    @property
    def specification(self) -> JoinSpecification:
        """The join over those columns."""
        return JoinSpecification(
            windows=windows_of(self.join),
            condition=join_condition_of(self.join),
            left_time=TIME,
            right_time=TIME,
            weight=self.weight,
            weight_columns=None if self.weight is None else self.weight.columns,
        )

    def tables(self, packed: Mapping[Side, list[bytes | None]]) -> tuple[pa.Table, pa.Table]:
        """Return the rows of both sides."""
        left, right = (unpacked_side(packed[side], self.sides[side]) for side in Side)
        return left, right

    def rows(self, found: JoinResult) -> pa.Table:
        """Return the results: the later of the two times, and what is asked for of both rows."""
        later = np.maximum(found.left_microseconds, found.right_microseconds)
        times = pa.array(later).cast(self.schema.field(0).type)
        sides = ((found.left, found.left_places), (found.right, found.right_places))
        columns = [
            rows.column(name).take(pa.array(places))
            for rows, places in sides
            for name in rows.column_names
            if name in self.schema.names
        ]
        return pa.Table.from_arrays([times, *columns], schema=self.schema)

    def all_at_once(self) -> Callable[[pa.Table], pa.Table]:
        """Return what joins all rows of a label, in batch mode."""

        def joined(packed: pa.Table) -> pa.Table:
            by_side = packed_by_side(packed.column("side").to_pylist(), packed.column("rows").to_pylist())
            found = JoinPartition(self.specification, MemoryStore()).join(*self.tables(by_side), EVERYTHING)
            return pa.table({"rows": pa.array([to_blob(piece) for piece in pieces(self.rows(found))], pa.binary())})

        return joined


def windows_of(join: JoinSource) -> JoinWindows:
    """Return the windows of a join, cut into cells."""
    return JoinWindows(join.left_microseconds, join.right_microseconds, join.basic_microseconds)


def packed_by_side(sides: list[int], blobs: list[bytes | None]) -> dict[Side, list[bytes | None]]:
    """Return packed rows by their side."""
    return {side: [blob for one, blob in zip(sides, blobs, strict=True) if one == side] for side in Side}


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
        # Before there is a watermark, no row is late.
        watermark = plan.open if plan.open > 0 else None
        found, expected = self._joined(left, right, plan.streams[self._work.name].join, watermark, int(key[0]))
        blobs = [(_latest(piece), to_blob(piece)) for piece in pieces(self._work.rows(found))]
        report = PartitionReport.of(found, expected, time.process_time() - begun)
        self._reports.add({ReportKey(self._work.name, number, int(key[0])): report})
        for latest, blob in blobs:
            # What is as old as the watermark is late to Spark, and not to us.
            at = max(plan.open + 1, latest)
            yield pd.DataFrame({JOINED_AT: pd.to_datetime([at], unit="us"), "rows": [blob]})

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
        expected = self._partition.expected_comparisons(left, right, watermark_microseconds=watermark)
        plan = replace(directive.plan(expected, watermark_microseconds=watermark), memory=memory)
        return self._partition.join(left, right, plan), expected

    def close(self) -> None:
        """Do nothing: all there is to close is Spark's."""


def _latest(results: pa.Table) -> int:
    return int(np.asarray(one_chunk(results.column(0)).cast(pa.int64())).max())


@dataclass(frozen=True)
class _HeldWindows:
    """Basic windows in Spark's state."""

    state: Any

    def get(self, key: tuple[int, int]) -> bytes | None:
        found = self.state.getValue(key)
        return None if found is None else bytes(found[0])

    def put(self, key: tuple[int, int], blob: bytes) -> None:
        self.state.updateValue(key, (blob,))

    def remove(self, key: tuple[int, int]) -> None:
        self.state.removeKey(key)
