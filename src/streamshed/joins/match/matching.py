"""What finds a condition's pairs: one kernel, or the cheaper of two by what they were measured to cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

import numpy as np
import pyarrow as pa

from streamshed.joins.match.bit_sets import known_items, pairs_by_bits, words
from streamshed.joins.match.equal_keys import pairs_of_equal_keys
from streamshed.joins.match.inverted_index import pairs_by_index, products_of_pairs, touched_entries
from streamshed.joins.match.item_sets import numbered_items
from streamshed.joins.match.kernel import NO_PAIRS, Kernel, Pairs, comparisons_within
from streamshed.joins.match.key_codes import is_injective
from streamshed.joins.match.predicate_pairs import pairs_by_predicate
from streamshed.joins.model.arrays import Booleans
from streamshed.joins.model.conditions import Condition, Equality, InnerProduct, Overlap, Predicate
from streamshed.joins.model.join_windows import LagInterval
from streamshed.joins.model.side_rows import SideRows

Clock = Callable[[], float]

_SECONDS_PER_WORD = 3e-9
_SECONDS_PER_ENTRY = 8e-9
_SHARE_OF_LATEST = 0.2
_FEW_UNITS = 1e5
"""Below so many, what a call costs says little about a unit."""


def kernel_of(condition: Condition, clock: Clock) -> Kernel:
    """Return what finds the pairs of a condition.

    Args:
        condition: The condition.
        clock: Seconds; what kernels cost is measured by it.
    """
    match condition:
        case Equality():
            return partial(pairs_of_equal_keys, condition)
        case Overlap():
            return OverlapKernel(condition, clock)
        case InnerProduct():
            return partial(_inner_product, condition)
        case Predicate():
            return partial(pairs_by_predicate, condition.function)
        case _:
            assert_never(condition)


def _inner_product(condition: InnerProduct, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]) -> Pairs:
    if not len(left) or not len(right):
        return NO_PAIRS
    pairs = pairs_by_index(condition.threshold, left, right, intervals, weighted=True)
    return truly_joined(condition, left, right, pairs)


@dataclass(slots=True)
class MeasuredCost:
    """Seconds that a unit of work takes, by what it took of late.

    Args:
        seconds_per_unit: What it is taken for at first.

    Example:
        >>> cost = MeasuredCost(1e-9)
        >>> cost.learn(1e6, 2e-3)
        >>> f"{cost.seconds_per_unit:.3g}"
        '1.2e-09'
    """

    seconds_per_unit: float

    def learn(self, units: float, seconds: float) -> None:
        """Take in what some work took."""
        if units >= _FEW_UNITS:
            self.seconds_per_unit += _SHARE_OF_LATEST * (seconds / units - self.seconds_per_unit)


@dataclass(slots=True)
class OverlapKernel:
    """Bit sets where items are few, the inverted index where they are many; both find the same pairs.

    Args:
        condition: The condition.
        clock: Seconds.
    """

    condition: Overlap
    clock: Clock
    by_bits: MeasuredCost = field(default_factory=lambda: MeasuredCost(_SECONDS_PER_WORD))
    by_index: MeasuredCost = field(default_factory=lambda: MeasuredCost(_SECONDS_PER_ENTRY))

    def __call__(self, left: SideRows, right: SideRows, intervals: Sequence[LagInterval]) -> Pairs:
        """Return the pairs."""
        comparisons = float(comparisons_within(left.times, right.times, intervals).sum())
        if not comparisons:
            return NO_PAIRS
        all_words = comparisons * words(len(known_items(left, right)))
        entries = touched_entries(left, right) * comparisons / (len(left) * len(right))
        begun = self.clock()
        if all_words * self.by_bits.seconds_per_unit <= entries * self.by_index.seconds_per_unit:
            pairs = pairs_by_bits(self.condition.threshold, left, right, intervals)
            self.by_bits.learn(all_words, self.clock() - begun)
        else:
            pairs = pairs_by_index(self.condition.threshold, left, right, intervals, weighted=False)
            self.by_index.learn(entries, self.clock() - begun)
        return truly_joined(self.condition, left, right, pairs)


def truly_joined(condition: Overlap | InnerProduct, left: SideRows, right: SideRows, pairs: Pairs) -> Pairs:
    """Return the pairs that join by their items, of the pairs that join by the codes of these.

    The items of rows that are in a pair are numbered one by one. As many numbers as codes mean that no code stands for
    two items; else the products of the pairs are computed anew.
    """
    if not len(pairs[0]) or is_injective([_item_type(left.table.schema.field(condition.left).type)]):
        return pairs
    (mine, which_left), (theirs, which_right) = (np.unique(places, return_inverse=True) for places in pairs)
    sides = [
        (rows.table.column(name).combine_chunks().take(pa.array(places)), rows.table.take(pa.array(places)))
        for rows, name, places in ((left, condition.left, mine), (right, condition.right, theirs))
    ]
    columns, distinct = numbered_items([column for column, _ in sides])
    codes = {code for _, table in sides for code in np.unique(SideRows(table).items).tolist()}
    if len(codes) == distinct:
        return pairs
    lefts, rights = (SideRows(pa.table(dict(column))) for column in columns)
    places = which_left.astype(np.int64), which_right.astype(np.int64)
    products = products_of_pairs(lefts, rights, places, weighted=isinstance(condition, InnerProduct))
    joins: Booleans = products >= condition.threshold
    return pairs[0][joins], pairs[1][joins]


def _item_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return kind.key_type
    return kind.value_type.field(0).type if pa.types.is_struct(kind.value_type) else kind.value_type
