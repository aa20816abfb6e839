"""What is known of a micro-batch before it runs, and which event times it brings to windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.common.far_ahead import microseconds_of
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.carrier_clock import CarrierClock
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.reading.waiting_times import backlog_of
from streamshed.spark.source.event_times import event_times, joined_times
from streamshed.spark.source.upcoming_rows import StreamRows

NewestRecords = Callable[[int, SourcePlaces, Mapping[str, int]], Mapping[str, int]]
"""By micro-batch, places of the sources, and rows that the one before left: `Ahead.newest_records`."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is known of a micro-batch before it runs.

    Attributes:
        micro_batch_id: Its number.
        now: The wall clock, seconds.
        steady: The clock that never steps, seconds.
        upcoming: What its sources bring, as far as that is known.
        rows: How many rows these are.
        lost: By stream that it lacks rows of, as a broker has deleted them, which share is there.
        newest_records: By stream over a topic, when its newest record was written, microseconds, as far as it is known.
        opened: The watermark that decides lateness in it, microseconds.
        last: The plan of the one before; None: there was none.
    """

    micro_batch_id: int
    now: float
    steady: float
    upcoming: dict[str, StreamRows]
    rows: Mapping[str, int]
    lost: Mapping[str, float]
    newest_records: Mapping[str, int]
    opened: int
    last: PlanRow | None


def upcoming_windows(
    facts: DomainFacts, carrier: CarrierClock, ahead: Ahead, rows_left: Mapping[str, int]
) -> UpcomingWindows:
    """Return what a plan is told of windows.

    Args:
        facts: What never changes.
        carrier: The clock of event times, set to the micro-batch.
        ahead: What is known of the micro-batch.
        rows_left: By stream, how many rows are known to wait for a later micro-batch.
    """
    since = {stream.name: carrier.interval_of(stream)["carrier_from"] for stream in facts.streams}
    of_sources = _times_of_sources(facts, carrier, ahead, rows_left)
    of_joins = {
        stream.name: joined_times(stream, of_sources, carried_since=since[stream.name])
        for stream in facts.streams
        if stream.joined is not None
    }
    return UpcomingWindows(
        event_times=of_sources | of_joins, drops=NOTHING_DROPPED if ahead.last is None else ahead.last.drops
    )


def _times_of_sources(
    facts: DomainFacts, carrier: CarrierClock, ahead: Ahead, rows_left: Mapping[str, int]
) -> dict[str, EventTimes]:
    """What is known of the rows that come from outside, by stream."""
    last = ahead.last
    now, before = microseconds_of(ahead.now), None if last is None else microseconds_of(last.decided_at_seconds)
    of_sources = {}
    for stream in facts.sources:
        coming, latest = ahead.upcoming.get(stream.name), carrier.latest_event.get(stream.name)
        times = event_times(
            None if coming is None else coming.events,
            opened=ahead.opened,
            carried_since=carrier.interval_of(stream)["carrier_from"],
            latest=latest,
            latest_before=None if last is None else last.latest_event.get(stream.name),
            least_step=0 if stream.is_numbered else round(facts.trigger_interval_seconds * 1e6),
        )
        left = rows_left.get(stream.name, 0)
        waiting = backlog_of(
            coming,
            left,
            guessed_until=times.last,
            read_until=latest,
            now=now,
            before=before,
            written_until=ahead.newest_records.get(stream.name),
        )
        of_sources[stream.name] = times if stream.is_numbered else replace(times, backlog=waiting)
    return of_sources
