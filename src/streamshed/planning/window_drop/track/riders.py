"""Windows that are kept after all: every row of theirs is worked on for windows of queries beside them.

Queries over the same rows drop at the same time, but their windows do not begin and end together: a longer one reaches
into an epoch that others drop, and a gap that would become too long is ended by a window of one query alone. A shorter
window that lies within what is needed anyway costs its aggregates, and no row. [T06] §3.5 leaves windows of different
sizes and slides open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import QueryDrops, gap_before
from streamshed.planning.window_drop.windows.provenance import NeededRows
from streamshed.planning.window_drop.windows.runs import Runs, numbers_in, runs_of


def with_riders(
    queries: Mapping[str, DroppableQuery], before: Mapping[str, QueryDrops], decided: Mapping[str, QueryDrops]
) -> dict[str, QueryDrops]:
    """Keep those of the newly dropped windows of which kept windows need every row.

    Only queries over the same rows and with the same groups carry each other; those over answers of other aggregates,
    and those that are shut down, do not.

    Args:
        queries: The parts of those whose windows may be dropped, by name (`DroppableQuery.parts`).
        before: What was decided before, by part: that stays.
        decided: What is decided now.

    Returns:
        What is decided now, with fewer windows dropped.
    """
    drops_by_part = dict(decided)
    for beside in _beside_each_other(queries, decided):
        new = {name: _dropped_now(decided[name], before.get(name)) for name in beside}
        starts = [_start(decided[name], first) for name in beside for first, _ in new[name]]
        if not starts:
            continue
        needed = united(interval for name in beside for interval in _needed_since(decided[name], min(starts)))
        for name in beside:
            drops_by_part[name] = _without(decided[name], _within(decided[name], new[name], needed))
    return drops_by_part


def united(intervals: Iterable[NeededRows]) -> list[NeededRows]:
    """Return the times that lie in any of some intervals, as intervals that do not touch.

    >>> united([NeededRows(4, 8), NeededRows(0, 2), NeededRows(8, 9), NeededRows(5, 6)])
    [NeededRows(start=0, end=2), NeededRows(start=4, end=9)]
    """
    union: list[NeededRows] = []
    for interval in sorted(intervals, key=lambda interval: interval.start):
        if union and interval.start <= union[-1].end:
            union[-1] = NeededRows(union[-1].start, max(union[-1].end, interval.end))
        else:
            union.append(interval)
    return union


def _beside_each_other(
    queries: Mapping[str, DroppableQuery], decided: Mapping[str, QueryDrops]
) -> Iterator[Sequence[str]]:
    places: dict[tuple[str, ...], list[str]] = {}
    for name, query in queries.items():
        if name in decided and not (query.below or decided[name].is_shut_down):
            places.setdefault(query.work_of_part, []).append(name)
    yield from places.values()


def _dropped_now(now: QueryDrops, before: QueryDrops | None) -> Runs:
    """The windows that only now were decided to be dropped."""
    if before is None:
        return now.dropped
    since = before.coin.next_window
    return tuple((max(first, since), last) for first, last in now.dropped if last >= since)


def _needed_since(drops: QueryDrops, since: int) -> Iterator[NeededRows]:
    """What windows need that are decided on, are kept, and end after an instant."""
    window = drops.coin.window
    at = (since - window.size_microseconds - window.offset_microseconds) // window.slide_microseconds + 1
    end = drops.coin.next_window
    for first, last in (*drops.dropped, (end, end)):
        if at < min(first, end):
            until = _start(drops, min(first, end) - 1) + window.size_microseconds
            yield NeededRows(_start(drops, at), until)
        at = max(at, last + 1)


def _within(drops: QueryDrops, windows: Runs, needed: Sequence[NeededRows]) -> set[int]:
    """Those of some windows that lie within what is needed."""
    window, numbers = drops.coin.window, set[int]()
    for first, last in windows:
        for interval in needed:
            from_start = -(-(interval.start - window.offset_microseconds) // window.slide_microseconds)
            to_end = interval.end - window.size_microseconds - window.offset_microseconds
            numbers |= set(range(max(first, from_start), min(last, to_end // window.slide_microseconds) + 1))
    return numbers


def _without(drops: QueryDrops, kept_windows: set[int]) -> QueryDrops:
    if not kept_windows:
        return drops
    dropped = set(numbers_in(drops.dropped)) - kept_windows
    coin = replace(drops.coin, gap=gap_before(drops.coin.next_window, dropped))
    return replace(
        drops,
        coin=coin,
        dropped=runs_of(dropped),
        run=drops.run.paid(len(kept_windows) * coin.window.slide_microseconds),
    )


def _start(drops: QueryDrops, number: int) -> int:
    return drops.coin.window.offset_microseconds + number * drops.coin.window.slide_microseconds
