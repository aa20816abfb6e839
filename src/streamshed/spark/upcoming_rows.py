"""How many rows a micro-batch will bring, and of which event times, known before it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import parquet

from streamshed.network.numbering import LARGEST_NUMBER, MICROSECONDS_PER_NUMBER
from streamshed.network.sources import DataFrameSource, FileFormat, FolderSource
from streamshed.network.stream import Stream
from streamshed.spark.backlog import waiting_rows
from streamshed.spark.believed_events import believed_events, instant_of
from streamshed.spark.checkpoint_reader import SourceFiles, files_of, rows_by_offsets
from streamshed.spark.far_ahead import furthest_event
from streamshed.spark.storage import Storage

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
        bytes: Their bytes, where rows are only estimated from them.
        events: Their event times, if known.
        waiting: Rows of a folder that have come, but wait for a later micro-batch.
    """

    rows: int
    bytes: int = 0
    events: EventBounds | None = None
    waiting: int = 0


@dataclass
class RowSizes:
    """Learns how many bytes a row of text takes, stream by stream."""

    bytes_per_row: dict[str, float] = field(default_factory=dict)

    def rows_in(self, stream: str, size: int) -> int:
        """Estimate the rows in some bytes."""
        return round(size / self.bytes_per_row.get(stream, _TYPICAL_ROW_BYTES))

    def learn(self, stream: str, size: int, rows: int) -> None:
        """Take in how many rows some bytes turned out to be."""
        if rows > 0 and size > 0:
            known = self.bytes_per_row.get(stream)
            measured = size / rows
            self.bytes_per_row[stream] = measured if known is None else 0.7 * known + 0.3 * measured


def upcoming_rows(
    checkpoint: Storage,
    micro_batch_id: int,
    streams: Sequence[Stream],
    sizes: RowSizes,
    now_seconds: float | None,
) -> dict[str, StreamRows]:
    """Return what each stream over a folder or a broker brings in a micro-batch; streams that do not tell are left out.

    Parquet files say their rows and event times in their footers; text is estimated by its bytes.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        streams: The streams whose rows come from outside.
        sizes: What is known of rows of text.
        now_seconds: When the micro-batch was planned: event times that are too far ahead of that do not count, as their
            rows are set aside; None: all count.
    """
    found = files_of(checkpoint, micro_batch_id)
    folders = {stream.name: stream.source for stream in streams if isinstance(stream.source, FolderSource)}
    by_stream = {stream.name: stream for stream in streams}
    counted = _counted_rows(checkpoint, micro_batch_id, streams)
    in_folders = {
        name: _in_folder(by_stream[name], source, _paths_below(found, source.path), sizes, now_seconds)
        for name, source in folders.items()
        if "://" not in source.path
    }
    return {**counted, **in_folders}


def _in_folder(
    stream: Stream, source: FolderSource, paths: Sequence[str], sizes: RowSizes, now_seconds: float | None
) -> StreamRows:
    coming = _rows(stream, source, paths, sizes, furthest_event(stream, now_seconds))
    return replace(coming, waiting=waiting_rows(source, paths, coming.rows))


def _counted_rows(checkpoint: Storage, micro_batch_id: int, streams: Sequence[Stream]) -> dict[str, StreamRows]:
    """Rows of brokers, whose offsets count them: matched with the DataFrames in order, if as many, or twice so."""
    frames = [stream.name for stream in streams if isinstance(stream.source, DataFrameSource)]
    counts = rows_by_offsets(checkpoint, micro_batch_id)
    if not frames or len(counts) not in {len(frames), 2 * len(frames)}:
        return {}
    return {name: StreamRows(rows) for name, rows in zip(frames, counts, strict=False)}


def _paths_below(found: Sequence[SourceFiles], folder: str) -> list[str]:
    """The files in a folder, each once, though it may be read twice: for aggregates, and for rows themselves."""
    root = os.path.realpath(folder)
    paths = dict.fromkeys(_local(path) for source in found for path in source.paths)
    return [path for path in paths if os.path.realpath(path).startswith(root + os.sep)]


def _local(path: str) -> str:
    return unquote(urlsplit(path).path) if path.startswith("file:") else path


def _rows(
    stream: Stream, source: FolderSource, paths: Sequence[str], sizes: RowSizes, furthest: int | None
) -> StreamRows:
    if source.format is not FileFormat.PARQUET:
        size = sum(os.path.getsize(path) for path in paths if os.path.exists(path))
        return StreamRows(sizes.rows_in(stream.name, size), size)
    footers = {path: footer for path in paths if (footer := _footer(path, stream.time)) is not None}
    told = {path: footer.events for path, footer in footers.items() if footer.events is not None}
    bounds = [bound for path, events in told.items() if (bound := _believed(path, stream.time, events, furthest))]
    complete = bool(bounds) and len(told) == len(footers)
    events = EventBounds(min(b.first for b in bounds), max(b.last for b in bounds)) if complete else None
    return StreamRows(sum(footer.rows for footer in footers.values()), events=events)


def _believed(path: str, time: str, events: EventBounds, furthest: int | None) -> EventBounds | None:
    """The event times of a file as far as they are believed; None: none of them is."""
    if furthest is None or events.last <= furthest:
        return events
    found = believed_events(path, time, furthest)
    return None if found is None else EventBounds(*found)


@lru_cache(maxsize=4096)
def _footer(path: str, time: str) -> StreamRows | None:
    try:
        metadata = parquet.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return None
    names = [metadata.schema.column(index).path.lower() for index in range(metadata.num_columns)]
    if time.lower() not in names:
        return StreamRows(metadata.num_rows)
    column = names.index(time.lower())
    groups = [metadata.row_group(index).column(column).statistics for index in range(metadata.num_row_groups)]
    if not groups or any(group is None or not group.has_min_max for group in groups):
        return StreamRows(metadata.num_rows)
    if not isinstance(groups[0].min, datetime | int):
        return StreamRows(metadata.num_rows)
    first, last = (
        instant_of(bound) for bound in (min(group.min for group in groups), max(group.max for group in groups))
    )
    if isinstance(groups[0].min, int) and max(abs(first), abs(last)) > LARGEST_NUMBER * MICROSECONDS_PER_NUMBER:
        return StreamRows(metadata.num_rows)
    return StreamRows(metadata.num_rows, events=EventBounds(first, last))


def rows_by_name(upcoming: Mapping[str, StreamRows]) -> dict[str, int]:
    """Keep only the numbers of rows."""
    return {name: found.rows for name, found in upcoming.items()}
