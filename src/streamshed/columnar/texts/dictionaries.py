"""Texts that files hold as numbers of entries: of rows that are alike, everything is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamshed.joins.model.arrays import Booleans, Ints

_WORTH = 2
"""So many times as many rows as entries are worth looking at entries in their place."""


def plain(column: pa.Array) -> pa.Array:
    """Return a column with its values in the place of numbers of entries.

    >>> plain(pa.array(["a", None, "a"]).dictionary_encode()).type
    DataType(string)
    """
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def short(column: pa.Array) -> pa.Array:
    """Return a column as numbers of entries if it has few, else with its values.

    >>> encoded = pa.array(["a", None, "a", "b"]).dictionary_encode()
    >>> short(encoded).type, short(encoded[:3]).type
    (DictionaryType(dictionary<values=string, indices=int32, ordered=0>), DataType(string))
    """
    return column if are_few(column) else plain(column)


def are_few(column: pa.Array) -> bool:
    """Return whether a column is numbers of entries, of which it pays to look at each once."""
    return pa.types.is_dictionary(column.type) and _WORTH * len(column.dictionary) <= len(column)


def concatenated(parts: Sequence[pa.Array]) -> pa.Array:
    """Return the parts of a column one behind the other, as numbers of entries where all parts are.

    >>> parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    >>> concatenated(parts).dictionary.to_pylist(), concatenated([*parts, pa.array(["d"])]).to_pylist()
    (['b', 'a', 'c'], ['b', 'a', 'c', 'b', 'd'])
    """
    are_encoded = all(pa.types.is_dictionary(part.type) for part in parts)
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts if are_encoded else [*map(plain, parts)])


@dataclass(frozen=True, eq=False)
class Entries:
    """The values of a column, each once.

    Attributes:
        values: They; the last one null where some row has none.
        places: Per row, which it has.
    """

    values: pa.Array
    places: Ints

    @classmethod
    def of(cls, column: pa.Array) -> Entries | None:
        """Return the entries of a column; None: it has none, or too many for that to pay.

        >>> entries = Entries.of(pa.array(["a", None, "a", "a"]).dictionary_encode())
        >>> entries.values.to_pylist(), entries.places.tolist()
        (['a', None], [0, 1, 0, 0])
        """
        if not are_few(column):
            return None
        values, indices = column.dictionary, column.indices
        if indices.null_count:
            indices = indices.fill_null(len(values))
            values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        return cls(values, np.asarray(indices).astype(np.int64))

    def used(self, rows: Booleans | None) -> Booleans:
        """Return which of the values some rows have.

        Args:
            rows: Which rows; None: all.
        """
        used = np.zeros(len(self.values), np.bool_)
        used[self.places if rows is None else self.places[rows]] = True
        return used
