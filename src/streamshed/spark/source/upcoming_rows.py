"""How many rows a micro-batch will bring, and of which event times, known before it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

import pyarrow as pa
from pyarrow import parquet

from streamshed.columnar.file_rows import block_rows
from streamshed.columnar.text_rows import block_sizes
from streamshed.columnar.topics.topic_spans import TopicSpan, spans_between
from streamshed.errors import SourceUnavailableError
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.network.terms.windowing_attribute import StoredColumn
from streamshed.network.words.local_path import local_path
from streamshed.spark.checkpoint.checkpoint_reader import files_of, offset_ranges
from streamshed.spark.checkpoint.partition_offsets import PartitionOffsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.common.far_ahead import furthest_event
from streamshed.spark.plan.plan_row import PlannedFiles
from streamshed.spark.source.backlog import waiting_files
from streamshed.spark.source.believed_events import believed_events, events_in_footer

_TYPICAL_ROW_BYTES = 150.0


@dataclass(frozen=True)
class EventBounds:
    """The event times of some rows, microseconds; both ends included."""

    first: int
    last: int


@dataclass(frozen=True)
class StreamRows:
    """What one stream brings.

    Attributes:
        rows: Rows.
        bytes: How many bytes their files have.
        events: Their event times, if known.
        waiting: Rows of a folder that have come, but wait for a later micro-batch.
        waiting_until: The latest event time in the youngest file of those, if its footer tells.
        vanished: Files that it was to read and that are not there.
        has_empty_files: Whether one of its files has no byte: its rows are to be left out.
        is_counted: Whether the files themselves tell how many rows there are.
        blocks: How many rows the blocks of its files have, by path; of text, how many bytes.
        row_groups: How many row groups its files of Parquet have.
        spans: From where to where it is read in each partition of topics.
    """

    rows: int
    bytes: int = 0
    events: EventBounds | None = None
    waiting: int = 0
    waiting_until: int | None = None
    vanished: tuple[str, ...] = ()
    has_empty_files: bool = False
    is_counted: bool = False
    blocks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    row_groups: int = 0
    spans: tuple[TopicSpan, ...] = ()

    @property
    def pieces(self) -> int | None:
        """Into how many pieces files can be cut at most, each with rows of its own; None: into any number."""
        return self.row_groups if self.is_counted else None

    @property
    def block_count(self) -> int:
        """How many blocks its files have."""
        return sum(map(len, self.blocks.values()))

    @property
    def files(self) -> PlannedFiles:
        """What its files hold, to be compared when they are read again."""
        return PlannedFiles(rows=self.rows, bytes=0) if self.is_counted else PlannedFiles(rows=0, bytes=self.bytes)

    @property
    def tells_events(self) -> bool:
        """Whether the event times of all rows are known."""
        return self.events is not None or (self.is_counted and self.rows == 0)


def pieces_of(coming: Iterable[StreamRows]) -> int | None:
    """Return into how many pieces the files of some streams can be cut at most; None: into any number."""
    of_streams = [rows.pieces for rows in coming]
    pieces = [count for count in of_streams if count is not None]
    return sum(pieces) if pieces and len(pieces) == len(of_streams) else None


@dataclass
class RowSizes:
    """Learns how many bytes a row of text takes, stream by stream."""

    bytes_per_row: dict[str, float] = field(default_factory=dict)

    def rows_in(self, stream: str, size: int) -> int:
        """Estimate the rows in some bytes."""
        return round(size / self.bytes_per_row.get(stream, _TYPICAL_ROW_BYTES))

    def learn(self, stream: str, size: int, rows: int) -> None:
        """Take in how many rows the text of a micro-batch had."""
        if rows > 0 and size > 0:
            before = self.bytes_per_row.get(stream)
            measured = size / rows
            self.bytes_per_row[stream] = measured if before is None else 0.7 * before + 0.3 * measured


def upcoming_rows(
    checkpoint: Storage,
    micro_batch_id: int,
    streams: Sequence[Stream],
    places: SourcePlaces,
    sizes: RowSizes,
    now_seconds: float | None,
    paced: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, StreamRows]:
    """Return what each stream over a folder or a broker brings in a micro-batch; streams that do not tell are left out.

    Parquet files say their rows and event times in their footers; text is estimated by its bytes.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        streams: The streams whose rows come from outside.
        places: Of their sources.
        sizes: What is known of rows of text.
        now_seconds: When the micro-batch was planned: event times that are too far ahead of that do not count, as their
            rows are set aside; None: all count.
        paced: Of streams over folders that streamshed limits, how many bytes a micro-batch takes at most.
    """
    files = files_of(checkpoint, micro_batch_id, places)
    ranges = offset_ranges(checkpoint, micro_batch_id, places)
    coming = {}
    for stream in streams:
        sources, source = places.sources_of(stream.name), stream.source
        if isinstance(source, FolderSource):
            if "://" not in source.path:
                paths = [local_path(path) or path for number in sources for path in files.get(number, ())]
                coming[stream.name] = _in_folder(stream, source, paths, sizes, now_seconds, paced.get(stream.name))
        elif sources and ranges.keys() >= set(sources):
            coming[stream.name] = _between([ranges[number] for number in sources])
    return coming


def _between(ranges: Sequence[tuple[PartitionOffsets, PartitionOffsets]]) -> StreamRows:
    """What comes of sources that count their offsets by partition."""
    spans = tuple(span for before, after in ranges for span in spans_between(before, after))
    blocks = {span.place: span.block_sizes for span in spans}
    return StreamRows(sum(span.until - span.since for span in spans), blocks=blocks, spans=spans)


def _in_folder(
    stream: Stream,
    source: FolderSource,
    paths: Sequence[str],
    sizes: RowSizes,
    now_seconds: float | None,
    most_bytes: int | None,
) -> StreamRows:
    furthest = furthest_event(stream, now_seconds)
    coming = _rows(stream, source, paths, sizes, furthest)
    waiting = waiting_files(source, paths, coming.rows, most_bytes)
    youngest = None if waiting.youngest is None else _rows(stream, source, [waiting.youngest], sizes, furthest).events
    return replace(
        coming,
        waiting=waiting.rows,
        waiting_until=None if youngest is None else youngest.last,
        vanished=tuple(path for path in paths if not os.path.exists(path)),
        has_empty_files=any(os.path.exists(path) and not os.path.getsize(path) for path in paths),
        is_counted=source.format is FileFormat.PARQUET,
    )


def refuse_vanished(upcoming: Mapping[str, StreamRows]) -> None:
    """See that a micro-batch has all files that it is to read: Spark would pass over those that are gone.

    Raises:
        SourceUnavailableError: One is gone.
    """
    for name, coming in upcoming.items():
        if coming.vanished:
            others = f" and {len(coming.vanished) - 1} others" if len(coming.vanished) > 1 else ""
            raise SourceUnavailableError(
                f'stream "{name}": "{coming.vanished[0]}"{others} vanished before it was read: put it back, or an'
                " empty file in its place if its rows are to be left out"
            )


def refuse_changed(upcoming: Mapping[str, StreamRows], planned: Mapping[str, PlannedFiles]) -> None:
    """See that a micro-batch that runs again has all files, and what they held when it was planned.

    Raises:
        SourceUnavailableError: One is gone, or they hold less and none is empty, as one is whose rows are to be left
            out.
    """
    refuse_vanished(upcoming)
    for name in upcoming.keys() & planned.keys():
        there, before = upcoming[name].files, planned[name]
        if (there.rows < before.rows or there.bytes < before.bytes) and not upcoming[name].has_empty_files:
            held = f"{there.rows} rows of {before.rows}" if before.rows else f"{there.bytes} bytes of {before.bytes}"
            raise SourceUnavailableError(
                f'stream "{name}": its files hold {held} that they held when the micro-batch was planned, which runs'
                " again now: put back what was in them, or an empty file in the place of one whose rows are to be left"
                " out"
            )


def refuse_lost(upcoming: Mapping[str, StreamRows], read_rows: Mapping[str, int]) -> None:
    """See that a micro-batch has read all rows that its files were to bring.

    Args:
        upcoming: What each stream was to bring.
        read_rows: How many rows of each were read, however often.

    Raises:
        SourceUnavailableError: There were fewer.
    """
    for name, coming in upcoming.items():
        read = read_rows.get(name, 0)
        if coming.is_counted and read < coming.rows:
            raise SourceUnavailableError(
                f'stream "{name}": {coming.rows} rows were to come, and {read} were read: a file vanished, or was'
                " written anew, while it was read, and answers lack its rows"
            )


def _rows(
    stream: Stream, source: FolderSource, paths: Sequence[str], sizes: RowSizes, furthest: int | None
) -> StreamRows:
    bytes_by_path = {path: os.path.getsize(path) for path in paths if os.path.exists(path)}
    size = sum(bytes_by_path.values())
    if source.format is not FileFormat.PARQUET:
        blocks = {path: block_sizes(path, count) for path, count in bytes_by_path.items()}
        return StreamRows(sizes.rows_in(stream.name, size), size, blocks=blocks)
    stored = stream.attribute.stored
    footers = {path: footer for path in paths if (footer := _footer(path, stored)) is not None}
    events_by_path = {path: footer.events for path, footer in footers.items() if footer.events is not None}
    bounds = [bound for path, events in events_by_path.items() if (bound := _believed(path, stored, events, furthest))]
    complete = bool(bounds) and len(events_by_path) == len(footers)
    events = EventBounds(min(b.first for b in bounds), max(b.last for b in bounds)) if complete else None
    blocks = {path: rows for footer in footers.values() for path, rows in footer.blocks.items()}
    row_groups = sum(footer.row_groups for footer in footers.values())
    rows = sum(footer.rows for footer in footers.values())
    return StreamRows(rows, size, events=events, blocks=blocks, row_groups=row_groups)


def _believed(path: str, stored: StoredColumn | None, events: EventBounds, furthest: int | None) -> EventBounds | None:
    """The event times of a file as far as they are believed; None: none is.

    Times before 1970 are left out, as rows with such times are set aside.
    """
    bounds: tuple[int, int] | None = (events.first, events.last)
    if stored is not None and furthest is not None and events.last > furthest:
        bounds = believed_events(path, stored, furthest)
    return None if bounds is None or bounds[1] < 0 else EventBounds(max(bounds[0], 0), bounds[1])


def _footer(path: str, stored: StoredColumn | None) -> StreamRows | None:
    """What the footer of a file tells; None: there is none."""
    try:
        written = os.stat(path)
        return _read_footer(path, stored, written.st_size, written.st_mtime_ns)
    except (OSError, pa.ArrowInvalid):
        return None


@lru_cache(maxsize=4096)
def _read_footer(path: str, stored: StoredColumn | None, _size: int, _modified_at: int) -> StreamRows:
    """The same, kept for as long as the file is not written anew."""
    metadata = parquet.read_metadata(path)
    events = None if stored is None else events_in_footer(metadata, stored)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    bounds = None if events is None else EventBounds(*_ends(events))
    return StreamRows(metadata.num_rows, events=bounds, blocks={path: block_rows(sizes)}, row_groups=len(sizes))


def _ends(events: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return min(first for first, _ in events), max(last for _, last in events)


def waiting_rows(upcoming: Mapping[str, StreamRows], rows_left: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows wait, by stream: in folders now, of brokers what was left last, less what is taken now.

    Args:
        upcoming: What a micro-batch reads, by stream.
        rows_left: By stream over a broker, how many rows the micro-batch before had left.

    Example:
        >>> waiting_rows({"packets": StreamRows(30)}, {"packets": 100, "flows": 5})
        {'packets': 70, 'flows': 5}
    """
    of_folders = {name: rows.waiting for name, rows in upcoming.items()}
    taken = {name: rows.rows for name, rows in upcoming.items()}
    return of_folders | {name: max(0, rows - taken.get(name, 0)) for name, rows in rows_left.items()}


def rows_by_name(upcoming: Mapping[str, StreamRows]) -> dict[str, int]:
    """Keep only the numbers of rows."""
    return {name: found.rows for name, found in upcoming.items()}


def spans_by_name(upcoming: Mapping[str, StreamRows]) -> dict[str, tuple[TopicSpan, ...]]:
    """Keep only what is read of topics, by stream over any."""
    return {name: rows.spans for name, rows in upcoming.items() if rows.spans}
