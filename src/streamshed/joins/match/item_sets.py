"""Sets and weighted sets as whole numbers: each row's items once, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import InvalidNetworkError
from streamshed.joins.match.key_codes import key_codes
from streamshed.joins.model.arrays import Floats, Ints
from streamshed.joins.model.side_rows import ITEMS, WEIGHTS


@dataclass(frozen=True, slots=True)
class _Flat:
    """The items of all rows that count, the row of each, and its weight."""

    count: int
    items: pa.Array
    rows: Ints
    weights: Floats


def item_columns(column: pa.Array) -> Mapping[str, pa.Array]:
    """Return each row's items by their codes, and their weights.

    Args:
        column: Lists of items, which weigh 1; or maps from items to weights, or lists of structs of the two.

    Raises:
        InvalidNetworkError: It is none of them, or items have no codes.

    Example:
        >>> item_columns(pa.array([[3, 1, 3, None], None, []]))["#items"].to_pylist()
        [[1, 3], [], []]
        >>> pairs = pa.map_(pa.int64(), pa.float64())
        >>> column = pa.array([[(7, 1.0), (8, 2.0), (7, 0.5)], [(7, float("nan")), (8, None)], None], pairs)
        >>> item_columns(column)["#weights"].to_pylist()
        [[1.5, 2.0], [], []]
    """
    flat = _flat(column)
    return _columns(flat, key_codes([flat.items]))


def numbered_items(columns: Sequence[pa.Array]) -> tuple[list[Mapping[str, pa.Array]], int]:
    """Return the same with items numbered one by one instead of coded, and how many different ones there are.

    Example:
        >>> found, distinct = numbered_items([pa.array([["a", "b"]]), pa.array([["b", "c"], ["a"]])])
        >>> [columns["#items"].to_pylist() for columns in found], distinct
        ([[[0, 1]], [[1, 2], [0]]], 3)
    """
    flats = [_flat(column) for column in columns]
    coded = pa.concat_arrays([flat.items for flat in flats]).dictionary_encode()
    numbers = np.asarray(coded.indices).astype(np.int64)
    parts = np.split(numbers, np.cumsum([len(flat.items) for flat in flats])[:-1])
    return [_columns(flat, part) for flat, part in zip(flats, parts, strict=True)], len(coded.dictionary)


def _flat(column: pa.Array) -> _Flat:
    if pa.types.is_map(column.type):
        column = column.cast(pa.list_(pa.struct([("item", column.type.key_type), ("weight", column.type.item_type)])))
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise InvalidNetworkError(f"sets of a join are of type {column.type}, expected lists or maps")
    values, rows = column.flatten(), np.asarray(pc.list_parent_indices(column)).astype(np.int64)
    if not pa.types.is_struct(values.type):
        is_given = np.asarray(values.is_valid())
        return _Flat(len(column), values.filter(pa.array(is_given)), rows[is_given], np.ones(int(is_given.sum())))
    if values.type.num_fields != 2:
        raise InvalidNetworkError(f"weighted sets of a join are of type {column.type}, expected items and weights")
    items, weights = pc.struct_field(values, [0]), pc.struct_field(values, [1]).cast(pa.float64())
    numbers = np.asarray(weights.fill_null(np.nan))
    is_given = np.asarray(items.is_valid()) & ~np.isnan(numbers)
    return _Flat(len(column), items.filter(pa.array(is_given)), rows[is_given], numbers[is_given])


def _columns(flat: _Flat, codes: Ints) -> Mapping[str, pa.Array]:
    order = np.lexsort((codes, flat.rows))
    codes, rows = codes[order], flat.rows[order]
    first = np.ones(len(codes), np.bool_)
    first[1:] = (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])
    starts = np.zeros(flat.count + 1, np.int32)
    np.cumsum(np.bincount(rows[first], minlength=flat.count), out=starts[1:])
    weights = flat.weights[order]
    totals = np.add.reduceat(weights, np.flatnonzero(first)) if len(codes) else weights
    offsets = pa.array(starts)
    return {
        ITEMS: pa.ListArray.from_arrays(offsets, pa.array(codes[first])),
        WEIGHTS: pa.ListArray.from_arrays(offsets, pa.array(totals)),
    }
