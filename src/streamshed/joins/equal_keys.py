"""Pairs with equal keys, by sorted search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamshed.joins.arrays import Booleans, Ints, one_chunk
from streamshed.joins.conditions import Equality
from streamshed.joins.join_windows import LagInterval
from streamshed.joins.kernel import NO_PAIRS, Pairs, concatenated, expanded
from streamshed.joins.key_codes import is_injective, same_keys
from streamshed.joins.rows import Rows


def pairs_of_equal_keys(condition: Equality, left: Rows, right: Rows, intervals: Sequence[LagInterval]) -> Pairs:
    """Return the pairs with equal keys and a lag in one of the intervals.

    The smaller side is sorted by (code, time), the rows of the other are looked up in it: within an interval of lags
    each finds its partners and nothing else. Where a code may stand for two keys, the keys themselves are compared.
    """
    if not len(left) or not len(right) or not intervals:
        return NO_PAIRS
    if len(left) < len(right):
        turned = [(-hi, -lo) for lo, hi in intervals]
        of_right, of_left = _looked_up(right.codes, right.times, left.codes, left.times, turned)
    else:
        of_left, of_right = _looked_up(left.codes, left.times, right.codes, right.times, intervals)
    types = [left.table.schema.field(name).type for name in condition.left]
    if not len(of_left) or is_injective(types):
        return of_left, of_right
    same = _verified(condition, left, right, of_left, of_right)
    return of_left[same], of_right[same]


def _looked_up(codes: Ints, times: Ints, in_codes: Ints, in_times: Ints, intervals: Sequence[LagInterval]) -> Pairs:
    """Look rows up among others: places of both, lags being the others' times − the rows'."""
    order = np.argsort(in_codes, kind="stable")
    sorted_codes, sorted_times = in_codes[order], in_times[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = sorted_codes[1:] != sorted_codes[:-1]
    distinct, group = sorted_codes[first], np.cumsum(first) - 1
    found = np.minimum(np.searchsorted(distinct, codes), len(distinct) - 1)
    rows = np.flatnonzero(distinct[found] == codes)
    wanted, wanted_times = found[rows], times[rows]
    begin, span = int(in_times[0]), int(in_times[-1] - in_times[0]) + 2
    if span * (len(distinct) + 1) > np.iinfo(np.int64).max:
        return _filtered(rows, wanted, wanted_times, order, sorted_times, first, intervals)
    line = group * span + (sorted_times - begin)
    pairs = []
    for lo, hi in intervals:
        start = np.searchsorted(line, wanted * span + np.clip(wanted_times + (lo - begin), 0, span - 1))
        stop = np.searchsorted(line, wanted * span + np.clip(wanted_times + (hi + 1 - begin), 0, span - 1))
        of, places = expanded(start, stop - start)
        pairs.append((rows[of], order[places]))
    return concatenated(pairs)


def _filtered(
    rows: Ints,
    wanted: Ints,
    wanted_times: Ints,
    order: Ints,
    sorted_times: Ints,
    first: Booleans,
    intervals: Sequence[LagInterval],
) -> Pairs:
    """The same where keys and times together do not fit into 64 bits: all of equal keys, then those of right lag."""
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(order)))
    of, places = expanded(starts[wanted], counts[wanted])
    lags = sorted_times[places] - wanted_times[of]
    right = np.logical_or.reduce([(lags >= lo) & (lags <= hi) for lo, hi in intervals])
    return rows[of[right]], order[places[right]]


def _verified(condition: Equality, left: Rows, right: Rows, of_left: Ints, of_right: Ints) -> Booleans:
    """Tell which pairs have equal keys, not only equal codes.

    If every row has the key of the first row with its code, no code stands for two keys: one comparison per row, not
    per pair.
    """
    codes = np.concatenate([left.codes, right.codes])
    _, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
    first = pa.array(firsts[inverse])
    keys = []
    for mine, theirs in zip(condition.left, condition.right, strict=True):
        of_lefts, of_rights = one_chunk(left.table.column(mine)), one_chunk(right.table.column(theirs))
        keys.append(pa.concat_arrays([of_lefts, of_rights.cast(of_lefts.type)]))
    if all(same_keys(key, key.take(first)).all() for key in keys):
        return np.ones(len(of_left), np.bool_)
    mine, theirs = pa.array(of_left), pa.array(of_right + len(left))
    same: Booleans = np.logical_and.reduce([same_keys(key.take(mine), key.take(theirs)) for key in keys])
    return same
