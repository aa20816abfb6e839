"""Basic windows released for memory before their time, remembered without rows: answers say what they miss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.windows.directory import Directory, Stored

_MOST = 4_096
"""Basic windows that are remembered by themselves, of either side."""
_MOST_INTERVALS = 8

EventTimes = tuple[int, int]
"""The first and the last of some event times, microseconds."""


def with_released(forgotten: Directory, gone: Iterable[Stored]) -> Directory:
    """Remember basic windows, or parts of them, that are released.

    There is a limit on them: those furthest in the future become one entry, so a broken clock cannot fill the memory.

    Args:
        forgotten: What was released before.
        gone: What is released now.

    Example:
        >>> first = Stored(1, 0, 10, 800, 0, 5)
        >>> with_released(Directory((first,)), [Stored(1, 0, 2, 200, 3, 9)]).entries
        (Stored(side=1, number=0, rows=12, bytes=1000, first_microseconds=0, last_microseconds=9),)
    """
    entries = {entry[:2]: entry for entry in forgotten.entries}
    for entry in gone:
        earlier = entries.get(entry[:2])
        entries[entry[:2]] = entry if earlier is None else _together([earlier, entry])
    remembered: list[Stored] = []
    for side in Side:
        of_side = [entries[key] for key in sorted(entries) if key[0] == side]
        remembered += of_side if len(of_side) <= _MOST else [*of_side[: _MOST - 1], _together(of_side[_MOST - 1 :])]
    return Directory(tuple(remembered))


def missing_times(forgotten: Directory, windows: JoinWindows, watermark: int | None) -> tuple[EventTimes, ...]:
    """Return the event times of results that are missing because rows were released; a few intervals, in order.

    A released row of time t would have been joined with rows of times from the watermark to t + w_i: those results have
    times from max(t, watermark) to t + w_i.

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
    for entry in forgotten.entries:
        start = entry.first_microseconds if watermark is None else max(entry.first_microseconds, watermark)
        until = entry.last_microseconds + windows.length(Side(entry.side))
        if start <= until:
            intervals.append((start, until))
    united = _united(intervals)
    return (*united[: _MOST_INTERVALS - 1], *_united(united[_MOST_INTERVALS - 1 :], has_no_gaps=True))


def apart(stored: Directory) -> tuple[Directory, Directory]:
    """Return what is stored and what was released, from the one directory that `together` makes of both.

    Example:
        >>> one, gone = Stored(1, 0, 10, 800, 2, 5), Stored(2, 1, 10, 800, 18, 19)
        >>> apart(together(Directory((one,)), Directory((gone,)))) == (Directory((one,)), Directory((gone,)))
        True
    """
    stored_entries = tuple(entry for entry in stored.entries if entry.side > 0)
    released_entries = tuple(entry._replace(side=-entry.side) for entry in stored.entries if entry.side < 0)
    return Directory(stored_entries), Directory(released_entries)


def together(directory: Directory, forgotten: Directory) -> Directory:
    """Return both as one directory, in which the sides of what was released are negative."""
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
    united: list[EventTimes] = []
    for start, until in sorted(intervals):
        if united and (has_no_gaps or start <= united[-1][1] + 1):
            united[-1] = (united[-1][0], max(united[-1][1], until))
        else:
            united.append((start, until))
    return united
