"""Sums over pairs, made where pairs are found: by slice, key and the queries that want them.

Eager aggregation: a row's value counts once for each of its pairs. So pairs are counted per row of the value's side,
slice, and key and mask of the other side, and sums are made over these counts, which are fewer than pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.joins.match.drawn import strata_texts
from streamshed.joins.model.arrays import Booleans, Ints, one_chunk
from streamshed.joins.model.side import Side
from streamshed.joins.sums.groups import DENSE, FEW, combined, examples_of, grouped, slice_starts
from streamshed.joins.sums.summed_class import Edge, KeyPart, SummedClass
from streamshed.joins.sums.value_sums import NO_SUMS, Counted, RowValues, as_wholes, no_sums, sums_of_values, whole_sums

SUMS = pa.schema(
    [
        ("instant", pa.int64()),
        ("class_id", pa.int64()),
        ("mask", pa.int64()),
        ("key_long", pa.int64()),
        ("key_text", pa.string()),
        ("sampling_codes", pa.string()),
        ("rows", pa.int64()),
        *NO_SUMS.items(),
    ]
)
"""One row per class, slice, mask, key, and rate and cohort where pairs are a sample (`strata_texts`): `instant` is when
the slice starts, in microseconds; `rows` are pairs."""


@dataclass(frozen=True)
class Paired:
    """Pairs of rows.

    Args:
        rows: The rows of either side.
        places: Per pair, the place of its row of either side.
        time: The column of either side that has a row's time, microseconds.
        sampled: The side whose rows were drawn, and per row of it `Drawn.strata`; None: pairs are no sample.
    """

    rows: Mapping[Side, pa.Table]
    places: Mapping[Side, Ints]
    time: str
    sampled: tuple[Side, Ints] | None = None

    def __len__(self) -> int:
        return len(self.places[Side.LEFT])

    def times(self, side: Side) -> Ints:
        """Return when the rows of a side were."""
        return np.asarray(one_chunk(self.rows[side].column(self.time)), np.int64)

    @cached_property
    def is_left_later(self) -> Booleans:
        """Per pair, whether its right row is no later than its left one."""
        left, right = (self.times(side)[self.places[side]] for side in Side)
        return np.asarray(left >= right)


def summed_pairs(pairs: Paired, classes: Sequence[SummedClass], separator: str) -> pa.Table:
    """Return what pairs add to the slices of some classes, with the columns of `SUMS`.

    The time of a pair is the later one of its rows.

    Args:
        pairs: The pairs.
        classes: What is summed up.
        separator: Between several parts of a key.
    """
    if not len(pairs):
        return SUMS.empty_table()
    counter = _Counter(pairs)
    return pa.concat_tables([SUMS.empty_table(), *(_of_class(one, counter, separator) for one in classes)])


@dataclass(frozen=True)
class _Said:
    """What a class takes from the rows of one side: masks and keys.

    Args:
        masks: Per row, the bits that it passes; None: it has no say in it.
        later_masks: The same where it is the later one of a pair.
        keys: Per row, a number for its part of the key, and for its rate and cohort; None: it has none.
    """

    masks: Ints | None
    later_masks: Ints | None
    keys: Ints | None

    @classmethod
    def of(cls, summed: SummedClass, pairs: Paired, side: Side) -> _Said:
        rows = pairs.rows[side]
        part_codes = [_codes(rows, part) for part in summed.keys if part.side is side]
        if pairs.sampled is not None and pairs.sampled[0] is side:
            part_codes.append(pairs.sampled[1])
        keys = (
            pd.factorize(combined(part_codes))[0].astype(np.int64)
            if len(part_codes) > 1
            else part_codes[0]
            if part_codes
            else None
        )
        return cls(summed.masks(rows, side), summed.later_masks(rows), keys)

    @cached_property
    def codes(self) -> Ints | None:
        """Per row, a number for its masks and key together; None: it has neither."""
        masks = [
            pd.factorize(numbers)[0].astype(np.int64)
            for numbers in (self.masks, self.later_masks)
            if numbers is not None
        ]
        part_codes = [*masks, *([] if self.keys is None else [self.keys])]
        if not part_codes:
            return None
        return part_codes[0] if len(part_codes) == 1 else pd.factorize(combined(part_codes))[0].astype(np.int64)

    @cached_property
    def examples(self) -> Ints:
        """A row for each of these numbers."""
        codes = np.zeros(0, np.int64) if self.codes is None else self.codes
        return examples_of(codes, int(codes.max(initial=0)) + 1)

    def passed(self, places: Ints, is_later: Booleans) -> Ints | None:
        """Return the bits that rows pass, which may be the later ones; None: all."""
        masks = None if self.masks is None else self.masks[places]
        if self.later_masks is None:
            return masks
        later = np.where(is_later, self.later_masks[places], -1)
        return later if masks is None else masks & later


@dataclass(frozen=True)
class _Counts:
    """How many pairs each row of one side is in, by what the other side says, slice, and which row is the later one."""

    rows: Ints
    said: Ints
    slices: Ints
    is_left_later: Booleans
    pairs: Ints

    def chosen(self, which: Booleans) -> _Counts:
        """Return some of them."""
        rows, said, slices, pairs = (one[which] for one in (self.rows, self.said, self.slices, self.pairs))
        return _Counts(rows, said, slices, self.is_left_later[which], pairs)


class _Counter:
    """Counts pairs, for all classes alike at once."""

    def __init__(self, pairs: Paired) -> None:
        self.pairs = pairs
        self._slices: dict[tuple[Edge, ...], tuple[Ints, Ints]] = {}
        self._plain: dict[tuple[tuple[Edge, ...], Side], _Counts] = {}

    def sliced(self, edges: tuple[Edge, ...]) -> tuple[Ints, Ints]:
        """Return per pair the number of its slice, and when each slice starts.

        Of two rows the later one has the later slice.
        """
        if edges not in self._slices:
            side_starts = [slice_starts(edges, self.pairs.times(side)) for side in Side]
            starts = np.unique(np.concatenate(side_starts))
            left, right = (
                np.searchsorted(starts, of_rows)[self.pairs.places[side]]
                for side, of_rows in zip(Side, side_starts, strict=True)
            )
            self._slices[edges] = np.maximum(left, right).astype(np.int64), starts
        return self._slices[edges]

    def counted(self, edges: tuple[Edge, ...], side: Side, other: _Said) -> _Counts:
        """Return the counts of the rows of a side."""
        if other.codes is not None:
            return self._counted(edges, side, other)
        if (edges, side) not in self._plain:
            self._plain[edges, side] = self._counted(edges, side, other)
        return self._plain[edges, side]

    def _counted(self, edges: tuple[Edge, ...], side: Side, other: _Said) -> _Counts:
        slices, starts = self.sliced(edges)
        places, tells_later = self.pairs.places, other.later_masks is not None
        codes, wide = slices, len(starts)
        if other.codes is not None:
            codes, wide = codes + other.codes[places[side.opposite]] * wide, wide * len(other.examples)
        if tells_later:
            codes, wide = codes * 2 + self.pairs.is_left_later, wide * 2
        codes = places[side] * wide + codes
        size = self.pairs.rows[side].num_rows * wide
        if size <= DENSE * len(codes) + FEW:
            every = np.bincount(codes, minlength=size)
            codes = np.flatnonzero(every)
            counts = every[codes].astype(np.int64)
        else:
            counts = np.ones(len(codes), np.int64)
        rows, rest = np.divmod(codes, wide)
        is_left_later = (rest & 1).astype(np.bool_) if tells_later else np.zeros(len(rest), np.bool_)
        said, of_slice = np.divmod(rest >> 1 if tells_later else rest, len(starts))
        return _Counts(rows, said, of_slice, is_left_later, counts)


def _of_class(summed: SummedClass, counter: _Counter, separator: str) -> pa.Table:
    side = Side.LEFT if summed.value is None else summed.value.side
    rows = counter.pairs.rows
    mine, theirs = (_Said.of(summed, counter.pairs, each) for each in (side, side.opposite))
    counts = counter.counted(summed.edges, side, theirs)
    examples = theirs.examples[counts.said] if theirs.codes is not None else np.zeros(0, np.int64)
    masks = None
    for each, said, row_places in ((side, mine, counts.rows), (side.opposite, theirs, examples)):
        is_later = counts.is_left_later if each is Side.LEFT else ~counts.is_left_later
        masks = _and(masks, said.passed(row_places, is_later))
    masks = np.full(len(counts.rows), summed.every_bit) if masks is None else masks & summed.every_bit
    if not masks.all():
        counts, examples, masks = counts.chosen(masks != 0), examples[(masks != 0)[: len(examples)]], masks[masks != 0]
    if not len(masks):
        return SUMS.empty_table()
    parts = [counts.slices, *([] if summed.is_for_all else [pd.factorize(masks)[0].astype(np.int64)])]
    parts += [] if mine.keys is None else [mine.keys[counts.rows]]
    parts += [] if theirs.keys is None else [theirs.keys[examples]]
    groups, firsts = grouped(parts)
    places = {side: counts.rows[firsts], side.opposite: examples[firsts[: len(examples)]]}
    columns = {
        "instant": pa.array(counter.sliced(summed.edges)[1][counts.slices[firsts]]),
        "class_id": pa.array(np.full(len(firsts), summed.class_id, np.int64)),
        "mask": pa.array(masks[firsts]),
        **_keys(summed, counter.pairs, places, separator),
        "sampling_codes": _sampling_codes(counter.pairs, places, len(firsts)),
        "rows": pa.array(whole_sums(counts.pairs, groups, len(firsts))),
    }
    wanted = Counted(groups, len(firsts), counts.rows, counts.pairs)
    if summed.value is None:
        sums = no_sums(len(firsts))
    else:
        if summed.value_mask & summed.every_bit != summed.every_bit:
            wanted = wanted.chosen((masks & summed.value_mask) != 0)
        values = RowValues.of(one_chunk(rows[side].column(summed.value.column)), summed.value.form)
        sums = sums_of_values(values, wanted, extremes=summed.extremes)
    return pa.Table.from_arrays([(columns | sums)[name] for name in SUMS.names], schema=SUMS)


def _and(masks: Ints | None, passed: Ints | None) -> Ints | None:
    return passed if masks is None else masks if passed is None else masks & passed


def _keys(summed: SummedClass, pairs: Paired, places: Mapping[Side, Ints], separator: str) -> dict[str, pa.Array]:
    """The key of groups as state holds it: of one number, of text, of several texts, or of none."""
    count = len(next(iter(places.values())))
    if not summed.keys:
        return {"key_long": pa.array(np.zeros(count, np.int64)), "key_text": pa.nulls(count, pa.string())}
    parts = [
        one_chunk(pairs.rows[part.side].column(part.column)).take(pa.array(places[part.side])) for part in summed.keys
    ]
    if len(parts) > 1:
        joined = pc.binary_join_element_wise(*(part.cast(pa.string()) for part in parts), separator)
        return {"key_long": pa.nulls(count, pa.int64()), "key_text": joined}
    if not summed.keys[0].is_number:
        return {"key_long": pa.nulls(count, pa.int64()), "key_text": parts[0].cast(pa.string())}
    missing = np.asarray(parts[0].is_null())
    return {"key_long": pa.array(as_wholes(parts[0]), mask=missing), "key_text": pa.nulls(count, pa.string())}


def _sampling_codes(pairs: Paired, places: Mapping[Side, Ints], count: int) -> pa.Array:
    if pairs.sampled is None:
        return pa.nulls(count, pa.string())
    side, strata = pairs.sampled
    return strata_texts(strata[places[side]])


def _codes(rows: pa.Table, part: KeyPart) -> Ints:
    column = one_chunk(rows.column(part.column))
    if part.is_number:
        column = pa.array(as_wholes(column), mask=np.asarray(column.is_null()))
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column, null_encoding="encode")
    return np.asarray(encoded.indices, np.int64)
