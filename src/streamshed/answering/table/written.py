"""How an answer writes values: numbers in plain digits, times in ISO 8601 and UTC."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.table.value_kind import Notation

_HIGH = 2**32
DECIMAL_HALF = 10**20
"""Decimals of 38 digits are summed up in two halves: neither overflows before 10¹⁸ rows."""
_FITS = 2.0**62

_NAMES = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


def doubles_written(numbers: pa.Array) -> pa.Array:
    """Write doubles in the shortest form that determines them.

    >>> doubles_written(pa.array([0.1, 1e300, float("nan"), float("-inf"), None])).to_pylist()
    ['0.1', '1e+300', 'NaN', '-Infinity', None]
    """
    texts = pc.cast(numbers, pa.string())
    for text, name in _NAMES.items():
        texts = pc.if_else(pc.equal(texts, text), name, texts)
    return texts


def longs_written(longs: pa.Array, notation: Notation) -> pa.Array:
    """Write what state holds as whole numbers: numbers, Booleans, days and microseconds since 1970-01-01.

    >>> [longs_written(pa.array([1, None]), notation)[0].as_py() for notation in Notation]
    ['1', 'true', '1970-01-02', '1970-01-01T00:00:00.000001Z', '1970-01-01T00:00:00.000001', '1']
    """
    match notation:
        case Notation.BOOLEAN:
            return pc.if_else(pc.equal(longs, 1), "true", "false")
        case Notation.DATE:
            return _times_written(longs, "D")
        case Notation.TIMESTAMP:
            return pc.binary_join_element_wise(_times_written(longs, "us"), "Z", "")
        case Notation.TIMESTAMP_NTZ:
            return _times_written(longs, "us")
        case Notation.NUMBER | Notation.TEXT:
            return pc.cast(longs, pa.string())


def decimals_written(unscaled: pa.Array, scale: int) -> pa.Array:
    """Write decimals with their point set.

    Args:
        unscaled: Of type decimal128(38, 0).
        scale: Digits after the point.

    >>> decimals_written(pa.array([12345, -5, None], pa.decimal128(38, 0)), 2).to_pylist()
    ['123.45', '-0.05', None]
    """
    return _pointed(pc.cast(unscaled, pa.string()), scale)


def decimal_halves_written(high: pa.Array, low: pa.Array, scale: int) -> pa.Array:
    """Write decimals of high·10²⁰ + low without their point, with it set, exact however large; high may be missing.

    >>> high, low = pa.array([10**18, None, -1], pa.decimal128(38, 0)), pa.array([7, -5, 1], pa.decimal128(38, 0))
    >>> decimal_halves_written(high, low, 2).to_pylist()
    ['1000000000000000000000000000000000000.07', '-0.05', '-999999999999999999.99']
    """
    if not pc.any(pc.fill_null(pc.not_equal(high, 0), False)).as_py():
        return decimals_written(low, scale)
    pairs = zip(high.to_pylist(), low.to_pylist(), strict=True)
    whole = [None if below is None else str(int(above or 0) * DECIMAL_HALF + int(below)) for above, below in pairs]
    return _pointed(pa.array(whole, pa.string()), scale)


def _pointed(texts: pa.Array, scale: int) -> pa.Array:
    """Set the point of numbers that are written without it."""
    if scale == 0:
        return texts
    is_negative = pc.starts_with(texts, "-")
    digits = pc.utf8_lpad(pc.if_else(is_negative, pc.utf8_slice_codeunits(texts, 1), texts), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    return pc.binary_join_element_wise(pc.if_else(is_negative, "-", ""), whole, ".", fraction, "")


def halves_written(high: pa.Array, low: pa.Array) -> pa.Array:
    """Write high·2³² + low, exact however large.

    >>> halves_written(pa.array([2**62, -1, None]), pa.array([7, 2**32 - 1, None])).to_pylist()
    ['19807040628566084398385987591', '-1', None]
    """
    if _largest(high) * _HIGH + _largest(low) < _FITS:
        return pc.cast(pc.add(pc.multiply(high, _HIGH), low), pa.string())
    pairs = zip(high.to_pylist(), low.to_pylist(), strict=True)
    whole = [None if above is None or below is None else str(above * _HIGH + below) for above, below in pairs]
    return pa.array(whole, pa.string())


def nearest_doubles(texts: pa.Array) -> npt.NDArray[np.float64]:
    """Read numbers written in digits; nulls become NaN."""
    numbers: npt.NDArray[np.float64] = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _largest(longs: pa.Array) -> float:
    return float(np.abs(pc.fill_null(longs, 0).to_numpy(zero_copy_only=False).astype(float)).max(initial=0.0))


def _times_written(longs: pa.Array, unit: Any) -> pa.Array:
    is_present = longs.is_valid().to_numpy(zero_copy_only=False)
    instants = pc.fill_null(longs, 0).to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]")
    return pa.array(np.datetime_as_string(instants, unit=unit), pa.string(), mask=~is_present)
