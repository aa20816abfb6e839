"""Whether all has been read that had come when somebody asked to drain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from streamshed.network.model.stream import Stream
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import DataFrameSource, FolderSource
from streamshed.spark.checkpoint.checkpoint_reader import idle_sources, limited_sources, looked_by_seconds
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage


@dataclass(frozen=True)
class Beginning:
    """What is written of a micro-batch before it runs.

    Attributes:
        after_seconds: Spark has looked for what it reads after that, seconds since the epoch.
        idle: The streams of which it reads nothing.
        may_leave: The streams of which it may leave something for later: over a broker, a table of Iceberg, or
            DataFrames, and over folders of which it takes so many bytes at most.
        rows: Of streams that tell, how many rows it reads.
    """

    after_seconds: float
    idle: AbstractSet[str]
    may_leave: AbstractSet[str]
    rows: Mapping[str, int]


class CatchingUp:
    """Follows micro-batches until they have brought what had come by a moment.

    A stream has caught up when a micro-batch brings nothing of it for which Spark has looked later; when one has taken
    all that there was, as Spark does unless it is told how much to take at most; or, over a broker, when as many rows
    have been read as waited then.

    Args:
        streams: The streams whose rows come from outside.
        asked_at_seconds: The moment, seconds since the epoch.
    """

    def __init__(self, streams: Sequence[Stream], asked_at_seconds: float) -> None:
        self._asked_at_seconds = asked_at_seconds
        self._behind = {stream.name: stream for stream in streams}
        self._have_all: set[str] = set()
        self._waiting: dict[str, int] = {}

    def finished(self, begun_at_seconds: float, rows_left: Mapping[str, int]) -> None:
        """Take in what brokers had left when a micro-batch had taken its rows."""
        if begun_at_seconds > self._asked_at_seconds:
            for name, rows in rows_left.items():
                self._waiting.setdefault(name, rows)
                if self._waiting[name] <= 0:
                    self._have_all.add(name)

    def begins(self, beginning: Beginning) -> bool:
        """Return whether what a micro-batch and all later ones bring has come after the moment."""
        if beginning.after_seconds <= self._asked_at_seconds:
            return False
        for name, stream in list(self._behind.items()):
            if name in beginning.idle or name in self._have_all:
                del self._behind[name]
            elif name in self._waiting:
                self._waiting[name] -= beginning.rows.get(name, 0)
                if self._waiting[name] <= 0:
                    self._have_all.add(name)
            elif name not in beginning.may_leave and _takes_all(stream):
                self._have_all.add(name)
        return not self._behind


def _takes_all(stream: Stream) -> bool:
    """Unless it is told otherwise, Spark takes all files of a folder; of a table it takes a thousand."""
    if isinstance(stream.source, DeltaSource | IcebergSource):
        return False
    return not isinstance(stream.source, FolderSource) or stream.source.max_files_per_micro_batch is None


def beginning_of(
    checkpoint: Storage,
    micro_batch_id: int,
    streams: Sequence[Stream],
    places: SourcePlaces,
    rows: Mapping[str, int],
    paced: AbstractSet[str] = frozenset(),
) -> Beginning:
    """Return what is written of a micro-batch before it runs.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        streams: The streams whose rows come from outside.
        places: Of their sources.
        rows: Of streams that tell, how many rows it reads.
        paced: The streams over folders that may keep files for a later one, as streamshed limits what they bring.
    """
    idle = idle_sources(checkpoint, micro_batch_id, places)
    limited = limited_sources(checkpoint, micro_batch_id, places)
    of_streams = {stream.name: frozenset(places.sources_of(stream.name)) for stream in streams}
    over_frames = {
        stream.name for stream in streams if isinstance(stream.source, DataFrameSource | IcebergSource | KafkaSource)
    }
    return Beginning(
        looked_by_seconds(checkpoint, micro_batch_id - 1),
        idle={name for name, sources in of_streams.items() if sources <= idle},
        may_leave={name for name in over_frames if of_streams[name] & limited} | paced,
        rows=rows,
    )
