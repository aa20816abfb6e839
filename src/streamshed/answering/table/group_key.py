"""Keys of groups as answers write them, from the two columns in which state holds them.

State holds one key of an integral or temporal type as a number, one of another type as text; several keys joined into
one text in which separators are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.value_kind import Notation
from streamshed.answering.table.written import longs_written

SEPARATOR = "\x1f"
"""Between the keys of a group, and between the elements of one."""
NULL = "\\N"
"""A null among several keys."""
ESCAPE, ESCAPED_SEPARATOR = "\\\\", "\\u"
"""What stands for a backslash, and for a separator."""

_AS_IT_IS = (Notation.NUMBER, Notation.TEXT)


def keys_written(key_long: pa.Array, key_text: pa.Array, notations: Sequence[Notation]) -> pa.Array:
    r"""Return the keys of groups, an array of lists of texts with null elements for nulls.

    Args:
        key_long: State column.
        key_text: State column.
        notations: How each key of the query is to be written.

    >>> keys_written(pa.array([7, None]), pa.array([None, None], pa.string()), [Notation.NUMBER]).to_pylist()
    [['7'], [None]]
    >>> keys_written(pa.nulls(1, pa.int64()), pa.array(["1\x1f\\N"]), [Notation.BOOLEAN, Notation.TEXT]).to_pylist()
    [['true', None]]
    """
    lists = pa.list_(pa.string())
    if not notations:
        return pa.array([[]] * len(key_long), lists)
    if len(notations) > 1:
        return _split(key_text, notations)
    notation = notations[0]
    values = key_text if notation is Notation.TEXT else longs_written(key_long, notation)
    return pa.ListArray.from_arrays(np.arange(len(values) + 1, dtype=np.int32), values, type=lists)


def _split(key_text: pa.Array, notations: Sequence[Notation]) -> pa.Array:
    """Every key once, as groups recur in window after window."""
    encoded = pc.dictionary_encode(key_text)
    decoded = [parts(text) for text in encoded.dictionary.to_pylist()]
    columns = [
        _as_notation(pa.array([part[index] for part in decoded], pa.string()), notation)
        for index, notation in enumerate(notations)
    ]
    count = len(notations)
    places = np.arange(len(decoded) * count).reshape(count, len(decoded)).T.ravel()
    joined = pa.concat_arrays(columns).take(pa.array(places))
    offsets = np.arange(len(decoded) + 1, dtype=np.int32) * np.int32(count)
    return pa.ListArray.from_arrays(offsets, joined).take(encoded.indices)


def _as_notation(texts: pa.Array, notation: Notation) -> pa.Array:
    return texts if notation in _AS_IT_IS else longs_written(pc.cast(texts, pa.int64()), notation)


def parts(text: str) -> list[str | None]:
    r"""Take apart what was escaped and joined.

    >>> parts("1\x1f\\N\x1fa")
    ['1', None, 'a']
    """
    return [None if part == NULL else _unescaped(part) for part in text.split(SEPARATOR)]


def _unescaped(part: str) -> str:
    return "\\".join(piece.replace(ESCAPED_SEPARATOR, SEPARATOR) for piece in part.split(ESCAPE))
