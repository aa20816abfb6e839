"""Which rows no kept window of any query needs: event times as intervals, and as a small array to look rows up in.

Queries with different windows, slides and offsets share one such array, the union of what they need: the case that
[T06] §3.5 leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.windows.provenance import NeededRows, needed_rows
from streamshed.planning.window_drop.windows.runs import runs_of

MOST_SLOTS = 4096
"""So long an array may be: a plan of 64 KB."""

_FURTHEST = 1000
"""So far away a window is looked for that is made of anything: windows of nested aggregates may hold no answer."""


def unneeded_times(windows: Sequence[WindowSpecification], dropped: Collection[int]) -> list[NeededRows]:
    """Return the event times whose rows belong to dropped windows only.

    Between the end of what the window before some dropped ones needs, and the start of what the one after them needs,
    nothing is left to be done.

    Args:
        windows: Those of the query's nested aggregates, the one next to the stream first.
        dropped: Indices k of dropped windows of the last, θ + kδ their starts; all others may be kept.

    Returns:
        Intervals, ascending, none of them empty.

    Example:
        >>> unneeded_times([WindowSpecification(5, 2)], [3, 4, 5, 9])
        [NeededRows(start=9, end=12)]
    """
    unneeded: dict[NeededRows, None] = {}
    without = frozenset(dropped)
    for first, last in runs_of(dropped):
        before, after = (_next_needed(windows, *way, without) for way in ((first - 1, -1), (last + 1, 1)))
        if before is not None and after is not None and before.end < after.start:
            unneeded[NeededRows(before.end, after.start)] = None
    return list(unneeded)


@dataclass(frozen=True, slots=True)
class RetentionTable:
    """What of a stream's rows is needed, by event time.

    A row at time t is in slot ⌊(t − base) / step⌋. Before the first slot and after the last one, all rows are needed.

    Attributes:
        base: Where the first slot starts, microseconds.
        step: How long slots are, microseconds.
        needed: Per slot, per query, whether a row may be needed.
    """

    base: int
    step: int
    needed: tuple[tuple[bool, ...], ...]


def retention_table(unneeded: Sequence[Sequence[NeededRows]], most_slots: int = MOST_SLOTS) -> RetentionTable:
    """Put together what several queries do not need.

    Args:
        unneeded: Per query, what `unneeded_times` returns.
        most_slots: So many slots there may be.

    Returns:
        The table: exact where its step divides all bounds, which it does unless it were too long; then a slot counts as
        needed wherever some of it is.

    Example:
        >>> table = retention_table([[NeededRows(4, 8)], [NeededRows(6, 10)]])
        >>> table.base, table.step, table.needed
        (4, 2, ((False, True), (False, False), (True, False)))
    """
    bounds = sorted(
        {bound for intervals in unneeded for interval in intervals for bound in (interval.start, interval.end)}
    )
    if not bounds:
        return RetentionTable(0, 1, ())
    base, length = bounds[0], bounds[-1] - bounds[0]
    exact = math.gcd(*(bound - base for bound in bounds))
    step = exact if length // exact <= most_slots else -(-length // most_slots)
    count = -(-length // step)
    needed = [[True] * len(unneeded) for _ in range(count)]
    for query, intervals in enumerate(unneeded):
        for interval in intervals:
            first, after = -(-(interval.start - base) // step), (interval.end - base) // step
            for slot in range(first, after):
                needed[slot][query] = False
    return RetentionTable(base, step, tuple(map(tuple, needed)))


def _next_needed(
    windows: Sequence[WindowSpecification], number: int, step: int, dropped: AbstractSet[int]
) -> NeededRows | None:
    """What the next kept window is made of that is made of anything, from a number on; None: there is none near."""
    outermost = windows[-1]
    for further in range(_FURTHEST):
        index = number + further * step
        start = outermost.offset_microseconds + index * outermost.slide_microseconds
        if index not in dropped and (rows := needed_rows(windows, start)) is not None:
            return rows
    return None


def needed_share(unneeded: Sequence[Sequence[NeededRows]], first: int, last: int) -> float:
    """Return which share of some time at least one of several queries needs.

    Args:
        unneeded: Per query, what `unneeded_times` returns.
        first: The time's first instant.
        last: Its last.

    Example:
        >>> needed_share([[NeededRows(4, 8)], [NeededRows(6, 10)]], 0, 9)
        0.8
        >>> needed_share([], 0, 9)
        0.0
    """
    length = last + 1 - first
    if length <= 0 or not unneeded:
        return float(bool(unneeded))
    common = in_all([[NeededRows(first, last + 1)], *unneeded])
    return 1 - sum(one.end - one.start for one in common) / length


def in_all(several: Sequence[Sequence[NeededRows]]) -> list[NeededRows]:
    """Return the times that lie in one interval of each of several lists; of no list, none.

    >>> in_all([[NeededRows(0, 4), NeededRows(6, 9)], [NeededRows(3, 7)]])
    [NeededRows(start=3, end=4), NeededRows(start=6, end=7)]
    """
    common = list(several[0]) if several else []
    for intervals in several[1:]:
        common = [
            NeededRows(start, end)
            for interval in common
            for other in intervals
            if (start := max(interval.start, other.start)) < (end := min(interval.end, other.end))
        ]
    return common
