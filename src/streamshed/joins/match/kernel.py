"""What finds the pairs that join, among rows of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

Pairs = tuple[Ints, Ints]
"""Places of the left rows and of the right rows that join, as many of either."""

NO_PAIRS: Pairs = (np.zeros(0, np.int64), np.zeros(0, np.int64))

_MOST_CHUNKS = 64
_TOLERATED_EXCESS = 0.25
"""Of an interval, by which a chunk of rows may be longer in time: what is compared in vain."""


class Kernel(Protocol):
    """Finds pairs; every kernel of a condition finds the same ones."""

    def __call__(self, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]) -> Pairs:
        """Return the pairs that join and whose lag is in one of the intervals, which do not touch one another."""


def concatenated(several: Sequence[Pairs]) -> Pairs:
    """Return the pairs of several lists."""
    if not several:
        return NO_PAIRS
    return np.concatenate([left for left, _ in several]), np.concatenate([right for _, right in several])


def reach(left: Ints, right: Ints, interval: LagInterval) -> tuple[Ints, Ints]:
    """Return for each left time where the right times within an interval of lags begin and end.

    Example:
        >>> starts, stops = reach(np.array([10, 20]), np.array([10, 15, 20, 25]), (0, 5))
        >>> starts.tolist(), stops.tolist()
        ([0, 2], [2, 4])
    """
    lo, hi = interval
    return np.searchsorted(right, left + lo, "left"), np.searchsorted(right, left + hi, "right")


def expanded(starts: Ints, counts: Ints) -> Pairs:
    """Return (which range, place in it) for ranges of places.

    Example:
        >>> ranges, places = expanded(np.array([5, 9]), np.array([2, 1]))
        >>> ranges.tolist(), places.tolist()
        ([0, 0, 1], [5, 6, 9])
    """
    total = int(counts.sum())
    of = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(total) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    return of, places


def comparisons_within(left: Ints, right: Ints, intervals: Sequence[LagInterval]) -> Ints:
    """Return how many pairs of times have a lag in each interval.

    Example:
        >>> comparisons_within(np.array([0, 10]), np.array([5, 10, 12]), [(0, 5), (6, 12)]).tolist()
        [3, 2]
    """
    comparisons = np.zeros(len(intervals), np.int64)
    if not len(left) or not len(right):
        return comparisons
    if len(left) > len(right):
        turned = [(-hi, -lo) for lo, hi in intervals]
        return comparisons_within(right, left, turned)
    least, most = int(right[0] - left[-1]), int(right[-1] - left[0])
    up_to: dict[int, int] = {}
    for place, (lo, hi) in enumerate(intervals):
        if lo <= most and hi >= least:
            for lag in {lo - 1, hi} - up_to.keys():
                up_to[lag] = int(np.searchsorted(right, left + lag, "right").sum())
            comparisons[place] = up_to[hi] - up_to[lo - 1]
    return comparisons


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
    duration = int(left[-1] - left[0]) + 1
    for lo, hi in intervals:
        length = max(1, int((hi - lo + 1) * _TOLERATED_EXCESS), -(-duration // _MOST_CHUNKS))
        edges = np.searchsorted(left, np.arange(left[0], left[-1] + length, length))
        for start, stop in zip(edges.tolist(), [*edges[1:].tolist(), len(left)], strict=True):
            if start < stop:
                first, last = np.searchsorted(right, [left[start] + lo, left[stop - 1] + hi + 1]).tolist()
                if first < last:
                    yield slice(start, stop), slice(first, last), (lo, hi)
