"""Up to when the rows of a checkpoint's finished micro-batches go: a query that is added has seen none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamshed.network.model.network import TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.spark.checkpoint.checkpoint_reader import last_committed, next_watermark_milliseconds
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.source.event_times import GUESSED_STEPS
from streamshed.spark.source.upcoming_rows import RowSizes, StreamRows, upcoming_rows

_MILLISECOND = 1_000
"""Spark's watermarks are rounded down to it, microseconds."""

_NOT_NOTED = 4
"""Of so many micro-batches at the end of a run the last plan may not know which event times they brought; one of them
may be that by which Spark has moved the state to other partitions."""


def seen_until(
    checkpoint: Storage, plans: Storage, domain: TimeDomain, places: SourcePlaces, *, least_step: int
) -> dict[str, int]:
    """Return, per stream, the latest start of a window that would miss rows if its query were added now.

    No row of a finished micro-batch is later than that, as far as can be told.

    Footers of Parquet files tell. Elsewhere it is the latest event time in the last plan or by the watermark, plus a
    margin: twice as far as event time advances in a micro-batch. The margin is for rows whose times are not written
    down: rows that were shed and, where there are several streams, rows of the last micro-batch.

    Results of a join are no later than the later of their two rows. But where windows over joins were dropped, rows of
    the sides may be missing that would have found partners for as long as they wait.

    Args:
        checkpoint: Spark's checkpoint.
        plans: What was planned.
        domain: The time domain.
        places: Of its sources, in the run before.
        least_step: How far event time goes in a micro-batch at least, as far as one can tell, microseconds.

    Returns:
        Microseconds; nothing of streams that had no rows.
    """
    last = last_committed(checkpoint)
    if last is None:
        return {}
    planned = WrittenPlans(plans).latest(2)
    latest_events = [row.latest_event for row in planned] or [{}]
    now_seconds = planned[-1].decided_at_seconds if planned else None
    streams = domain.sources
    recent = range(max(0, last + 1 - _NOT_NOTED), last + 1)
    reads = [
        upcoming_rows(checkpoint, micro_batch_id, streams, places, RowSizes(), now_seconds) for micro_batch_id in recent
    ]
    watermark = next_watermark_milliseconds(checkpoint, last) * 1000
    seen_instants = {}
    for stream in streams:
        latest = latest_events[-1].get(stream.name)
        in_footers = _in_footers(stream, [read.get(stream.name, StreamRows(0)) for read in reads])
        if in_footers is not None:
            event_times, margin = [latest, *in_footers], 0
        else:
            step = 0 if latest is None else latest - latest_events[0].get(stream.name, latest)
            event_times, margin = [latest], GUESSED_STEPS * max(least_step, step)
            event_times += [watermark + stream.watermark_microseconds + _MILLISECOND] if watermark > 0 else []
        if instants := [instant for instant in event_times if instant is not None]:
            seen_instants[stream.name] = max(instants) + margin
    are_spared = bool(planned) and bool(planned[-1].drops.missing)
    return _of_joins(domain.joined, seen_instants, are_spared=are_spared) | seen_instants


def _of_joins(joined: Sequence[Stream], seen_instants: Mapping[str, int], *, are_spared: bool) -> dict[str, int]:
    of_joins = {}
    for stream in joined:
        join = stream.joined
        sides = () if join is None else (join.left, join.right)
        latest = [seen_instants[side.stream.name] for side in sides if side.stream.name in seen_instants]
        if join is not None and latest:
            waits = max(join.left_microseconds, join.right_microseconds) if are_spared else 0
            of_joins[stream.name] = max(latest) + waits
    return of_joins


def _in_footers(stream: Stream, reads: Sequence[StreamRows]) -> list[int] | None:
    """The latest event times of some micro-batches; None: footers do not tell them."""
    if not _says_times(stream) or any(read.rows > 0 and read.events is None for read in reads):
        return None
    return [read.events.last for read in reads if read.events is not None]


def _says_times(stream: Stream) -> bool:
    """Whether the footers of its files say between which event times their rows lie."""
    source, stored = stream.source, stream.attribute.stored
    if stored is None or not isinstance(source, FolderSource):
        return False
    if source.format is not FileFormat.PARQUET or "://" in source.path:
        return False
    in_text = set() if stream.parse is None else {column.name.lower() for column in stream.parse.schema}
    return stored.name.lower() not in in_text
