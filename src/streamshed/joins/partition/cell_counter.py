"""Counts of cells, while rows are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streamshed.joins.match.kernel import comparisons_within
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.partition.join_result import CellCounts


class CellCounter:
    """Counts comparisons and results per cell, as rows are compared.

    Args:
        windows: What cells there are.

    Example:
        >>> counter = CellCounter(JoinWindows(20, 0, 10))
        >>> lags, weights = np.array([5, 15]), np.array([1.0, 4.0])
        >>> counter.add(np.array([0]), np.array([5, 15, 16]), [0, 1], lags, weights)
        >>> found = counter.counts()
        >>> found.comparisons.tolist(), found.weight.tolist()
        ([1.0, 2.0], [1.0, 4.0])
    """

    def __init__(self, windows: JoinWindows) -> None:
        self._windows = windows
        self._comparisons, self._results, self._weight = np.zeros((3, windows.cells))
        self.full_comparisons: Floats = np.zeros(windows.cells)
        """Comparisons, each as many as it stands for."""

    def add(
        self,
        left: Ints,
        right: Ints,
        cells: Sequence[int],
        lags: Ints,
        weights: Floats | None,
        *,
        scale: float = 1.0,
    ) -> None:
        """Take in some comparisons.

        Args:
            left: Times of left rows.
            right: Times of right rows.
            cells: Over the lags of which all of them were compared.
            lags: Of the pairs that join.
            weights: What these are worth; None: 1 each.
            scale: For how many comparisons each stands.
        """
        intervals = self._windows.cell_intervals
        compared = np.zeros(self._windows.cells)
        compared[list(cells)] = comparisons_within(left, right, [intervals[cell] for cell in cells])
        of_lags = self._windows.cells_of(lags)
        result_counts = np.bincount(of_lags, minlength=self._windows.cells).astype(np.float64)
        weight = result_counts if weights is None else np.bincount(of_lags, weights, minlength=self._windows.cells)
        self._comparisons += compared
        self.full_comparisons += scale * compared
        self._results += result_counts
        self._weight += weight

    def counts(self) -> CellCounts:
        """Return what was counted."""
        return CellCounts(comparisons=self._comparisons, results=self._results, weight=self._weight)
