"""What was released for memory and would still be joined: it is remembered without its rows, so that nobody lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamshed.joins.directory import Directory, Stored
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.side import Side

_MOST = 4_096
"""Basic windows that are remembered by themselves, of either side."""
_MOST_INTERVALS = 8

EventTimes = tuple[int, int]
"""The first and the last of some event times, microseconds."""


def with_released(forgotten: Directory, gone: Iterable[Stored]) -> Directory:
    """Remember basic windows, or parts of them, that are released.

    Of very many, those furthest in the future are taken together: a broken clock shall not fill the memory.

    Args:
        forgotten: What was released before.
        gone: What is released now.

    Example:
        >>> first = Stored(1, 0, 10, 800, 0, 5)
        >>> with_released(Directory((first,)), [Stored(1, 0, 2, 200, 3, 9)]).entries
        (Stored(side=1, number=0, rows=12, bytes=1000, first_microseconds=0, last_microseconds=9),)
    """
    entries = {one[:2]: one for one in forgotten.entries}
    for one in gone:
        known = entries.get(one[:2])
        entries[one[:2]] = one if known is None else _together([known, one])
    found: list[Stored] = []
    for side in Side:
        own = [entries[key] for key in sorted(entries) if key[0] == side]
        found += own if len(own) <= _MOST else [*own[: _MOST - 1], _together(own[_MOST - 1 :])]
    return Directory(tuple(found))


def missing_times(forgotten: Directory, windows: JoinWindows, watermark: int | None) -> tuple[EventTimes, ...]:
    """Return the event times of results that are missing because rows were released; a few intervals, in order.

    A row of time t that is gone would have been joined with rows that come later, of times from the watermark on up to
    t + w_i: results of times from max(t, watermark) to t + w_i.

    Args:
        forgotten: What was released.
        windows: The windows.
        watermark: Microseconds; None: there is none yet.

    Example:
        >>> forgotten = Directory((Stored(1, 0, 10, 800, 2, 5), Stored(2, 1, 10, 800, 18, 19)))
        >>> missing_times(forgotten, JoinWindows(20, 5, 10), None)
        ((2, 25),)
        >>> missing_times(forgotten, JoinWindows(10, 5, 10), 12)
        ((12, 15), (18, 24))
    """
    intervals = []
    for one in forgotten.entries:
        start = one.first_microseconds if watermark is None else max(one.first_microseconds, watermark)
        until = one.last_microseconds + windows.length(Side(one.side))
        if start <= until:
            intervals.append((start, until))
    found = _united(intervals)
    return (*found[: _MOST_INTERVALS - 1], *_united(found[_MOST_INTERVALS - 1 :], has_no_gaps=True))


def apart(stored: Directory) -> tuple[Directory, Directory]:
    """Return what is stored and what was released, from how both are written down together.

    Example:
        >>> one, gone = Stored(1, 0, 10, 800, 2, 5), Stored(2, 1, 10, 800, 18, 19)
        >>> apart(together(Directory((one,)), Directory((gone,)))) == (Directory((one,)), Directory((gone,)))
        True
    """
    kept = tuple(one for one in stored.entries if one.side > 0)
    gone = tuple(one._replace(side=-one.side) for one in stored.entries if one.side < 0)
    return Directory(kept), Directory(gone)


def together(directory: Directory, forgotten: Directory) -> Directory:
    """Return both as one, as they are written down: the sides of what was released are negative."""
    return Directory((*directory.entries, *(one._replace(side=-one.side) for one in forgotten.entries)))


def _together(several: Sequence[Stored]) -> Stored:
    return Stored(
        several[0].side,
        several[0].number,
        sum(one.rows for one in several),
        sum(one.bytes for one in several),
        min(one.first_microseconds for one in several),
        max(one.last_microseconds for one in several),
    )


def _united(intervals: Iterable[EventTimes], *, has_no_gaps: bool = False) -> list[EventTimes]:
    found: list[EventTimes] = []
    for start, until in sorted(intervals):
        if found and (has_no_gaps or start <= found[-1][1] + 1):
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((start, until))
    return found
