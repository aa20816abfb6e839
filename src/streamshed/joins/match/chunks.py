"""Rows of both sides in pieces that hardly reach beyond the lags asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import LagInterval

_MOST_CHUNKS = 64
_TOLERATED_EXCESS = 0.25
"""Of an interval, by which a chunk of rows may be longer in time: what is compared in vain."""


def chunks(left: Ints, right: Ints, intervals: Sequence[LagInterval]) -> Iterator[tuple[slice, slice, LagInterval]]:
    """Yield pieces of the left rows, each with the right rows in its reach, interval by interval.

    Args:
        left: Times of the left rows, in order.
        right: Those of the right rows.
        intervals: Of lags.

    Example:
        >>> found = chunks(np.array([0, 1, 100]), np.array([5, 50, 105]), [(0, 10)])
        >>> [(left.start, left.stop, right.start, right.stop) for left, right, _ in found]
        [(0, 2, 0, 1), (2, 3, 2, 3)]
    """
    if not len(left) or not len(right):
        return
    reach = int(left[-1] - left[0]) + 1
    for lo, hi in intervals:
        length = max(1, int((hi - lo + 1) * _TOLERATED_EXCESS), -(-reach // _MOST_CHUNKS))
        edges = np.searchsorted(left, np.arange(left[0], left[-1] + length, length))
        for start, stop in zip(edges.tolist(), [*edges[1:].tolist(), len(left)], strict=True):
            if start < stop:
                first, last = np.searchsorted(right, [left[start] + lo, left[stop - 1] + hi + 1]).tolist()
                if first < last:
                    yield slice(start, stop), slice(first, last), (lo, hi)
