"""The best size b of basic windows: small ones follow the yields closely, but each costs a read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streamshed.joins.arrays import Ints
from streamshed.joins.expected_comparisons import ExpectedComparisons
from streamshed.joins.greedy import greedy
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.rows import Rows
from streamshed.joins.selection import CellWork
from streamshed.joins.side import Side
from streamshed.joins.store import DIRECTORY_KEY, BasicWindowStore
from streamshed.joins.window_state import WindowState
from streamshed.joins.yields import Yields

_AS_GOOD = 0.99
"""A larger size is taken if it gives so much of what the best does."""


def chosen_windows(work: CellWork, judged: Yields, budget: float) -> JoinWindows:
    """Return the windows with basic windows of 1, 2, 4, ... times the size, whichever is expected to give most results.

    Cells are chosen by what one half of the micro-batches showed and judged by the other half: sizes so small that
    their yields are mostly noise give less than they promise.

    Args:
        work: Comparisons, yields of one half and prices, for the smallest size there may be.
        judged: Yields of the other half.
        budget: What a micro-batch may cost.

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
    for multiple in _multiples(fine):
        coarse = replace(fine, basic_microseconds=fine.basic_microseconds * multiple)
        merged_work = replace(
            work,
            expected=merged_comparisons(work.expected, coarse),
            yields=merged_yields(work.yields, fine, coarse),
        )
        selection = greedy(merged_work, budget)
        worth = np.array(merged_yields(judged, fine, coarse).per_comparison) * merged_work.expected.comparisons
        results_by_windows[coarse] = float(worth @ selection.fractions)
    enough = _AS_GOOD * max(results_by_windows.values())
    return max(
        (of for of, results in results_by_windows.items() if results >= enough), key=lambda of: of.basic_microseconds
    )


def merged_yields(yields: Yields, fine: JoinWindows, coarse: JoinWindows) -> Yields:
    """Return what is known of larger cells.

    Example:
        >>> yields = Yields((1.0, 2.0, 4.0), (0.0, 1.0, 1.0))
        >>> merged = merged_yields(yields, JoinWindows(20, 10, 10), JoinWindows(20, 10, 20))
        >>> merged.comparisons, merged.results
        ((3.0, 4.0), (1.0, 1.0))
    """
    into = _cells_within(fine, coarse)
    return Yields(_added(into, yields.comparisons, coarse), _added(into, yields.results, coarse))


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


def recut(store: BasicWindowStore, old: JoinWindows, new: JoinWindows) -> None:
    """Store the same rows in basic windows of another size.

    Args:
        store: Of one partition of a join.
        old: What it was written with.
        new: The same windows with another b.
    """
    before = WindowState(old, store)
    rows = {side: before.all_rows(side) for side in Side}
    before.remove(before.directory.entries)
    store.remove(DIRECTORY_KEY)
    after = WindowState(new, store)
    for side, parts in rows.items():
        if parts:
            after.add(side, Rows.joined(parts))
    after.save()


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
