"""What a time domain does about streams over Kafka: where they begin, how new their records are, what was lost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.control.loop import ControlLoop
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.spark.checkpoint.checkpoint_reader import first_offsets, offset_ranges
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.broker import Broker
from streamshed.spark.source.lost_rows import LostRows

_PATIENCE_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.01


class TopicReading:
    """Follows the streams of a time domain that are over Kafka; there may be none.

    Args:
        spark: The session.
        streams: Those of the time domain whose rows come from outside.
        checkpoint: Spark's.
        loop: Whose settings tell whether records may be too old.
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
        self._checkpoint, self._loop = checkpoint, loop
        self._sources = {one.name: one.source for one in streams if isinstance(one.source, KafkaSource)}
        self._brokers = {
            name: Broker(spark, source.label, source.servers, dict(source.options))
            for name, source in self._sources.items()
        }
        self.lost = LostRows(self._brokers, lost_rows, untold)
        """Finds rows that were deleted before they were read."""

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
        numbers = [number for name in self._sources for number in places.sources_of(name)]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while query.isActive and time.monotonic() < deadline:
            if all(first_offsets(self._checkpoint, number) is not None for number in numbers):
                return
            time.sleep(_LOOK_EVERY_SECONDS)

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

    def close(self) -> None:
        """Follow nothing any longer."""
        for broker in self._brokers.values():
            broker.close()
