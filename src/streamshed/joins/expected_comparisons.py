"""What comparing new rows would take, cell by cell, from the directory alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.joins.arrays import Floats, Ints
from streamshed.joins.directory import Directory
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.kernel import comparisons_within
from streamshed.joins.side import Side

_PROBES = 512
"""Of how many new rows, spread evenly, comparisons are reckoned."""


@dataclass(frozen=True, kw_only=True)
class ExpectedComparisons:
    """What a micro-batch would compare, nothing shed.

    Args:
        windows: The windows of the join.
        with_stored: Per cell, comparisons of new rows with stored ones, as if these came evenly within their basic
            windows.
        among_new: Per cell, comparisons of new rows with new ones.
        reads: Per cell, stored basic windows that its lags reach into.
    """

    windows: JoinWindows
    with_stored: tuple[float, ...]
    among_new: tuple[float, ...]
    reads: tuple[int, ...]

    @property
    def comparisons(self) -> Floats:
        """All comparisons, per cell."""
        total: Floats = np.array(self.with_stored) + np.array(self.among_new)
        return total

    @property
    def total(self) -> float:
        """All comparisons."""
        return float(self.comparisons.sum())


def expected_comparisons(windows: JoinWindows, directory: Directory, left: Ints, right: Ints) -> ExpectedComparisons:
    """Return what new rows would be compared with.

    Args:
        windows: The windows of the join.
        directory: What is stored.
        left: Times of new left rows, in order.
        right: Times of new right rows, in order.

    Example:
        >>> from streamshed.joins.directory import Stored
        >>> directory = Directory((Stored(1, 0, 10, 800, 0, 9), Stored(1, 1, 20, 1600, 10, 19)))
        >>> found = expected_comparisons(JoinWindows(20, 0, 10), directory, np.array([20]), np.array([20, 25]))
        >>> found.with_stored, found.among_new, found.reads
        ((26.0, 29.0), (2.0, 0.0), (1, 2))
    """
    stored = np.zeros(windows.cells)
    reads = np.zeros(windows.cells, np.int64)
    for side, times in ((Side.RIGHT, left), (Side.LEFT, right)):
        if not len(times):
            continue
        probes = times[np.linspace(0, len(times) - 1, min(len(times), _PROBES)).round().astype(np.int64)]
        for cell, (lo, hi) in enumerate(windows.cell_intervals):
            least, most = (lo, hi) if side is Side.RIGHT else (-hi, -lo)
            rows = directory.rows_before(side, np.stack([probes + least, probes + most + 1]))
            stored[cell] += (rows[1] - rows[0]).mean() * len(times)
            reads[cell] += len(directory.probed(side, times, [(lo, hi)]))
    among_new = comparisons_within(left, right, windows.cell_intervals)
    return ExpectedComparisons(
        windows=windows,
        with_stored=tuple(stored.tolist()),
        among_new=tuple(among_new.astype(float).tolist()),
        reads=tuple(reads.tolist()),
    )
