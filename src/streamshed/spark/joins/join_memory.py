"""What the windows of joins may take, and what is missing because they may not take more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamshed.answering.table.shed_interval import UNSETTLED
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.learn.partition_report import PartitionReport
from streamshed.joins.model.arrays import Floats
from streamshed.joins.windows.forgotten import EventTimes
from streamshed.joins.windows.memory_shares import MemoryShares, shared
from streamshed.network.model.join_source import JoinSource
from streamshed.network.terms.join_condition import EqualColumns
from streamshed.spark.joins.join_reports import JoinReports
from streamshed.spark.joins.join_rows import fragments_of

_PARTLY = 0.999
"""The largest share of results that is said where some are missing."""


@dataclass(frozen=True, kw_only=True)
class LabelMemory:
    """What a partition told last.

    Attributes:
        wanted_bytes: What its windows would take, nothing released.
        rows: What they hold.
        forgotten_rows: What they would hold besides.
        results: What it found.
        missed_results: What it would have found besides, by what comparisons yield.
        missing_times: Event times of results that are missing from now on.
    """

    wanted_bytes: int
    rows: float
    forgotten_rows: float
    results: float
    missed_results: float
    missing_times: tuple[EventTimes, ...]

    @classmethod
    def of(cls, report: PartitionReport, results_per_comparison: Floats) -> LabelMemory:
        """Return what a report says."""
        return cls(
            wanted_bytes=report.stored_bytes + report.forgotten_bytes,
            rows=report.stored_rows,
            forgotten_rows=report.forgotten_rows,
            results=sum(report.results),
            missed_results=float(np.dot(report.missed_comparisons, results_per_comparison)),
            missing_times=report.missing_times,
        )


@dataclass(frozen=True, kw_only=True)
class HeldWindows:
    """What is known of the windows of one join.

    Args:
        limit: What they may take, bytes; None: anything.
        partitions: How many partitions have rows.
        label_memories: What each partition told last, by its label.
        through: The latest micro-batch that any partition told of.

    Example:
        >>> memories = {n: LabelMemory(wanted_bytes=n * 100, rows=1, forgotten_rows=3, results=0.0, missed_results=0.0,
        ...     missing_times=((5, 9),)) for n in (1, 3)}
        >>> held = HeldWindows(limit=1000, partitions=2, label_memories=memories, through=6)
        >>> held.shares(None).by_label, held.delivered_share
        ({1: 400, 3: 600}, 0.25)
        >>> held.missing_times(7, None, opened=2), HeldWindows.restored(1000, 2, held.to_document()) == held
        (((5, 9), (5, 9)), True)
    """

    limit: int | None
    partitions: int
    label_memories: Mapping[int, LabelMemory]
    through: int = -1

    @classmethod
    def of(
        cls, join: JoinSource, partitions: int, document: Mapping[str, Any] | None, *, is_limited: bool
    ) -> HeldWindows:
        """Return what is known of a join at the start.

        Args:
            join: The join.
            partitions: Of state.
            document: What `to_document` wrote before a restart.
            is_limited: Whether its limit is heeded.
        """
        limit = join.shedding.memory_bytes if is_limited else None
        spread = partitions if isinstance(join.condition, EqualColumns) else fragments_of(join, partitions).partitions
        return cls.restored(limit, spread, document)

    @classmethod
    def restored(cls, limit: int | None, partitions: int, document: Mapping[str, Any] | None) -> HeldWindows:
        """Read what `to_document` wrote."""
        if document is None:
            return cls(limit=limit, partitions=partitions, label_memories={})
        label_memories = {
            int(label): LabelMemory(**{**figures, "missing_times": tuple(map(tuple, figures["missing_times"]))})
            for label, figures in document["told"].items()
        }
        return cls(limit=limit, partitions=partitions, label_memories=label_memories, through=document["through"])

    def to_document(self) -> dict[str, Any]:
        """Return what partitions told, as JSON can hold it."""
        return {
            "through": self.through,
            "told": {str(label): vars(memory) for label, memory in self.label_memories.items()},
        }

    def taken(self, stream: str, reports: JoinReports, results_per_comparison: Floats) -> HeldWindows:
        """Return what is known after partitions have told more.

        Args:
            stream: The joined stream.
            reports: Of any joins, and micro-batches that are not older than those before.
            results_per_comparison: Of each cell.
        """
        report_keys = sorted(key for key in reports if key.stream == stream)
        if not report_keys:
            return self
        label_memories = {
            **self.label_memories,
            **{key.label: LabelMemory.of(reports[key], results_per_comparison) for key in report_keys},
        }
        return replace(self, label_memories=label_memories, through=max(self.through, report_keys[-1].micro_batch_id))

    def shares(self, last: JoinDirective | None) -> MemoryShares | None:
        """Return what partitions may keep; None: all.

        Args:
            last: What they were told in the micro-batch before; after a crash, all that is known of their sizes.
        """
        if self.limit is None:
            return None
        before = None if last is None else last.memory
        if len(self.label_memories) < self.partitions and before is not None and before.by_label:
            if before.limit == self.limit:
                return before
            wanted = {label: max(1, size * self.limit // before.limit) for label, size in before.by_label.items()}
        else:
            wanted = {label: memory.wanted_bytes for label, memory in self.label_memories.items()}
        return shared(self.limit, wanted, partitions=self.partitions)

    @property
    def delivered_share(self) -> float:
        """The share of all results that is found with the rows still held."""
        delivered, missed = (
            sum(getattr(memory, name) for memory in self.label_memories.values())
            for name in ("results", "missed_results")
        )
        if not missed:
            delivered = sum(memory.rows for memory in self.label_memories.values())
            missed = sum(memory.forgotten_rows for memory in self.label_memories.values())
        return min(_PARTLY, delivered / (delivered + missed)) if missed else _PARTLY

    def missing_times(self, micro_batch_id: int, last: JoinDirective | None, *, opened: int) -> tuple[EventTimes, ...]:
        """Return the event times of results that may be missing because rows were released.

        After a crash nobody knows what was released in the micro-batch before: then that is any time, `UNSETTLED`, in
        this micro-batch, whose reports tell it again for later ones.

        Args:
            micro_batch_id: The micro-batch that is planned.
            last: What partitions were told in the one before; None: to do all.
            opened: The watermark, microseconds.
        """
        intervals = tuple(times for memory in self.label_memories.values() for times in memory.missing_times)
        if last is not None and last.memory is not None and self.through < micro_batch_id - 1:
            return (*intervals, (opened, UNSETTLED))
        return intervals
