"""Groups of rows: numbers for what they have in common, and the slices that their instants lie in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from streamshed.joins.model.arrays import Ints
from streamshed.joins.sums.summed_class import Edge

DENSE = 2
"""So many times as many groups as there are rows are worth an array of their own."""
FEW = 1 << 16
"""So many are so in any case."""
_MOST_CODES = 1 << 62
_SHORT = 1 << 32
"""Numbers below are divided ten times faster."""


def slice_starts(edges: Sequence[Edge], times: Ints) -> Ints:
    """Return the start of the slice of each instant.

    >>> slice_starts([(10, 0), (10, 3)], np.array([-1, 2, 3, 14])).tolist()
    [-7, 0, 3, 13]
    """
    if not len(times):
        return np.zeros(0, np.int64)
    starts = [start + edge[0] * numbers for edge in edges for numbers, start in [periods(edge, times)]]
    return np.asarray(np.maximum.reduce(starts), np.int64)


def periods(edge: Edge, times: Ints) -> tuple[Ints, int]:
    """Return in which period of an edge each time is, counted from the first of them, and when that one starts.

    >>> periods((10, 3), np.array([14, -1, 3]))
    (array([2, 0, 1]), -7)
    """
    period, phase = edge
    first = (int(times.min()) - phase) // period * period + phase
    since = times - first
    largest = int(since.max())
    if largest < period:
        return np.zeros(len(times), np.int64), first
    if largest < _SHORT:
        return (since.astype(np.uint32) // np.uint32(period)).astype(np.int64), first
    return since // period, first


def grouped(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return per row the number of its combination of numbers, counted from 0, and a row for each combination.

    >>> grouped([np.array([0, 1, 0]), np.array([2, 2, 2])])
    (array([0, 1, 0]), array([2, 1]))
    """
    codes = combined(parts)
    size = int(codes.max(initial=0)) + 1
    if size > DENSE * len(codes) + FEW:
        codes, size = _counted_from_zero(codes)
    places = examples_of(codes, size)
    there = np.zeros(size, np.bool_)
    there[codes] = True
    if there.all():
        return codes, places
    return (np.cumsum(there) - 1)[codes], places[there]


def combined(columns: Sequence[Ints]) -> Ints:
    """Return a number for each combination of numbers, none of which are below 0."""
    codes, size = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        numbers, wide = column, int(column.max(initial=0)) + 1
        if size * wide > _MOST_CODES:
            codes, size = _counted_from_zero(codes)
        if size * wide > _MOST_CODES:
            numbers, wide = _counted_from_zero(column)
        codes, size = codes * wide + numbers, size * wide
    return codes


def _counted_from_zero(numbers: Ints) -> tuple[Ints, int]:
    """Numbers that are equal where the given ones are, and how many there are."""
    codes, unique = pd.factorize(numbers)
    return codes.astype(np.int64), len(unique)


def examples_of(codes: Ints, size: int) -> Ints:
    """Return a row for each number below a size; 0 where no row has it."""
    examples = np.zeros(size, np.int64)
    examples[codes] = np.arange(len(codes))
    return examples
