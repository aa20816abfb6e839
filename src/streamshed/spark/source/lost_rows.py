"""Rows that a broker deleted before they were read: how many, and which share is there, told for each micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streamshed.spark.checkpoint.checkpoint_reader import offset_ranges
from streamshed.spark.checkpoint.partition_offsets import PartitionOffsets, rows_before, rows_by_partition
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage

_Range = tuple[PartitionOffsets, PartitionOffsets]


class Earliest(Protocol):
    """Tells the earliest offsets of topics."""

    def earliest(self, partitions: PartitionOffsets) -> PartitionOffsets | None:
        """Return the earliest offset that each partition has; None: nobody answers."""


class LostRows:
    """Finds gaps in the offsets of streams.

    Spark goes on where a topic begins now, and says nothing. A micro-batch lacks rows if it was to begin before that.
    The broker is asked before a micro-batch reads its rows, and again after one that read fewer than its offsets
    promise: rows may have been deleted meanwhile. Fewer rows alone say nothing: transactions and compaction take
    offsets, too. Of the last micro-batch of a run that died nobody knows how many were read: what is gone of it by the
    restart counts.

    Args:
        brokers: By stream, who tells where its topics begin.
        rows: How many rows are known to be lost.
        untold: By stream, of rows that no plan has told of, which share was there; None: nobody knows, as the run
            before died.
    """

    def __init__(
        self, brokers: Mapping[str, Earliest], rows: int = 0, untold: Mapping[str, float] | None = None
    ) -> None:
        self._brokers = brokers
        self._ranges: dict[int, dict[str, list[_Range]]] = {}
        self._lost: dict[int, dict[str, int]] = {}
        self.untold: Mapping[str, float] | None = untold
        """By stream that lacks rows, and no plan has told of it, which share was there; None: nobody has looked."""
        self.rows = rows
        """How many are known to be lost by now."""

    def coming(self, checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> dict[str, float]:
        """Return which share of its rows is there, by stream that a micro-batch lacks rows of.

        So it is for those that the one before lacked without a word; of both the lesser share holds.

        Args:
            checkpoint: Spark's.
            micro_batch_id: Which.
            places: Of the sources.
        """
        if not self._brokers:
            return {}
        if self.untold is None:
            self.again(checkpoint, micro_batch_id - 1, places)
        by_source = offset_ranges(checkpoint, micro_batch_id, places)
        ranges = {
            stream: [by_source[source] for source in places.sources_of(stream) if source in by_source]
            for stream in self._brokers
        }
        lost = {stream: self._missing(stream, of_stream) for stream, of_stream in ranges.items()}
        self._ranges[micro_batch_id], self._lost[micro_batch_id] = ranges, lost
        later, self.untold = self.untold or {}, {}
        self.rows += sum(lost.values())
        now = {stream: _share_there(_promised(ranges[stream]), rows) for stream, rows in lost.items() if rows}
        return {stream: min(now.get(stream, 1.0), later.get(stream, 1.0)) for stream in now.keys() | later.keys()}

    def again(self, checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> None:
        """Look after a micro-batch that an earlier process planned: what it lacks now, the next one tells.

        That is in time: a micro-batch closes no window that rows of its own belong to.
        """
        self.untold = {}
        self.untold = self.coming(checkpoint, micro_batch_id, places)

    def finished(self, micro_batch_id: int, read_rows: Mapping[str, int]) -> None:
        """Take in how many rows of each stream a micro-batch has read."""
        ranges, lost = self._ranges.pop(micro_batch_id, {}), self._lost.pop(micro_batch_id, {})
        for stream, of_stream in ranges.items():
            promised = _promised(of_stream)
            unexplained = promised - lost[stream] - read_rows.get(stream, promised)
            if unexplained > 0:
                later = min(unexplained, self._missing(stream, of_stream) - lost[stream])
                if later > 0:
                    share, untold = _share_there(promised, lost[stream] + later), self.untold or {}
                    self.untold = {**untold, stream: min(untold.get(stream, 1.0), share)}
                    self.rows += later

    def _missing(self, stream: str, ranges: list[_Range]) -> int:
        missing = 0
        for since, until in ranges:
            earliest = self._brokers[stream].earliest(since) if since else None
            missing += 0 if earliest is None else rows_before(earliest, since, until)
        return missing


def _promised(ranges: list[_Range]) -> int:
    return sum(sum(rows_by_partition(since, until)) for since, until in ranges)


def _share_there(promised: int, lost: int) -> float:
    return (promised - lost) / promised
