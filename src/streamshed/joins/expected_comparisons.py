"""What comparing new rows would take, cell by cell, from the directory alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamshed.joins.arrays import Floats, Ints
from streamshed.joins.coins import rounding
from streamshed.joins.directory import Directory
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.kernel import comparisons_within
from streamshed.joins.side import Side

_PROBES = 512
"""Of how many new rows at most, spread evenly, comparisons are reckoned."""
_MOST_POINTS = 1 << 16
"""Rows times edges of cells that are looked up: of many cells, fewer rows are."""
_QUARTERS = 4
"""Parts of a cell that comparisons are reckoned of: rows come unevenly where a burst begins or ends."""


@dataclass(frozen=True, kw_only=True)
class ExpectedComparisons:
    """What a micro-batch would compare, nothing shed.

    Args:
        windows: The windows of the join.
        with_stored: Per cell, comparisons of new rows with stored ones, as if these came evenly within their basic
            windows.
        among_new: Per cell, comparisons of new rows with new ones.
        reads: Per cell, stored basic windows that its lags reach into.
        quarters: Per cell, the shares of its comparisons that are in its youngest quarter, half and three quarters;
            empty: they are even.
        step_microseconds: What lags are multiples of, as with stamps of whole seconds.
    """

    windows: JoinWindows
    with_stored: tuple[float, ...]
    among_new: tuple[float, ...]
    reads: tuple[int, ...]
    quarters: tuple[tuple[float, ...], ...] = ()
    step_microseconds: int = 1

    @property
    def comparisons(self) -> Floats:
        """All comparisons, per cell."""
        total: Floats = np.array(self.with_stored) + np.array(self.among_new)
        return total

    @property
    def total(self) -> float:
        """All comparisons."""
        return float(self.comparisons.sum())

    def lag_fractions(self, shares: Sequence[float], *, seed: int = 0) -> tuple[float, ...]:
        """Return which share of the lags of each cell, the younger ones, has some share of its comparisons.

        A part of a cell has a whole number of lag steps, rounded up or down by chance so that it is right on average.

        Args:
            shares: Per cell.
            seed: Of that chance.

        Example:
            >>> windows = JoinWindows(10, 0, 10)
            >>> expected = ExpectedComparisons(
            ...     windows=windows, with_stored=(80.0,), among_new=(0.0,), reads=(1,), quarters=((0.1, 0.2, 0.6),)
            ... )
            >>> [round(expected.lag_fractions([share])[0], 3) for share in (0.0, 0.1, 0.4, 0.8, 1.0)]
            [0.0, 0.25, 0.625, 0.875, 1.0]
        """
        places = np.arange(_QUARTERS + 1) / _QUARTERS
        found = list(shares)
        for cell, share in enumerate(shares):
            if 0.0 < share < 1.0:
                known = self.quarters[cell] if self.quarters else places[1:-1]
                part = float(np.interp(share, [0.0, *known, 1.0], places))
                found[cell] = self._whole_steps(cell, share if self._steps(cell) <= _QUARTERS else part, seed)
        return tuple(found)

    def _steps(self, cell: int) -> float:
        return float(self.windows.cell_microseconds[cell]) / self.step_microseconds

    def _whole_steps(self, cell: int, part: float, seed: int) -> float:
        if self.step_microseconds == 1:
            return part
        steps = self._steps(cell)
        return min(1.0, math.floor(part * steps + rounding(cell, seed=seed)) / steps)


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
        >>> [round(share, 3) for share in found.quarters[1]]
        [0.241, 0.552, 0.793]
    """
    edges = _edges(windows)
    stored = np.zeros((windows.cells, _QUARTERS))
    reads = np.zeros(windows.cells, np.int64)
    for side, times in ((Side.RIGHT, left), (Side.LEFT, right)):
        if len(times):
            stored += _with_stored(directory, side, times, edges)
            reads += directory.reads(side, times, windows.cell_intervals)
    pieces = [(lo, hi - 1) for row in edges.tolist() for lo, hi in pairwise(row)]
    among_new = comparisons_within(left, right, pieces).reshape(stored.shape)
    return ExpectedComparisons(
        windows=windows,
        with_stored=tuple(stored.sum(axis=1).tolist()),
        among_new=tuple(among_new.sum(axis=1).astype(float).tolist()),
        reads=tuple(reads.tolist()),
        quarters=_younger_shares(windows, stored + among_new),
        step_microseconds=_step(directory, left, right),
    )


def _step(directory: Directory, left: Ints, right: Ints) -> int:
    """The greatest number that all lags are multiples of, as far as is known without reading."""
    edges = [at for one in directory.entries for at in (one.first_microseconds, one.last_microseconds)]
    times = np.concatenate([left, right, np.array(edges, np.int64)])
    return max(1, int(np.gcd.reduce(times - times[0]))) if len(times) else 1


def _edges(windows: JoinWindows) -> Ints:
    """The lags between which the quarters of each cell lie, shape (cells, quarters + 1)."""
    lo, hi = np.array(windows.cell_intervals, np.int64).T
    edges: Ints = lo[:, None] + (hi - lo + 1)[:, None] * np.arange(_QUARTERS + 1) // _QUARTERS
    return edges


def _with_stored(directory: Directory, side: Side, times: Ints, edges: Ints) -> Floats:
    """Comparisons of new rows with stored ones of the other side, per cell and quarter, in order of lag."""
    count = min(len(times), _PROBES, max(16, _MOST_POINTS // edges.size))
    probes = times[np.linspace(0, len(times) - 1, count).round().astype(np.int64)]
    places, which = np.unique(edges if side is Side.RIGHT else 1 - edges, return_inverse=True)
    rows = directory.rows_before(side, probes + places[:, None]).mean(axis=1)[which.reshape(edges.shape)]
    found: Floats = np.abs(np.diff(rows, axis=1)) * len(times)
    return found


def _younger_shares(windows: JoinWindows, counts: Floats) -> tuple[tuple[float, ...], ...]:
    youngest_first = counts.copy()
    youngest_first[windows.left_cells :] = counts[windows.left_cells :, ::-1]
    totals = counts.sum(axis=1, keepdims=True)
    even = np.arange(1, _QUARTERS) / _QUARTERS
    shares = np.cumsum(youngest_first, axis=1)[:, :-1] / np.maximum(totals, 1e-9)
    return tuple(map(tuple, np.where(totals > 0.0, np.minimum(shares, 1.0), even).tolist()))
