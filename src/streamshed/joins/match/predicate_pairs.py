"""Pairs that a function of the user's says join."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streamshed.joins.match.kernel import Pairs, concatenated, expanded, reach
from streamshed.joins.model.conditions import PairPredicate
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

_MOST_PAIRS = 1 << 19
"""Pairs that the function is given at a time."""


def pairs_by_predicate(
    function: PairPredicate, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]
) -> Pairs:
    """Return the pairs that the function says join, of those with a lag in one of the intervals.

    Raises:
        ValueError: The function returns more or fewer truth values than there are pairs.
    """
    lefts, rights, pair_parts = left.payload, right.payload, []
    for interval in intervals:
        starts, stops = reach(left.times, right.times, interval)
        counts = stops - starts
        ends = np.cumsum(counts)
        cuts = np.searchsorted(ends, np.arange(_MOST_PAIRS, int(ends[-1]) if len(ends) else 0, _MOST_PAIRS))
        edges = np.unique(np.concatenate([[0], cuts + 1, [len(counts)]]))
        for a, b in pairwise(edges):
            of, theirs = expanded(starts[a:b], counts[a:b])
            mine = of + a
            if len(mine):
                joins = _verdicts(function, lefts.take(pa.array(mine)), rights.take(pa.array(theirs)))
                pair_parts.append((mine[joins], theirs[joins]))
    return concatenated(pair_parts)


def _verdicts(function: PairPredicate, lefts: pa.Table, rights: pa.Table) -> np.ndarray:
    verdicts = function(lefts, rights)
    if isinstance(verdicts, pa.Array | pa.ChunkedArray):
        verdicts = np.asarray(verdicts.fill_null(fill_value=False))
    joins = np.asarray(verdicts, np.bool_)
    if joins.shape != (lefts.num_rows,):
        raise ValueError(
            f"the predicate of a join returned an array of shape {joins.shape} for {lefts.num_rows} pairs,"
            " expected one truth value each"
        )
    return joins
