"""Keys of any type as whole numbers: equal keys have equal codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.errors import InvalidNetworkError
from streamshed.joins.model.arrays import Booleans, Ints

_ODD = np.uint64(0x9E3779B97F4A7C15)


def is_injective(types: Sequence[pa.DataType]) -> bool:
    """Tell whether equal codes mean equal keys: with one key of a type that fits into 64 bits."""
    return len(types) == 1 and _fits(types[0])


def key_codes(columns: Sequence[pa.Array]) -> Ints:
    """Return a code for each key, the same in every process.

    Args:
        columns: The columns of the key; no row has a null.

    Raises:
        InvalidNetworkError: A column is of a type that cannot be a key.

    Example:
        >>> key_codes([pa.array([7, -1])]).tolist()
        [7, -1]
        >>> zero, minus_zero, nan, other_nan = key_codes([pa.array([0.0, -0.0, float("nan"), -float("nan")])])
        >>> bool(zero == minus_zero), bool(nan == other_nan), bool(zero == nan)
        (True, True, False)
        >>> one, two, three = key_codes([pa.array(["a", "ab", "a"]), pa.array(["bc", "c", "bc"])])
        >>> bool(one == three), bool(one == two)
        (True, False)
    """
    codes = [_column_codes(column) for column in columns]
    if len(codes) == 1:
        return codes[0]
    mixed = np.zeros(len(codes[0]), np.int64)
    for code in codes:
        mixed = scattered(((mixed.view(np.uint64) * _ODD) ^ scattered(code).view(np.uint64)).view(np.int64))
    return mixed


def same_keys(left: pa.Array, right: pa.Array) -> Booleans:
    """Tell of two columns without nulls, of equal types, where they are equal as keys."""
    if _fits(left.type):
        return np.asarray(_column_codes(left) == _column_codes(right))
    return np.asarray(pc.equal(left, right))


def scattered(codes: Ints) -> Ints:
    """Return a one-to-one hash of whole numbers (the finalizer of SplitMix64)."""
    bits = codes.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)


def _fits(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
    )


def _column_codes(column: pa.Array) -> Ints:
    kind = column.type
    if pa.types.is_uint64(kind):
        return np.asarray(column).view(np.int64)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.int64()))
    if pa.types.is_floating(kind):
        numbers = np.asarray(column.cast(pa.float64())) + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    if pa.types.is_timestamp(kind):
        return np.asarray(column.cast(pa.timestamp("ns" if kind.unit == "ns" else "us", kind.tz)).cast(pa.int64()))
    if pa.types.is_temporal(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return np.asarray(column.cast(whole).cast(pa.int64()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_bytes(kind) or pa.types.is_decimal(kind):
        return _hashes(column)
    raise InvalidNetworkError(f"a key of a join is of type {kind}, expected numbers, text, bytes, times or booleans")


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _hashes(column: pa.Array) -> Ints:
    """Hash each distinct value once."""
    coded = column.dictionary_encode()
    if pa.types.is_decimal(column.type):
        distinct = coded.dictionary.cast(pa.string()).to_pylist()
    else:
        distinct = coded.dictionary.to_pylist()
    values = np.empty(len(distinct), object)
    values[:] = distinct
    hashes = pd.util.hash_array(values, categorize=False).view(np.int64)
    return hashes[np.asarray(coded.indices)] if len(hashes) else np.zeros(0, np.int64)
