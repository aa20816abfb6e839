"""The best size b of basic windows: small ones follow the yields closely, but each costs a read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.greedy import greedy
from streamshed.joins.choose.selection import CellWork
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.windows.yields import Yields

_AS_GOOD = 0.99
"""A larger size is taken if it gives so much of what the best does."""
_GOOD_ENOUGH = 0.95
"""What is stored stays as it is if it gives so much: to cut it anew takes reading and writing all of it."""


def chosen_windows(work: CellWork, judged: Yields, budget: float, *, multiple: int | None = None) -> JoinWindows:
    """Return the windows with basic windows of 1, 2, 4, ... times the size, whichever is expected to give most results.

    Cells are chosen by what one half of the micro-batches showed and judged by the other half: sizes so small that
    their yields are mostly noise give less than they promise.

    Args:
        work: Comparisons, yields of one half and prices, for the smallest size there may be.
        judged: Yields of the other half.
        budget: What a micro-batch may cost.
        multiple: How many times that size they are stored now: they stay so where no other gives a twentieth more.
            None: nothing is stored.

    Example:
        >>> windows, stored, none = JoinWindows(80, 0, 10), (100.0,) * 8, (0.0,) * 8
        >>> expected = ExpectedComparisons(windows=windows, with_stored=stored, among_new=none, reads=(2,) * 8)
        >>> flat = Yields((1e6,) * 8, (1e4,) * 8)
        >>> chosen_windows(CellWork(expected=expected, yields=flat), flat, 200.0).basic_microseconds
        80
        >>> peak = Yields((1e6,) * 8, (1e4, 9e4) + (1e4,) * 6)
        >>> chosen_windows(CellWork(expected=expected, yields=peak), peak, 100.0).basic_microseconds
        10
    """
    fine = work.expected.windows
    results_by_windows: dict[JoinWindows, float] = {}
    for times in _multiples(fine):
        coarse = of_multiple(fine, times)
        coarse_work = merged_work(work, coarse)
        selection = greedy(coarse_work, budget)
        worth = np.array(merged_yields(judged, fine, coarse).per_comparison) * coarse_work.expected.comparisons
        results_by_windows[coarse] = float(worth @ selection.fractions)
    most_results = max(results_by_windows.values())
    if multiple is not None:
        present = of_multiple(fine, multiple)
        if results_by_windows.get(present, 0.0) >= _GOOD_ENOUGH * most_results:
            return present
    enough = _AS_GOOD * most_results
    return max(
        (of for of, results in results_by_windows.items() if results >= enough), key=lambda of: of.basic_microseconds
    )


def of_multiple(windows: JoinWindows, multiple: int) -> JoinWindows:
    """Return the same windows with basic windows so many times as long."""
    return replace(windows, basic_microseconds=multiple * windows.basic_microseconds)


def merged_work(work: CellWork, coarse: JoinWindows) -> CellWork:
    """Return the same work in larger cells."""
    fine = work.expected.windows
    if coarse == fine:
        return work
    return replace(
        work,
        expected=merged_comparisons(work.expected, coarse),
        yields=merged_yields(work.yields, fine, coarse),
        result_yields=None if work.result_yields is None else merged_yields(work.result_yields, fine, coarse),
    )


def spread_over(fractions: Sequence[float], coarse: JoinWindows, fine: JoinWindows) -> tuple[float, ...]:
    """Return, for each cell, what is said of the larger one that it lies in.

    Example:
        >>> spread_over([0.5, 1.0], JoinWindows(20, 10, 20), JoinWindows(20, 10, 10))
        (0.5, 0.5, 1.0)
    """
    return tuple(np.array(fractions)[_cells_within(fine, coarse)].tolist())


def merged_yields(yields: Yields, fine: JoinWindows, coarse: JoinWindows) -> Yields:
    """Return what is known of larger cells.

    Example:
        >>> yields = Yields((1.0, 2.0, 4.0), (0.0, 1.0, 1.0))
        >>> merged = merged_yields(yields, JoinWindows(20, 10, 10), JoinWindows(20, 10, 20))
        >>> merged.comparisons, merged.results
        ((3.0, 4.0), (1.0, 1.0))
    """
    into = _cells_within(fine, coarse)
    comparisons, results = (_added(into, counts, coarse) for counts in (yields.comparisons, yields.results))
    return Yields(comparisons, results, yields.of_best, yields.of_all)


def merged_comparisons(expected: ExpectedComparisons, coarse: JoinWindows) -> ExpectedComparisons:
    """Return what larger cells would compare; each reads as many basic windows as one of its parts did."""
    into = _cells_within(expected.windows, coarse)
    reads = np.zeros(coarse.cells)
    np.maximum.at(reads, into, np.array(expected.reads))
    return ExpectedComparisons(
        windows=coarse,
        with_stored=_added(into, expected.with_stored, coarse),
        among_new=_added(into, expected.among_new, coarse),
        reads=tuple(reads.tolist()),
    )


def _multiples(windows: JoinWindows) -> list[int]:
    longest = max(windows.left_microseconds, windows.right_microseconds)
    powers = range(1 + max(0, (longest // windows.basic_microseconds).bit_length() - 1))
    return [1 << power for power in powers]


def _cells_within(fine: JoinWindows, coarse: JoinWindows) -> Ints:
    """The larger cell that each cell lies in: that of its lag nearest to 0."""
    nearest = [min(lags, key=abs) for lags in fine.cell_intervals]
    return coarse.cells_of(np.array(nearest, np.int64))


def _added(into: Ints, values: tuple[float, ...], coarse: JoinWindows) -> tuple[float, ...]:
    return tuple(np.bincount(into, values, minlength=coarse.cells).tolist())
