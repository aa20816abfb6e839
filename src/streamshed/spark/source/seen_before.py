"""Up to when the rows of a checkpoint's finished micro-batches go: a query that is added has seen none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamshed.network.model.network import TimeDomain
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.spark.checkpoint.checkpoint_reader import last_committed, next_watermark_milliseconds, sources_read
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.written_plans import WrittenPlans
from streamshed.spark.source.event_times import CLOCK_TOLERANCE, GUESSED_STEPS
from streamshed.spark.source.upcoming_rows import RowSizes, StreamRows, upcoming_rows

_MILLISECOND = 1_000
"""Spark's watermarks are rounded down to it, microseconds."""

_NOT_NOTED = 4
"""Of so many micro-batches at the end of a run the last plan may not know which event times they brought; one of them
may be that by which Spark has moved the state to other partitions."""


_BOUNDLESS = 2**62
"""Later than any number that a row has."""


def seen_until(
    checkpoint: Storage,
    plans: Storage,
    domain: TimeDomain,
    places: SourcePlaces,
    *,
    least_step: int,
    at_stop: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return, per stream, the latest start of a window that would miss rows if its query were added now.

    No row of a finished micro-batch is later than that, as far as can be told.

    Footers of Parquet files tell. Elsewhere it is the latest event time at the stop, in the last plan or by the
    watermark, plus a margin: twice as far as event time advances in a micro-batch. The margin is for rows whose times
    are not written down: rows that were shed and, where there are several streams and the run died, rows of the last
    micro-batch. Of a stream that was read, and of which no time is known, it is a minute after the clock; along
    numbers, there is no end.

    Results of a join are no later than the later of their two rows. But where windows over joins were dropped, rows of
    the sides may be missing that would have found partners for as long as they wait.

    Args:
        checkpoint: Spark's checkpoint.
        plans: What was planned.
        domain: The time domain.
        places: Of its sources, in the run before.
        least_step: How far event time goes in a micro-batch at least, as far as one can tell, microseconds.
        at_stop: Per stream, its latest event time after the last micro-batch; None: the run died.

    Returns:
        Microseconds; nothing of streams that had no rows.
    """
    last = last_committed(checkpoint)
    if last is None:
        return {}
    planned = WrittenPlans(plans).latest(2)
    latest_events = [row.latest_event for row in planned] or [{}]
    latest_events = (latest_events if at_stop is None else [*latest_events, at_stop])[-2:]
    now_seconds = planned[-1].decided_at_seconds if planned else None
    streams = domain.sources
    recent = range(max(0, last + 1 - _NOT_NOTED), last + 1)
    reads = [
        upcoming_rows(checkpoint, micro_batch_id, streams, places, RowSizes(), now_seconds) for micro_batch_id in recent
    ]
    read_sources = sources_read(checkpoint, last, places)
    watermark = next_watermark_milliseconds(checkpoint, last) * 1000
    tells_of_one = watermark > 0 and len(streams) == 1
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
            if latest is None and not tells_of_one and not read_sources.isdisjoint(places.sources_of(stream.name)):
                event_times.append(_BOUNDLESS if domain.is_numbered else _by_the_clock(now_seconds, latest_events[-1]))
        if instants := [instant for instant in event_times if instant is not None]:
            seen_instants[stream.name] = max(instants) + margin
    are_spared = bool(planned) and bool(planned[-1].drops.missing)
    return _of_joins(domain.joined, seen_instants, are_spared=are_spared) | seen_instants


def _by_the_clock(now_seconds: float | None, latest_event: Mapping[str, int]) -> int:
    return max([round((now_seconds or 0.0) * 1e6), *latest_event.values()]) + CLOCK_TOLERANCE


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
