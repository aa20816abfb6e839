"""Which basic windows are given up first when memory is short, and which are kept to learn what old rows yield."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.windows.directory import Directory, Stored
from streamshed.joins.windows.join_plan import MemoryLimit

_WORTH_CUTTING = 0.05
"""Of the limit: where giving up a whole basic window would leave more of it unused, a part is given up."""
_EXPLORING = 0.1
"""γ: of the limit, what rows may take that are kept until their window is over, whatever they promise."""


@dataclass(frozen=True, slots=True)
class CutWindow:
    """A basic window of which a part is given up.

    Args:
        of: The basic window.
        bytes: What may stay of it.
        keeps_younger: Whether that is its younger rows.
    """

    of: Stored
    bytes: int
    keeps_younger: bool


@dataclass(frozen=True, slots=True)
class Release:
    """What is given up.

    Args:
        whole: Basic windows.
        cuts: Those of which a part stays.
    """

    whole: tuple[Stored, ...] = ()
    cuts: tuple[CutWindow, ...] = ()


def released(directory: Directory, forgotten: Directory, windows: JoinWindows, limit: MemoryLimit) -> Release:
    """Return what to release, least promise per byte first, until the rest fits.

    A basic window promises its number of rows × the `promises` of its last row × the rows per microsecond of the other
    side. Of equal ones the older goes first; while nothing is known of yields, all are equal. *Now* is the time that
    both sides have reached, so that a clock that is ahead on one side makes no row of the other look old.

    Yields of large lags can only be learned from old rows. So a tenth of the limit is for the oldest rows of either
    side, which stay until their window is over (`explorers`). Once they have left, the oldest of the others take their
    place.

    Args:
        directory: What is stored.
        forgotten: What was released before, and would be stored.
        windows: The windows.
        limit: What may stay.

    Example:
        >>> from streamshed.joins.windows.yields import Yields
        >>> windows = JoinWindows(20, 20, 10)
        >>> older, left, right = (1, 0, 5, 100, 0, 9), (1, 1, 5, 100, 10, 19), (2, 1, 5, 100, 10, 19)
        >>> directory = Directory(tuple(Stored(*entry) for entry in (older, left, right)))
        >>> late_peak = Yields((1000.0,) * 4, (1.0, 90.0, 1.0, 1.0))
        >>> gone = released(directory, Directory(), windows, MemoryLimit(bytes=100, yields=late_peak))
        >>> [entry[:2] for entry in gone.whole], [(cut.of[:2], cut.bytes, cut.keeps_younger) for cut in gone.cuts]
        ([(1, 1)], [((2, 1), 5, False), ((1, 0), 95, True)])
    """
    excess = directory.bytes - limit.bytes
    if excess <= 0:
        return Release()
    now = _now(directory)
    entries = directory.entries
    first, last = (np.array([entry[place] for entry in entries], np.int64) for place in (4, 5))
    per_comparison_seen = limit.yields.per_comparison
    per_comparison = per_comparison_seen if any(per_comparison_seen) else (1.0,) * windows.cells
    of_first, of_last = (_per_row(directory, forgotten, windows, per_comparison, now - at) for at in (first, last))
    density = of_last * [entry.rows / entry.bytes for entry in entries]
    staying = explorers(directory, windows, int(_EXPLORING * limit.bytes))
    whole: list[Stored] = []
    cuts: list[CutWindow] = []
    for place in np.lexsort((last, density)).tolist():
        entry = entries[place]
        stays = staying.get(entry, 0)
        if entry.bytes > excess + _WORTH_CUTTING * limit.bytes:
            stays = max(stays, entry.bytes - excess)
        if stays >= entry.bytes:
            continue
        if stays:
            cuts.append(CutWindow(entry, stays, keeps_younger=bool(of_last[place] >= of_first[place])))
        else:
            whole.append(entry)
        excess -= entry.bytes - stays
        if excess <= 0:
            break
    return Release(tuple(whole), tuple(cuts))


def explorers(directory: Directory, windows: JoinWindows, size: int) -> dict[Stored, int]:
    """Return the bytes that stay of the oldest basic windows of both sides, each side with half of a size.

    Args:
        directory: What is stored.
        windows: The windows.
        size: Of what stays, bytes.

    Example:
        >>> directory = Directory(tuple(Stored(1, n, 5, 100, 10 * n, 10 * n + 9) for n in range(3)))
        >>> [(entry.number, stays) for entry, stays in explorers(directory, JoinWindows(15, 0, 10), 150).items()]
        [(1, 100), (2, 50)]
    """
    sides = [side for side in Side if windows.length(side)]
    stays = {}
    for side in sides:
        left = size // len(sides)
        for entry in directory.of(side):
            if entry.last_microseconds > _now(directory) - windows.length(side) and left:
                stays[entry] = min(left, entry.bytes)
                left -= stays[entry]
    return stays


def _now(directory: Directory) -> int:
    """The time that both sides have reached."""
    latest = [max(entry.last_microseconds for entry in of_side) for side in Side if (of_side := directory.of(side))]
    return min(latest)


def _per_row(
    directory: Directory, forgotten: Directory, windows: JoinWindows, per_comparison: tuple[float, ...], ages: Ints
) -> Floats:
    """What a row of each basic window promises per microsecond, by its age."""
    sides = np.array([entry.side for entry in directory.entries])
    promised = np.zeros(len(ages))
    for side in Side:
        rows_per_microsecond = _rows_per_microsecond(side.opposite, directory, forgotten, windows)
        of_side = sides == side
        promised[of_side] = rows_per_microsecond * promises(windows, per_comparison, side, ages[of_side])
    return promised


def _rows_per_microsecond(side: Side, directory: Directory, forgotten: Directory, windows: JoinWindows) -> float:
    now = _now(directory)
    length = max(windows.length(side), windows.basic_microseconds)
    ends = np.array([now - length, now]) + 1
    before = directory.rows_before(side, ends) + forgotten.rows_before(side, ends)
    return float(before[1] - before[0]) / length


def promises(windows: JoinWindows, per_comparison: Sequence[float], side: Side, ages: Ints) -> Floats:
    """Return the results that rows still yield per microsecond of being kept, if each is kept for the best time.

    With o_ij for lags as rows age, that of a row of age a is max over T of ∫ o over [a, T) ÷ (T − a), 0 once its window
    is over: rows that have passed a peak promise little, those before it the more the nearer it is. To keep the rows of
    the largest promise is best where all comes evenly (the index of Gittins for when to stop); the age-based shedding
    of [G05] §2, which has rows leave after their peak, is the case of one peak at the end of what fits. A row of the
    future has a negative age, and promises the less the further it is.

    Args:
        windows: The windows.
        per_comparison: o_ij, results per comparison of each cell.
        side: Whose rows.
        ages: Theirs, microseconds.

    Returns:
        Per age, results per row and microsecond, for one row a microsecond on the other side.

    Example:
        >>> windows = JoinWindows(30, 0, 10)
        >>> promises(windows, (0.0, 0.0, 3.0), Side.LEFT, np.array([-30, 0, 10, 20, 31])).tolist()
        [0.5409836065573771, 1.064516129032258, 1.5714285714285714, 3.0, 0.0]
        >>> promises(windows, (2.0, 0.0, 1.0), Side.LEFT, np.array([0, 5, 10, 25])).round(3).tolist()
        [2.0, 2.0, 0.524, 1.0]
    """
    cells = windows.cells_of_side(side)
    if not cells:
        return np.zeros(len(ages))
    lags = np.abs(np.array(windows.cell_intervals, np.int64)[list(cells)])
    starts, ends = lags.min(axis=1), lags.max(axis=1) + 1
    yields = np.array(per_comparison)[list(cells)]
    left = np.maximum(ends - np.maximum(starts, ages[:, None]), 0)
    yields_so_far = np.cumsum(left * yields, axis=1)
    stay = ends - ages[:, None]
    best: Floats = np.where(stay > 0, yields_so_far / np.maximum(stay, 1), 0.0).max(axis=1)
    return best
