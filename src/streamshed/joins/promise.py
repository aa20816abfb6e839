"""What a stored row promises: the results that it still yields, for the time that it is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.joins.arrays import Floats, Ints
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.side import Side


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
