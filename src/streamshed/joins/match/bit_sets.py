"""Overlaps by bit sets: every pair is compared, without an index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamshed.joins.match.kernel import Pairs, chunks, concatenated
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

_TILE = 1 << 18
"""Pairs that are compared at a time: what fits into the cache of a core."""
_WORD = 64


def pairs_by_bits(threshold: int, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]) -> Pairs:
    """Return the pairs with so many items in common and a lag in one of the intervals.

    Items that the smaller side does not have are left out, so that few rows need few bits, whatever the domain.
    """
    distinct = known_items(left, right)
    of_left, of_right = _bits(left, distinct), _bits(right, distinct)
    pair_parts = []
    for rows, others, (lo, hi) in chunks(left.times, right.times, intervals):
        width = others.stop - others.start
        height = max(1, _TILE // width)
        for start in range(rows.start, rows.stop, height):
            stop = min(start + height, rows.stop)
            hits = _common(of_left[:, start:stop], of_right[:, others]) >= threshold
            mine, theirs = np.nonzero(hits)
            mine, theirs = mine + start, theirs + others.start
            lags = right.times[theirs] - left.times[mine]
            within = (lags >= lo) & (lags <= hi)
            pair_parts.append((mine[within], theirs[within]))
    return concatenated(pair_parts)


def known_items(left: SideRows, right: SideRows) -> Ints:
    """Return the items of the side that has fewer, in order."""
    return np.unique(min(left.items, right.items, key=len))


def words(distinct: int) -> int:
    """Return how many words of bits a row takes."""
    return max(1, -(-distinct // _WORD))


def _common(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.integer]:
    """How many bits each pair has in common."""
    total: NDArray[np.integer] = np.bitwise_count(left[0][:, None] & right[0][None, :])
    if len(left) * _WORD > np.iinfo(np.uint8).max:
        total = total.astype(np.int32)
    for mine, theirs in zip(left[1:], right[1:], strict=True):
        total += np.bitwise_count(mine[:, None] & theirs[None, :])
    return total


def _bits(rows: SideRows, distinct: Ints) -> NDArray[np.uint64]:
    """Bit sets, word by word: shape (words, rows)."""
    places, has_place = places_in(distinct, rows.items)
    owners = np.repeat(np.arange(len(rows)), np.diff(rows.item_starts))[has_place]
    bits = np.zeros((words(len(distinct)), len(rows)), np.uint64)
    np.bitwise_or.at(bits, (places // _WORD, owners), np.uint64(1) << (places % _WORD).astype(np.uint64))
    return bits


def places_in(distinct: Ints, items: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the places of the items that are among the distinct ones, and which items are."""
    if not len(distinct):
        return np.zeros(0, np.int64), np.zeros(len(items), np.bool_)
    places = np.minimum(np.searchsorted(distinct, items), len(distinct) - 1)
    has_place = distinct[places] == items
    return places[has_place], has_place
