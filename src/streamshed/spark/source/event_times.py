"""Which event times a micro-batch is about, as far as windows may be decided on before its rows are read."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.network.model.stream import Stream
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.spark.source.upcoming_rows import EventBounds

FURTHEST_STEPS = 16
"""Where footers tell how far event time will go, nothing is decided beyond so many times as far as it went last: a
single row from the year 2038 moves no window."""

CLOCK_TOLERANCE = 60_000_000
"""How far event times may run ahead of the wall clock, microseconds, where nothing else is known of rows."""

GUESSED_STEPS = 2
"""Where nothing tells, event time is taken to go up to so many times as far as it went last."""


def event_times(
    events: EventBounds | None,
    *,
    opened: int,
    carried_since: int | None,
    latest: int | None,
    latest_before: int | None,
    least_step: int,
) -> EventTimes:
    """Return the event times of a stream's coming rows.

    Rows beyond them are kept, and their windows decided on with a later micro-batch. Rows before the watermark are late
    anyway: how much is needed is averaged over the others, so that a single row from 1970 does not make it everything.

    Args:
        events: First and last, from footers; None: they are not known.
        opened: The watermark, microseconds.
        carried_since: From when on windows without rows are answered.
        latest: The latest that was seen; None: none was.
        latest_before: The latest that had been seen when the micro-batch before was planned.
        least_step: How far event time goes at least, as far as one can tell.

    Example:
        >>> known = dict(opened=80, carried_since=0, latest=100, latest_before=90, least_step=5)
        >>> told = event_times(EventBounds(95, 2**40), **known)
        >>> told.first, told.last
        (95, 260)
        >>> event_times(EventBounds(0, 130), **known).first
        80
    """
    before = carried_since if latest_before is None else latest_before
    step = max(least_step, 0 if latest is None or before is None else latest - before)
    if events is not None:
        furthest = events.last if latest is None else max(latest, events.first) + FURTHEST_STEPS * step
        last = min(events.last, furthest)
        first = max(events.first, min(opened, last))
        return EventTimes(opened=opened, carried_since=carried_since, first=first, last=last)
    first = opened if latest is None else latest
    return EventTimes(opened=opened, carried_since=carried_since, first=first, last=first + GUESSED_STEPS * step)


def joined_times(joined: Stream, by_source: Mapping[str, EventTimes], *, carried_since: int | None) -> EventTimes:
    """Return what is known of windows over a join's results, from the coming rows of its sides.

    Windows over answers stay behind the watermark, by as much as these do. A row may find its partner as late as it
    waits, so windows are decided on that begin by then.

    Args:
        joined: The joined stream.
        by_source: What `event_times` says of the streams that it joins, by name.
        carried_since: From when on windows without results are answered.
    """
    join = joined.joined
    if join is None:
        raise TypeError(f'"{joined.name}" is no joined stream')
    sides = [by_source[side.stream.name] for side in (join.left, join.right)]
    return EventTimes(
        opened=min(side.opened for side in sides) - delay_of_stream(joined),
        carried_since=carried_since,
        first=min(side.first for side in sides),
        last=max(side.last for side in sides),
        ahead=max(join.left_microseconds, join.right_microseconds),
    )
