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


def slice_starts(edges: Sequence[Edge], times: Ints) -> Ints:
    """Return the start of the slice of each instant.

    >>> slice_starts([(10, 0), (10, 3)], np.array([-1, 2, 3, 14])).tolist()
    [-7, 0, 3, 13]
    """
    since = [np.mod(times - phase, period) for period, phase in edges]
    return np.asarray(times - np.minimum.reduce(since), np.int64)


def grouped(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return per row the number of its combination of numbers, counted from 0, and a row for each combination.

    >>> grouped([np.array([0, 1, 0]), np.array([2, 2, 2])])
    (array([0, 1, 0]), array([2, 1]))
    """
    codes = combined(parts)
    size = int(codes.max(initial=0)) + 1
    if size > DENSE * len(codes) + FEW:
        codes = pd.factorize(codes)[0].astype(np.int64)
        size = int(codes.max(initial=0)) + 1
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
        wide = int(column.max(initial=0)) + 1
        if size * wide > _MOST_CODES:
            codes = pd.factorize(codes)[0].astype(np.int64)
            size = int(codes.max(initial=0)) + 1
        codes, size = codes * wide + column, size * wide
    return codes


def examples_of(codes: Ints, size: int) -> Ints:
    """Return a row for each number below a size; 0 where no row has it."""
    examples = np.zeros(size, np.int64)
    examples[codes] = np.arange(len(codes))
    return examples
