"""Windows that are dropped because nobody needs their answers who is fed by them ([T06] §6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.windows.provenance import NeededRows

Times = Sequence[tuple[int, int]]
"""Intervals of event time, from an instant on, before another one, microseconds."""


def without_unneeded(
    parts: Mapping[str, DroppableQuery],
    decided: Mapping[str, QueryDrops],
    unneeded: Mapping[int, Times],
    event_times: Mapping[str, EventTimes],
) -> dict[str, QueryDrops]:
    """Drop besides the windows that nobody needs, as far as bounds of gaps allow.

    They need not be answered, but who has other uses for the query is promised that it misses no more than so many
    windows in a row; that holds. The coin goes its own way: what it owes is not paid by them.

    Args:
        parts: Of the queries whose windows may be dropped, by name (`DroppableQuery.parts`).
        decided: What is decided on them so far, by part.
        unneeded: By `DroppableQuery.definition_id`, when windows start of which nobody needs the answer.
        event_times: By stream.

    Returns:
        What is decided, with no fewer windows dropped.
    """
    drops_by_part = dict(decided)
    for name, part in parts.items():
        times, part_drops = event_times.get(part.stream), decided.get(name)
        intervals = unneeded.get(part.definition_id, ())
        if intervals and part_drops is not None and times is not None and not part_drops.is_shut_down:
            drops_by_part[name] = part_drops.dropped_besides(times, partial(_lies_in, intervals))
    return drops_by_part


def unneeded_rows(query: DroppableQuery, unneeded: Times, event_times: EventTimes) -> list[NeededRows]:
    """Return the event times of rows that belong only to windows of which nobody needs the answer.

    Args:
        query: The query.
        unneeded: When such windows start.
        event_times: Of the rows that come.
    """
    window, last = query.window, max(event_times.first, event_times.last)
    slide, offset = window.slide_microseconds, window.offset_microseconds
    first_number = (event_times.first - query.reach.size_microseconds - offset) // slide
    numbers = range(first_number, (last - offset) // slide + 1)
    dropped = [number for number in numbers if _lies_in(unneeded, offset + number * slide)]
    return query.unneeded(dropped)


def _lies_in(intervals: Times, instant: int) -> bool:
    return any(start <= instant < end for start, end in intervals)
