"""Pairs of sets that were found by hashes of their items, checked against the items themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamshed.joins.arrays import Booleans
from streamshed.joins.conditions import InnerProduct, Overlap
from streamshed.joins.inverted_index import products_of_pairs
from streamshed.joins.item_sets import numbered_items
from streamshed.joins.kernel import Pairs
from streamshed.joins.key_codes import is_injective
from streamshed.joins.rows import Rows


def truly_joined(condition: Overlap | InnerProduct, left: Rows, right: Rows, pairs: Pairs) -> Pairs:
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
    codes = {code for _, table in sides for code in np.unique(Rows(table).items).tolist()}
    if len(codes) == distinct:
        return pairs
    lefts, rights = (Rows(pa.table(dict(column))) for column in columns)
    places = which_left.astype(np.int64), which_right.astype(np.int64)
    products = products_of_pairs(lefts, rights, places, weighted=isinstance(condition, InnerProduct))
    joins: Booleans = products >= condition.threshold
    return pairs[0][joins], pairs[1][joins]


def _item_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_map(kind):
        return kind.key_type
    return kind.value_type.field(0).type if pa.types.is_struct(kind.value_type) else kind.value_type
