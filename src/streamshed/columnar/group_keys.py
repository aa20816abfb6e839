"""Keys of groups, by columns: the numbers that tell them apart, and how state holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.group_key import ESCAPE, ESCAPED_SEPARATOR, NULL, SEPARATOR
from streamshed.joins.model.arrays import Ints
from streamshed.joins.sums.value_sums import as_wholes


def key_codes(key: pa.Array) -> Ints:
    """Return a number for each value of a key, the same for equal ones; null is a value.

    >>> key_codes(pa.array(["b", None, "a", "b"])).tolist()
    [0, 1, 2, 0]
    """
    encoded = key if pa.types.is_dictionary(key.type) else pc.dictionary_encode(key, null_encoding="encode")
    indices = encoded.indices
    return np.asarray(indices.fill_null(len(encoded.dictionary)) if indices.null_count else indices, np.int64)


def written_keys(keys: Sequence[pa.Array], count: int) -> Mapping[str, pa.Array]:
    """Return the keys of groups as state holds them: of one number, of text, of several texts, or of none.

    Args:
        keys: Per key, its value in each group.
        count: How many groups.

    Example:
        >>> written = written_keys([pa.array([6, None])], 2)
        >>> written["key_long"].to_pylist(), written["key_text"].to_pylist()
        ([6, None], [None, None])
    """
    if not keys:
        return {"key_long": pa.array(np.zeros(count, np.int64)), "key_text": pa.nulls(count, pa.string())}
    if len(keys) > 1:
        joined = pc.binary_join_element_wise(*map(_escaped, keys), SEPARATOR)
        return {"key_long": pa.nulls(count, pa.int64()), "key_text": joined}
    if pa.types.is_string(keys[0].type):
        return {"key_long": pa.nulls(count, pa.int64()), "key_text": keys[0]}
    missing = np.asarray(keys[0].is_null())
    return {"key_long": pa.array(as_wholes(keys[0]), mask=missing), "key_text": pa.nulls(count, pa.string())}


def _escaped(key: pa.Array) -> pa.Array:
    """One of several keys as text."""
    if pa.types.is_string(key.type):
        text = pc.replace_substring(pc.replace_substring(key, "\\", ESCAPE), SEPARATOR, ESCAPED_SEPARATOR)
    else:
        text = pa.array(as_wholes(key), mask=np.asarray(key.is_null())).cast(pa.string())
    return pc.fill_null(text, NULL)
