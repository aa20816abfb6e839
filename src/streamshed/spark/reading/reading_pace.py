"""How much each micro-batch reads of the sources that can be told: pieces of what waits, not all at once."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.control.loop import ControlLoop
from streamshed.control.rows_to_read import FIRST_BYTES, StreamReading, rows_to_read
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import FolderSource
from streamshed.spark.checkpoint.checkpoint_reader import rows_by_offsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.reading.read_limits import ReadLimit, limit_reading
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import StreamRows

_LEAST_SECONDS = 1e-3


class ReadingPace:
    """Says between micro-batches how much the next one reads.

    Of topics always. Of folders until nothing waits: from then on a burst is shed at once, as sizes of files are known.
    Of folders that are elsewhere, and of those for which somebody has said so, nothing is said.

    Args:
        spark: The session.
        streams: Those of the time domain whose rows come from outside.
        checkpoint: Spark's.
        loop: Decides how many rows there is time for.
    """

    def __init__(
        self,
        spark: SparkSession,
        streams: Sequence[Stream],
        checkpoint: Storage,
        loop: ControlLoop,
    ) -> None:
        self._spark, self._checkpoint, self._loop = spark, checkpoint, loop
        self._topics = {stream.name: stream.source for stream in streams if isinstance(stream.source, KafkaSource)}
        last = loop.state.last_outcome
        before = {} if last is None else last.offered_rows
        # By folder, up to which micro-batch it is limited: a list of files that waited may be read in the one behind.
        self._paced_until = {
            stream.name: math.inf
            for stream in streams
            if isinstance(stream.source, FolderSource) and stream.source.can_be_paced
        }
        names = (*self._topics, *self._paced_until)
        self._readings = {name: StreamReading(round(before.get(name, 0)), 0.0) for name in names}
        self._most_bytes = dict.fromkeys(self._paced_until, FIRST_BYTES)
        self._left: dict[str, int] = {}
        self._waiting: dict[str, int] = {}
        self._last_started: float | None = None
        self._query: StreamingQuery | None = None
        self._places = SourcePlaces()

    def begin(self, query: StreamingQuery, places: SourcePlaces) -> None:
        """Follow a query that was started."""
        self._query, self._places = query, places

    def paced(self, micro_batch_id: int) -> Mapping[str, int]:
        """Return how many bytes the next micro-batch takes at most, by stream over a folder that may keep files."""
        return {name: self._most_bytes[name] for name, until in self._paced_until.items() if micro_batch_id <= until}

    def finished(self, report: MicroBatchReport) -> None:
        """Take in how many rows came while a micro-batch ran that is written, and how many are left."""
        before, self._last_started = self._last_started, report.started_at_seconds
        left, self._left = self._left, {**self._waiting, **report.rows_left}
        if before is None:
            return
        seconds = max(report.started_at_seconds - before, _LEAST_SECONDS)
        for name, reading in self._readings.items():
            came = report.offered_rows.get(name, 0) + self._left.get(name, 0) - left.get(name, 0)
            self._readings[name] = StreamReading(reading.most_rows, max(0, came) / seconds)

    def written(self, micro_batch_id: int, coming: Mapping[str, StreamRows]) -> None:
        """Say how much the next micro-batch reads, once the answers of this one are written and before that begins.

        Args:
            micro_batch_id: This one.
            coming: What each stream brought in it.
        """
        paced = self.paced(micro_batch_id)
        if self._query is None or not (self._topics or paced):
            return
        self._take_in(micro_batch_id, coming)
        settings = self._loop.settings
        budget_seconds = settings.headroom * settings.trigger_interval_seconds
        wanted = rows_to_read(self._loop.state, self._readings, budget_seconds=budget_seconds)
        limits = {name: self._limit(micro_batch_id, name, wanted[name], coming) for name in (*self._topics, *paced)}
        limit_reading(
            self._spark, self._query, self._places, {name: limit for name, limit in limits.items() if limit is not None}
        )

    def _take_in(self, micro_batch_id: int, coming: Mapping[str, StreamRows]) -> None:
        self._waiting = {name: rows.waiting for name, rows in coming.items()}
        rows = rows_by_offsets(self._checkpoint, micro_batch_id, self._places) if self._topics else {}
        for name, reading in self._readings.items():
            read = sum(rows.get(number, 0) for number in self._places.sources_of(name))
            if name in coming:
                read = coming[name].rows
            self._readings[name] = StreamReading(max(reading.most_rows, read), reading.arriving_rows_per_second)

    def _limit(self, micro_batch_id: int, name: str, rows: int, coming: Mapping[str, StreamRows]) -> ReadLimit | None:
        """What is said of a stream; None: nothing new."""
        if name in self._topics:
            return ReadLimit(rows=min(rows, self._topics[name].max_rows_per_micro_batch or rows))
        if self._paced_until[name] < math.inf or name not in coming:
            return None
        if not coming[name].waiting:
            self._paced_until[name], self._most_bytes[name] = micro_batch_id + 1, sys.maxsize
            return ReadLimit()
        self._most_bytes[name] = max(FIRST_BYTES, round(rows * coming[name].bytes / coming[name].rows))
        return ReadLimit(bytes=self._most_bytes[name])
