"""Which event times a micro-batch brings to windows, as far as that is known before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.carrier_clock import CarrierClock
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.event_times import event_times, joined_times
from streamshed.spark.source.upcoming_rows import StreamRows


def upcoming_windows(
    facts: DomainFacts,
    carrier: CarrierClock,
    upcoming: Mapping[str, StreamRows],
    opened: int,
    last: PlanRow | None,
) -> UpcomingWindows:
    """Return what a plan is told of windows.

    Args:
        facts: What never changes.
        carrier: The clock of event times, set to the micro-batch.
        upcoming: What its sources bring.
        opened: The watermark that decides lateness in it, microseconds.
        last: The plan of the one before; None: there was none.
    """
    since = {stream.name: carrier.interval_of(stream)["carrier_from"] for stream in facts.streams}
    of_sources = {
        stream.name: event_times(
            upcoming.get(stream.name, StreamRows(0)).events,
            opened=opened,
            carried_since=since[stream.name],
            latest=carrier.latest_event.get(stream.name),
            latest_before=None if last is None else last.latest_event.get(stream.name),
            least_step=0 if stream.is_numbered else round(facts.trigger_interval_seconds * 1e6),
        )
        for stream in facts.sources
    }
    of_joins = {
        stream.name: joined_times(stream, of_sources, carried_since=since[stream.name])
        for stream in facts.streams
        if stream.joined is not None
    }
    return UpcomingWindows(event_times=of_sources | of_joins, drops=NOTHING_DROPPED if last is None else last.drops)
