"""What comparing new rows would take, cell by cell, from the directory alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamshed.joins.match.kernel import comparisons_within
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.side import Side
from streamshed.joins.windows.directory import Directory

_PROBES = 512
"""Of how many new rows at most, spread evenly, comparisons are reckoned."""
_MOST_POINTS = 1 << 16
"""Rows times edges of cells that are looked up: of many cells, fewer rows are."""


@dataclass(frozen=True, kw_only=True)
class ExpectedComparisons:
    """What a micro-batch would compare, nothing shed.

    Args:
        windows: The windows of the join.
        with_stored: Per cell, comparisons of new rows with stored ones, as if these came evenly within their basic
            windows.
        among_new: Per cell, comparisons of new rows with new ones.
        reads: Per cell, stored basic windows that its lags reach into. Each is read once: where several cells reach
            into it, each has its share of the one read.
    """

    windows: JoinWindows
    with_stored: tuple[float, ...]
    among_new: tuple[float, ...]
    reads: tuple[float, ...]

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
        >>> from streamshed.joins.windows.directory import Stored
        >>> directory = Directory((Stored(1, 0, 10, 800, 0, 9), Stored(1, 1, 20, 1600, 10, 19)))
        >>> found = expected_comparisons(JoinWindows(20, 0, 10), directory, np.array([20]), np.array([20, 25]))
        >>> found.with_stored, found.among_new, tuple(round(of_cell, 2) for of_cell in found.reads)
        ((26.0, 29.0), (2.0, 0.0), (0.67, 1.33))
    """
    stored = np.zeros(windows.cells)
    reads = np.zeros(windows.cells)
    for side, times in ((Side.RIGHT, left), (Side.LEFT, right)):
        if len(times):
            stored += _with_stored(directory, side, times, windows)
            by_cell = directory.reads(side, times, windows.cell_intervals)
            distinct = len(directory.probed(side, times, [windows.everything]))
            reads += by_cell * (distinct / max(1, by_cell.sum()))
    among_new = comparisons_within(left, right, windows.cell_intervals)
    return ExpectedComparisons(
        windows=windows,
        with_stored=tuple(stored.tolist()),
        among_new=tuple(among_new.astype(float).tolist()),
        reads=tuple(reads.tolist()),
    )


def _with_stored(directory: Directory, side: Side, times: Ints, windows: JoinWindows) -> Floats:
    """Comparisons of new rows with stored ones of the other side, per cell."""
    lo, hi = np.array(windows.cell_intervals, np.int64).T
    edges = np.stack([lo, hi + 1])
    count = min(len(times), _PROBES, max(16, _MOST_POINTS // edges.size))
    probes = times[np.linspace(0, len(times) - 1, count).round().astype(np.int64)]
    places, which = np.unique(edges if side is Side.RIGHT else 1 - edges, return_inverse=True)
    rows = directory.rows_before(side, probes + places[:, None]).mean(axis=1)[which.reshape(edges.shape)]
    comparisons: Floats = np.abs(rows[1] - rows[0]) * len(times)
    return comparisons
