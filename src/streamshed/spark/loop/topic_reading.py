"""What a time domain does about streams over Kafka: where they begin, how much a micro-batch reads, what was lost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.control.loop import ControlLoop
from streamshed.control.rows_to_read import StreamReading, rows_to_read
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.spark.checkpoint.checkpoint_reader import first_offsets, offset_ranges, rows_by_offsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.broker import Broker
from streamshed.spark.source.lost_rows import LostRows
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.read_limits import limit_rows

_PATIENCE_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.01
_LEAST_SECONDS = 1e-3


class TopicReading:
    """Follows the streams of a time domain that are over Kafka; there may be none.

    Args:
        spark: The session.
        streams: Those of the time domain whose rows come from outside.
        checkpoint: Spark's.
        loop: Decides how many rows there is time for.
        lost_rows: How many are known to be lost.
        untold: By stream, of rows that no plan has told of, which share was there; None: nobody knows.
    """

    def __init__(
        self,
        spark: SparkSession,
        streams: Sequence[Stream],
        checkpoint: Storage,
        loop: ControlLoop,
        *,
        lost_rows: int = 0,
        untold: Mapping[str, float] | None = None,
    ) -> None:
        self._spark, self._checkpoint, self._loop = spark, checkpoint, loop
        self._sources = {one.name: one.source for one in streams if isinstance(one.source, KafkaSource)}
        self._brokers = {
            name: Broker(spark, source.label, source.servers, dict(source.options))
            for name, source in self._sources.items()
        }
        self.lost = LostRows(self._brokers, lost_rows, untold)
        """Finds rows that were deleted before they were read."""
        last = loop.state.last_outcome
        before = {} if last is None else last.offered_rows
        self._readings = {name: StreamReading(round(before.get(name, 0)), 0.0) for name in self._sources}
        self._left: dict[str, int] = {}
        self._last_started: float | None = None
        self._query: StreamingQuery | None = None
        self._places = SourcePlaces()

    def require_topics(self) -> None:
        """See that the topics are there.

        Raises:
            SourceUnavailableError: They are not, or no broker answers.
        """
        for name, source in self._sources.items():
            # Those of a pattern may come later.
            self._brokers[name].require_topics(() if source.is_pattern else source.topics)

    def begin(self, query: StreamingQuery, places: SourcePlaces) -> None:
        """Follow a query that was started, and wait until it has noted where it begins.

        Records that come from then on are read, and whoever drains waits for them.
        """
        self._query, self._places = query, places
        numbers = [number for name in self._sources for number in places.sources_of(name)]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while query.isActive and time.monotonic() < deadline:
            if all(first_offsets(self._checkpoint, number) is not None for number in numbers):
                return
            time.sleep(_LOOK_EVERY_SECONDS)

    def finished(self, report: MicroBatchReport) -> None:
        """Take in how many rows came while a micro-batch ran, and how many are left."""
        before, self._last_started = self._last_started, report.started_at_seconds
        left, self._left = self._left, dict(report.rows_left)
        if before is None:
            return
        seconds = max(report.started_at_seconds - before, _LEAST_SECONDS)
        for name, reading in self._readings.items():
            came = report.offered_rows.get(name, 0) + self._left.get(name, 0) - left.get(name, 0)
            self._readings[name] = StreamReading(reading.most_rows, max(0, came) / seconds)

    def newest_records(self, micro_batch_id: int, places: SourcePlaces, rows_left: Mapping[str, int]) -> dict[str, int]:
        """Return when the newest record of each stream was written, microseconds, where records may be too old.

        Streams that nobody tells of are left out, and those of which the micro-batch before left nothing.

        Args:
            micro_batch_id: The micro-batch that is planned.
            places: Of the sources.
            rows_left: By stream, how many rows the one before left; one that is left out may have left any.
        """
        settings = self._loop.settings
        if settings.advisory or settings.max_age_microseconds is None or not self._sources:
            return {}
        ranges = offset_ranges(self._checkpoint, micro_batch_id, places)
        written = {}
        for name, broker in self._brokers.items():
            ends = [ranges[source][1] for source in places.sources_of(name) if source in ranges]
            if ends and rows_left.get(name, 1) > 0:
                written[name] = broker.newest(ends[0])
        return {name: instant for name, instant in written.items() if instant is not None}

    def written(self, micro_batch_id: int) -> None:
        """Say how much the next micro-batch reads, once the answers of this one are written and before that begins."""
        if self._query is None or not self._sources:
            return
        rows = rows_by_offsets(self._checkpoint, micro_batch_id, self._places)
        for name, reading in self._readings.items():
            read = sum(rows.get(number, 0) for number in self._places.sources_of(name))
            self._readings[name] = StreamReading(max(reading.most_rows, read), reading.arriving_rows_per_second)
        settings = self._loop.settings
        budget_seconds = settings.headroom * settings.trigger_interval_seconds
        wanted = rows_to_read(self._loop.state, self._readings, budget_seconds=budget_seconds)
        limits = {
            name: min(rows, self._sources[name].max_rows_per_micro_batch or rows) for name, rows in wanted.items()
        }
        limit_rows(self._spark, self._query, self._places, limits)

    def close(self) -> None:
        """Follow nothing any longer."""
        for broker in self._brokers.values():
            broker.close()
