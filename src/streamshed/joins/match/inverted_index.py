"""Overlaps and inner products by inverted index: it touches only rows that have an item in common."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from streamshed.joins.match.bit_sets import known_items, places_in
from streamshed.joins.match.kernel import Pairs, chunks, concatenated
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_MOST_ENTRIES = 1 << 22
"""List entries that are merged at a time; bounds what is held in memory."""


def pairs_by_index(
    threshold: float, left: SideRows, right: SideRows, intervals: Sequence[LagInterval], *, weighted: bool
) -> Pairs:
    """Return the pairs whose product is at least the threshold and whose lag is in one of the intervals.

    Args:
        threshold: θ.
        left: SideRows of the left side.
        right: SideRows of the right side.
        intervals: Of lags.
        weighted: Whether the product is that of weights, or the number of items in common.
    """
    distinct = known_items(left, right)
    of_left, of_right = (_matrix(rows, distinct, weighted=weighted) for rows in (left, right))
    pair_parts = []
    for rows, others, (lo, hi) in chunks(left.times, right.times, intervals):
        index = of_right[others].T.tocsr()
        for part in _parts(of_left, rows, np.diff(index.indptr)):
            product = (of_left[part] @ index).tocoo()
            hits = product.data >= threshold
            mine, theirs = product.row[hits].astype(np.int64) + part.start, product.col[hits].astype(np.int64)
            theirs += others.start
            lags = right.times[theirs] - left.times[mine]
            within = (lags >= lo) & (lags <= hi)
            pair_parts.append((mine[within], theirs[within]))
    return concatenated(pair_parts)


def touched_entries(left: SideRows, right: SideRows) -> float:
    """Return how many list entries all pairs together touch."""
    distinct = known_items(left, right)
    lengths = [np.bincount(places_in(distinct, rows.items)[0], minlength=len(distinct)) for rows in (left, right)]
    return float(lengths[0].astype(np.float64) @ lengths[1])


def _matrix(rows: SideRows, distinct: Ints, *, weighted: bool) -> csr_array:
    """The matrix of rows by items; it has one column where there are no items, as a matrix needs one."""
    from scipy.sparse import csr_array

    places, has_place = places_in(distinct, rows.items)
    starts = np.concatenate([[0], np.cumsum(has_place)])[rows.item_starts]
    weights = rows.weights[has_place] if weighted else np.ones(len(places), np.int32)
    return csr_array((weights, places, starts), shape=(len(rows), max(1, len(distinct))))


def _parts(matrix: csr_array, rows: slice, lengths: Ints) -> list[slice]:
    """Cut rows so that each part touches a bounded number of list entries."""
    begin = matrix.indptr[rows.start]
    entries = np.concatenate([[0], np.cumsum(lengths[matrix.indices[begin : matrix.indptr[rows.stop]]])])
    by_row = entries[matrix.indptr[rows.start : rows.stop + 1] - begin]
    cuts = np.unique(np.searchsorted(by_row, np.arange(0, by_row[-1] + 1, _MOST_ENTRIES)))
    edges = [int(cut) for cut in cuts if cut < rows.stop - rows.start] + [rows.stop - rows.start]
    return [slice(rows.start + a, rows.start + b) for a, b in pairwise(edges)]


def products_of_pairs(left: SideRows, right: SideRows, pairs: Pairs, *, weighted: bool) -> Floats:
    """Return the product of each pair."""
    distinct = known_items(left, right)
    of_left, of_right = (_matrix(rows, distinct, weighted=weighted) for rows in (left, right))
    return np.asarray(of_left[pairs[0]].multiply(of_right[pairs[1]]).sum(axis=1), np.float64)
