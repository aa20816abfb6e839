"""What many rows add to the slices of a sharing class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.columnar.block_sums import BLOCK_SUMS, block_sums
from streamshed.columnar.column_work import ColumnClass
from streamshed.columnar.expressions.compiled import ColumnExpression
from streamshed.columnar.group_keys import key_codes, written_keys
from streamshed.columnar.line import Line
from streamshed.columnar.texts.dictionaries import plain
from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.joins.sums.groups import grouped, periods, slice_starts
from streamshed.joins.sums.summed_class import Edge, ValueForm
from streamshed.joins.sums.value_sums import NO_SUMS, Counted, RowValues, no_sums, sums_of_values
from streamshed.sharing.probes import PROBED

CLASS_SUMS = pa.schema(
    [
        ("instant", pa.int64()),
        ("class_id", pa.int64()),
        ("mask", pa.int64()),
        ("key_long", pa.int64()),
        ("key_text", pa.string()),
        ("rows", pa.int64()),
        *NO_SUMS.items(),
        ("block_sums", BLOCK_SUMS),
    ]
)
"""One row per slice, class, mask and key: `instant` lies in the slice, microseconds; `block_sums` is null where all
blocks are read."""


Masks = NDArray[Any]

_KINDS_OF_MASKS = tuple(map(np.dtype, ("<u1", "<u2", "<u4", "<i8")))


@dataclass(frozen=True)
class ClassExpressions:
    """What is computed of rows for a class.

    Attributes:
        keys: What they are grouped by.
        value: What is aggregated; None: rows are only counted.
    """

    keys: tuple[ColumnExpression, ...]
    value: ColumnExpression | None


@dataclass(eq=False)
class Slices:
    """The slices of rows, computed once for classes that have the same.

    Args:
        times: Of the rows, microseconds.
    """

    times: Ints
    _numbered: dict[tuple[Edge, ...], tuple[Ints, Ints]] = field(default_factory=dict)

    def numbered(self, edges: tuple[Edge, ...]) -> tuple[Ints, Ints]:
        """Return per row the number of its slice, and when each slice starts."""
        if edges not in self._numbered:
            if len(edges) == 1:
                numbers, first = periods(edges[0], self.times)
                size = int(numbers.max()) + 1
                if size <= len(numbers) + 1024:
                    self._numbered[edges] = numbers, first + edges[0][0] * np.arange(size)
                    return self._numbered[edges]
            numbers, unique = pd.factorize(slice_starts(edges, self.times))
            self._numbered[edges] = numbers.astype(np.int64), np.asarray(unique, np.int64)
        return self._numbered[edges]


def class_sums(
    column_class: ColumnClass,
    expressions: ClassExpressions,
    line: Line,
    slices: Slices,
    word: Ints | None,
    *,
    is_sampled: bool,
    cohorts: Ints | None = None,
) -> pa.Table:
    """Return what rows add to the slices of a class, with the columns of `CLASS_SUMS`.

    Args:
        column_class: The class.
        expressions: Its keys and value.
        line: The rows.
        slices: Theirs.
        word: Per row, the bits that its samplers let pass; None: all.
        is_sampled: Whether anything is shed.
        cohorts: Per row, that of its block; None: all blocks are read.

    Raises:
        Unsure: Spark has to tell the key or the value of a row.
    """
    masks = _masks(column_class, line, word)
    wanted = None if masks.all() else np.flatnonzero(masks)
    if wanted is not None and not len(wanted):
        return CLASS_SUMS.empty_table()
    numbers, starts = slices.numbered(column_class.edges)
    keys = [_key(column_class, expression, line, masks) for expression in expressions.keys]
    parts = [numbers, masks.astype(np.int64), *map(key_codes, keys)]
    groups, places = grouped(parts if wanted is None else [part[wanted] for part in parts])
    if wanted is not None:
        places = wanted[places]
    counted = Counted(groups, len(places), wanted)
    columns = {
        "instant": pa.array(starts[numbers[places]]),
        "class_id": pa.array(np.full(len(places), column_class.class_id, np.int64)),
        "mask": pa.array(masks[places].astype(np.int64)),
        **written_keys([plain(key.take(pa.array(places))) for key in keys], len(places)),
        "rows": pa.array(counted.row_counts),
        **_values(column_class, expressions.value, line, masks, counted, is_sampled=is_sampled, cohorts=cohorts),
    }
    return pa.Table.from_arrays([columns[name] for name in CLASS_SUMS.names], schema=CLASS_SUMS)


def total_bits(column_class: ColumnClass) -> list[int]:
    """Return the bits of a class of whose rows queries ask for totals: those of probes and of counted rows are not."""
    return [
        bit
        for bit, conditions in enumerate(column_class.selections)
        if PROBED not in conditions and not column_class.counting_mask >> bit & 1
    ]


def group_signs(
    column_class: ColumnClass, expressions: ClassExpressions, line: Line, bits: Sequence[int]
) -> Floats | None:
    """Return per row 1 or −1, the same for rows of a group, chosen for each group by the first time; None: no groups.

    Where all rows of some groups count with the opposite sign, the square of a total is on average the sum of the
    squares of its groups' totals (N. Alon, Y. Matias, M. Szegedy, The space complexity of approximating the frequency
    moments, 1999): the variance of the total is that of all groups.

    Args:
        column_class: The class.
        expressions: Its keys and value.
        line: The rows.
        bits: The bits whose rows need a sign.

    Raises:
        Unsure: Spark has to tell the key of a row.
    """
    passing = [line.passing(column_class.selections[bit]) for bit in bits if column_class.key_mask >> bit & 1]
    if not (passing and expressions.keys):
        return None
    some = [passes for passes in passing if passes is not None]
    reaches = np.logical_or.reduce(some) if len(some) == len(passing) else None
    groups, places = grouped([key_codes(line.encoded_value(key, reaches)) for key in expressions.keys])
    chance = np.random.default_rng(abs(int(line.times[0])))
    return chance.choice((-1.0, 1.0), len(places))[groups]


def bit_totals(
    column_class: ColumnClass, expressions: ClassExpressions, line: Line, bit: int, signs: Floats | None
) -> Iterator[Booleans | Floats]:
    """Yield what rows bring to the totals of a bit: whether they count, and the value, 0 of rows that have none.

    Args:
        column_class: The class.
        expressions: Its keys and value.
        line: The rows.
        bit: The bit.
        signs: What `group_signs` returns: of a query that asks for groups, rows count with these.

    Raises:
        Unsure: Spark has to tell the value of a row.
    """
    passes = line.passing(column_class.selections[bit])
    counts = np.ones(len(line.times), np.bool_) if passes is None else passes
    signs = signs if column_class.key_mask >> bit & 1 else None
    yield counts if signs is None else np.where(counts, signs, 0.0)
    has_number = column_class.value_mask >> bit & 1 and column_class.form is not ValueForm.PRESENCE
    if expressions.value is not None and has_number:
        values = RowValues.of(line.value(expressions.value, counts), column_class.form)
        numbers = values.numbers if signs is None else values.numbers * signs
        yield np.where(counts & values.is_there, numbers, 0.0)


def _masks(column_class: ColumnClass, line: Line, word: Ints | None) -> Masks:
    """Per row, the bits that it passes; of few bits, in bytes."""
    rows, bits = len(line.times), len(column_class.selections)
    kind = next(kind for kind in _KINDS_OF_MASKS if bits <= 8 * kind.itemsize)
    of_bytes = np.zeros((kind.itemsize, rows), np.uint8)
    for bit, conditions in enumerate(column_class.selections):
        if word is None and column_class.counting_mask >> bit & 1:
            continue
        place, shift = divmod(bit, 8)
        passes = line.passing(conditions)
        of_bytes[place] |= 1 << shift if passes is None else passes.view(np.uint8) << np.uint8(shift)
    masks: Masks = np.ascontiguousarray(of_bytes.T).view(kind).reshape(rows)
    return masks if word is None else masks & word.astype(kind)


def _reaching(masks: Masks, bits: int) -> Booleans:
    return np.asarray(masks & masks.dtype.type(bits) != 0)


def _key(
    column_class: ColumnClass,
    expression: ColumnExpression,
    line: Line,
    masks: Masks,
) -> pa.Array:
    """The key of rows that have one, null of others; perhaps as numbers of entries."""
    has_key = _reaching(masks, column_class.key_mask)
    key = line.encoded_value(expression, has_key)
    if column_class.key_mask == column_class.every_bit:
        return key
    if not pa.types.is_dictionary(key.type):
        return pc.if_else(pa.array(has_key), key, pa.scalar(None, key.type))
    indices = pc.if_else(pa.array(has_key), key.indices, pa.scalar(None, key.indices.type))
    return pa.DictionaryArray.from_arrays(indices, key.dictionary)


def _values(
    column_class: ColumnClass,
    expression: ColumnExpression | None,
    line: Line,
    masks: Masks,
    counted: Counted,
    *,
    is_sampled: bool,
    cohorts: Ints | None,
) -> dict[str, pa.Array]:
    no_blocks = {"block_sums": pa.nulls(counted.size, BLOCK_SUMS)}
    if expression is None:
        of_blocks = no_blocks if cohorts is None else {"block_sums": block_sums(cohorts, counted)}
        return no_sums(counted.size) | of_blocks
    needs_value = _reaching(masks, column_class.value_mask)
    values = RowValues.of(line.value(expression, needs_value), column_class.form)
    valued = counted.where(needs_value)
    extremes = column_class.has_extremes or (is_sampled and column_class.has_means)
    of_blocks = no_blocks if cohorts is None else {"block_sums": block_sums(cohorts, counted, (values, valued))}
    return sums_of_values(values, valued, extremes=extremes, powers=is_sampled) | of_blocks
