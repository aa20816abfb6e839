"""Pairs with equal keys, by a hash of the keys of the smaller side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from streamshed.joins.match.kernel import NO_PAIRS, Pairs, comparisons_within, concatenated, expanded
from streamshed.joins.match.key_codes import is_injective, same_keys
from streamshed.joins.model.arrays import Booleans, Ints, one_chunk
from streamshed.joins.model.conditions import Equality
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

_DENSE = 0.25
"""Share of the pairs with equal keys that are of right lag from which all of them are looked at."""


def pairs_of_equal_keys(
    condition: Equality, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]
) -> Pairs:
    """Return the pairs with equal keys and a lag in one of the intervals.

    The rows of the smaller side are put into groups by key, in order of time; each row of the other finds its group by
    hash. Where many of the lags are asked for the whole group is taken and filtered, else its part is found by
    search. Where a code may stand for two keys, the keys themselves are compared.
    """
    if not len(left) or not len(right) or not intervals:
        return NO_PAIRS
    turned = len(left) < len(right)
    few, many = (left, right) if turned else (right, left)
    lags = [(-hi, -lo) for lo, hi in intervals] if turned else list(intervals)
    groups = _Groups.of(few)
    group_numbers = groups.number_of(many.codes)
    rows = np.flatnonzero(group_numbers >= 0)
    of_many, of_few = _partners(groups, rows, group_numbers[rows], many.times, few.times, lags)
    types = [left.table.schema.field(name).type for name in condition.left]
    if len(of_many) and not is_injective(types):
        names = (condition.left, condition.right) if turned else (condition.right, condition.left)
        keys = _columns(few, names[0]), _columns(many, names[1])
        if not _is_one_key_per_code(groups, *keys, rows, group_numbers[rows]):
            same = _equal(keys[0], of_few, keys[1], of_many)
            of_many, of_few = of_many[same], of_few[same]
    return (of_few, of_many) if turned else (of_many, of_few)


@dataclass(frozen=True)
class _Groups:
    """SideRows by their code.

    Args:
        codes: One of each group.
        group: Of each row.
        order: SideRows by group and time.
        starts: Where each group begins in this order, and the last one ends.
        times: Of the rows in this order.
    """

    codes: pd.Index
    group: Ints
    order: Ints
    starts: Ints
    times: Ints

    @classmethod
    def of(cls, rows: SideRows) -> _Groups:
        group, codes = pd.factorize(rows.codes)
        order = np.argsort(group, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(codes)))])
        return cls(pd.Index(codes), group, order, starts, rows.times[order])

    def number_of(self, codes: Ints) -> Ints:
        """Return the group of each code, −1 where there is none."""
        return np.asarray(self.codes.get_indexer(pd.Index(codes)), np.int64)

    @property
    def firsts(self) -> Ints:
        """A row of each group."""
        return self.order[self.starts[:-1]]


def _partners(
    groups: _Groups, rows: Ints, wanted: Ints, times: Ints, in_times: Ints, intervals: Sequence[LagInterval]
) -> Pairs:
    """Pairs of rows of one side and rows of their groups on the other; a lag is the latter's time − the former's."""
    compared_share = comparisons_within(times, in_times, intervals).sum() / (len(times) * len(in_times))
    begin, span = int(in_times[0]), int(in_times[-1] - in_times[0]) + 2
    wanted_times = times[rows]
    if compared_share >= _DENSE or span * len(groups.starts) > np.iinfo(np.int64).max:
        of, places = expanded(groups.starts[wanted], np.diff(groups.starts)[wanted])
        lags = groups.times[places] - wanted_times[of]
        right: Booleans = np.logical_or.reduce([(lags >= lo) & (lags <= hi) for lo, hi in intervals])
        return rows[of[right]], groups.order[places[right]]
    line = np.repeat(np.arange(len(groups.starts) - 1) * span, np.diff(groups.starts)) + (groups.times - begin)
    pairs = []
    for lo, hi in intervals:
        start = np.searchsorted(line, wanted * span + np.clip(wanted_times + (lo - begin), 0, span - 1))
        stop = np.searchsorted(line, wanted * span + np.clip(wanted_times + (hi + 1 - begin), 0, span - 1))
        of, places = expanded(start, stop - start)
        pairs.append((rows[of], groups.order[places]))
    return concatenated(pairs)


def _columns(rows: SideRows, names: Sequence[str]) -> list[pa.Array]:
    return [one_chunk(rows.table.column(name)) for name in names]


def _is_one_key_per_code(
    groups: _Groups, few: Sequence[pa.Array], many: Sequence[pa.Array], rows: Ints, wanted: Ints
) -> bool:
    """Tell whether all rows have the key of the first row with their code: one comparison per row, not per pair."""
    firsts = groups.firsts
    everyone = np.arange(len(groups.group))
    return bool(
        _equal(few, firsts[groups.group], few, everyone).all() and _equal(few, firsts[wanted], many, rows).all()
    )


def _equal(left: Sequence[pa.Array], left_places: Ints, right: Sequence[pa.Array], right_places: Ints) -> Booleans:
    """Tell where the keys of two lists of places are equal."""
    mine, theirs = pa.array(left_places), pa.array(right_places)
    same: Booleans = np.logical_and.reduce(
        [same_keys(a.take(mine), b.take(theirs).cast(a.type)) for a, b in zip(left, right, strict=True)]
    )
    return same
