"""Rows that are too old to be worth reading: while there is a backlog they are skipped, and their windows are gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from streamshed.network.model.answer_side import side_windows
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes, first_open, last_until
from streamshed.planning.window_drop.track.retention import in_all
from streamshed.planning.window_drop.windows.provenance import NeededRows, extent, needed_rows
from streamshed.planning.window_drop.windows.runs import Runs

MOST_INTERVALS = 32
"""More intervals of a query than this are not told apart."""

Interval = tuple[int, int]
"""From an event time on, before another one, microseconds."""

Stale = Mapping[int, Sequence[Interval]]
"""By `Query.asked_definition_id`, event times whose rows were skipped: of rows of its stream; of a join, of results."""


def skipped_times(times: EventTimes, max_age: int) -> Interval | None:
    """Return the event times whose rows are too old to be read; None: no row is.

    There is a backlog where the newest row that waits is more than the age ahead of all that was read. Then rows are
    skipped that are older than the newest by more than the age. Rows that only come late are never skipped.

    Args:
        times: Of the coming rows of a stream.
        max_age: The age, microseconds.

    Example:
        >>> from streamshed.planning.window_drop.track.open_windows import Backlog
        >>> waiting = Backlog(read_until=100, coming_until=900, newest=900)
        >>> times = EventTimes(opened=90, carried_since=0, first=95, last=120, backlog=waiting)
        >>> skipped_times(times, 300), skipped_times(times, 800)
        ((95, 600), None)
    """
    backlog = times.backlog
    if backlog is None:
        return None
    before = backlog.newest - max_age
    has_read = backlog.read_until is not None and backlog.read_until >= before
    return None if has_read or times.first >= before else (times.first, before)


def ageing_queries(network: QueryNetwork) -> tuple[Query, ...]:
    """Return the queries whose rows may be too old: windows of so many rows need all rows, and numbers have no age."""
    return tuple(query for query in network.queries if not (query.is_by_count or query.stream.is_numbered))


def stale_times(
    network: QueryNetwork, max_age: int | None, upcoming: UpcomingWindows
) -> dict[int, tuple[Interval, ...]]:
    """Return the event times that queries miss as their rows are too old, of this micro-batch and those before.

    Those of before are kept as long as a window that they touch may be open.

    Args:
        network: Whose queries.
        max_age: How old rows may be while there is a backlog, microseconds; None: any age.
        upcoming: What is known of the coming rows, and was decided before.

    Returns:
        As `Stale`: ascending, none overlaps another.
    """
    before, times = upcoming.drops.stale, upcoming.event_times
    now = {} if max_age is None else dict(_skipped_by_stream(max_age, times))
    if not before and not now:
        return {}
    stale: dict[int, tuple[Interval, ...]] = {}
    for query in ageing_queries(network):
        skipped = _skipped_of(query.stream, now)
        of_stream = times.get(query.stream.name)
        lasting = [
            interval
            for interval in (*before.get(query.asked_definition_id, ()), *([] if skipped is None else [skipped]))
            if of_stream is None or _may_be_open(query, interval, of_stream.opened)
        ]
        if lasting:
            stale[query.asked_definition_id] = _together(lasting)
    return stale


def stale_numbers(windows: Sequence[WindowSpecification], interval: Interval) -> Interval:
    """Return the numbers of the first and the last window that need rows of some event times; none: the last is less.

    Args:
        windows: Those of nested aggregates, the one next to the stream first, the one asked for last.
        interval: The event times, not empty.

    Example:
        >>> stale_numbers([WindowSpecification(10, 5)], (20, 31))
        (3, 6)
    """
    outermost, deviation, (start, end) = windows[-1], extent(windows), interval

    def needs(number: int) -> bool:
        rows = needed_rows(windows, outermost.offset_microseconds + number * outermost.slide_microseconds)
        return rows is not None and rows.start < end and start < rows.end

    first = first_open(outermost, start - deviation.beyond)
    last = last_until(outermost, end - 1 - deviation.lead)
    while first <= last and not needs(first):
        first += 1
    while first <= last and not needs(last):
        last -= 1
    return first, last


def stale_runs(windows: Sequence[WindowSpecification], intervals: Sequence[Interval]) -> Runs:
    """Return the numbers of the windows that need rows of some event times.

    Args:
        windows: As in `stale_numbers`.
        intervals: The event times.

    >>> stale_runs([WindowSpecification(10, 5)], [(20, 31), (38, 39), (100, 101)])
    ((3, 7), (19, 20))
    """
    numbers = (stale_numbers(windows, interval) for interval in intervals)
    return tuple((first, after - 1) for first, after in _together([(a, b + 1) for a, b in numbers if a <= b]))


def fresh_share(times: EventTimes, stale: Sequence[Interval]) -> float:
    """Return which share of the coming rows is not too old, where they are spread evenly over their event times.

    >>> times = EventTimes(opened=0, carried_since=0, first=0, last=99)
    >>> fresh_share(times, [(0, 80)]), fresh_share(times, [])
    (0.2, 1.0)
    """
    last = times.last if times.backlog is None else max(times.last, times.backlog.coming_until)
    length = last + 1 - times.first
    if length <= 0:
        return 1.0
    skipped = sum(max(0, min(end, last + 1) - max(start, times.first)) for start, end in stale)
    return (length - skipped) / length


def without_stale(times: EventTimes, stale: Sequence[Interval]) -> EventTimes:
    """Return what is known of the rows that are left where the first ones are too old."""
    first = next((end for start, end in stale if start <= times.first < end), times.first)
    return replace(times, first=first, last=max(times.last, first))


def of_streams(network: QueryNetwork, stale: Stale) -> dict[str, tuple[Interval, ...]]:
    """Return the event times of rows that nobody takes, by stream whose rows come from outside.

    Args:
        network: Whose queries.
        stale: What `stale_times` returns.
    """
    by_stream: dict[str, list[list[NeededRows]]] = {}
    for query in network.queries if stale else ():
        if query.stream.joined is None:
            intervals = [NeededRows(start, end) for start, end in stale.get(query.asked_definition_id, ())]
            by_stream.setdefault(query.stream.name, []).append(intervals)
    common = {name: in_all(of_queries) for name, of_queries in by_stream.items()}
    return {name: tuple((one.start, one.end) for one in rows) for name, rows in common.items() if rows}


def _skipped_by_stream(max_age: int, times: Mapping[str, EventTimes]) -> Iterator[tuple[str, Interval]]:
    for name, of_stream in times.items():
        if (interval := skipped_times(of_stream, max_age)) is not None:
            yield name, interval


def _skipped_of(stream: Stream, skipped: Mapping[str, Interval]) -> Interval | None:
    """The event times of rows, or of results of a join, that lack rows that are skipped.

    A result has the later time of its two rows: so it lacks one for as long as rows wait. An answer that is a row is
    stamped with the start of its window, before rows that it lacks.
    """
    join = stream.joined
    if join is None:
        return skipped.get(stream.name)
    intervals = [
        (interval[0] - sum(window.size_microseconds for window in side_windows(side)), interval[1])
        for side in (join.left, join.right)
        if (interval := _skipped_of(side.stream, skipped)) is not None
    ]
    if not intervals:
        return None
    waits = max(join.left_microseconds, join.right_microseconds)
    return min(start for start, _ in intervals), max(end for _, end in intervals) + waits


def _may_be_open(query: Query, interval: Interval, opened: int) -> bool:
    """Whether a window that needs such rows may be open; rows by themselves are late once the watermark is there."""
    if not query.asked_windows:
        return opened < interval[1]
    window, (_, last) = query.asked_windows[-1], stale_numbers(query.asked_windows, interval)
    ends = window.offset_microseconds + last * window.slide_microseconds + window.size_microseconds
    return opened < ends + extent(query.asked_windows).beyond


def _together(intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Intervals that touch become one; of more than may be told apart, those do that are next to each other."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    while len(merged) > MOST_INTERVALS:
        at = min(range(len(merged) - 1), key=lambda place: merged[place + 1][0] - merged[place][1])
        merged[at : at + 2] = [(merged[at][0], merged[at + 1][1])]
    return tuple(merged)
