"""Which basic windows are given up first when memory is short."""

from __future__ import annotations

from streamshed.joins.directory import Directory, Stored
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.side import Side
from streamshed.joins.yields import Yields


def released(
    directory: Directory, windows: JoinWindows, yields: Yields, *, now_microseconds: int, limit_bytes: int
) -> tuple[Stored, ...]:
    """Return the basic windows to release, least remaining yield per byte first, until the rest fits.

    What a row of W_i still yields is Σ o_ij over the cells that it has not passed yet, each by the share that is left.
    This is the age-based memory shedding of [G05] §2, by learned yields: rows leave when they have passed the peak.

    Args:
        directory: What is stored.
        windows: The windows.
        yields: What comparisons yield.
        now_microseconds: The latest time seen.
        limit_bytes: What may stay.

    Example:
        >>> windows = JoinWindows(20, 20, 10)
        >>> older, left, right = (1, 0, 5, 100, 0, 9), (1, 1, 5, 100, 10, 19), (2, 1, 5, 100, 10, 19)
        >>> directory = Directory(tuple(Stored(*one) for one in (older, left, right)))
        >>> late_peak = Yields((1000.0,) * 4, (1.0, 90.0, 1.0, 1.0))
        >>> gone = released(directory, windows, late_peak, now_microseconds=20, limit_bytes=200)
        >>> [(one.side, one.number) for one in gone]
        [(2, 1)]
        >>> gone = released(directory, windows, late_peak, now_microseconds=29, limit_bytes=100)
        >>> [(one.side, one.number) for one in gone]
        [(2, 1), (1, 0)]
    """
    excess = directory.bytes - limit_bytes
    gone: list[Stored] = []

    def worth(one: Stored) -> tuple[float, int]:
        left = remaining_yield(windows, yields, Side(one.side), now_microseconds - one.last_microseconds)
        return left * one.rows / one.bytes, one.last_microseconds

    for one in sorted(directory.entries, key=worth):
        if excess <= 0:
            break
        gone.append(one)
        excess -= one.bytes
    return tuple(gone)


def remaining_yield(windows: JoinWindows, yields: Yields, side: Side, age_microseconds: int) -> float:
    """Return what a row of some age still yields, per row a microsecond on the other side.

    Example:
        >>> round(remaining_yield(JoinWindows(20, 0, 10), Yields((1e5, 1e5), (1e4, 2e4)), Side.LEFT, 15), 3)
        1.2
    """
    per_comparison = yields.per_comparison
    total = 0.0
    for cell in windows.cells_of_side(side):
        lo, hi = sorted(abs(lag) for lag in windows.cell_intervals[cell])
        total += per_comparison[cell] * max(0, hi - max(lo, age_microseconds) + 1)
    return total
