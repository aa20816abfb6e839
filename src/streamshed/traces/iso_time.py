"""Times as ISO-8601 text of fixed width, built for millions of rows at a time."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamshed.traces.errors import InvalidTraceError

_WIDTH = len("2004-11-09T11:33:20.000976Z")
_SECOND = 1_000_000
_SMALLEST = -62_135_596_800 * _SECOND  # 0001-01-01
_LARGEST = 253_402_300_800 * _SECOND  # 10000-01-01


def iso_times(microseconds: NDArray[np.int64]) -> pa.Array:
    """Write times as ISO-8601 in UTC, to the microsecond.

    The date and the second are written once per distinct second, only the six digits behind the point
    once per row.

    Args:
        microseconds: Microseconds since 1970-01-01 UTC, one-dimensional, of the years 1 to 9999.

    Returns:
        A string array of the same length.

    Raises:
        InvalidTraceError: A time lies outside the years 1 to 9999.

    Example:
        >>> iso_times(np.array([1_100_000_000_000_976, -1])).to_pylist()
        ['2004-11-09T11:33:20.000976Z', '1969-12-31T23:59:59.999999Z']
    """
    rows = len(microseconds)
    if rows and not _SMALLEST <= microseconds.min() <= microseconds.max() < _LARGEST:
        raise InvalidTraceError("times must lie in the years 1 to 9999 to be written as ISO-8601")
    seconds, fractions = np.divmod(microseconds, _SECOND)
    distinct, which = np.unique(seconds, return_inverse=True)
    prefixes = np.datetime_as_string(distinct.astype("datetime64[s]")).astype("S19")
    text = np.empty((rows, _WIDTH), dtype=np.uint8)
    text[:, :19] = prefixes.view(np.uint8).reshape(-1, 19)[which]
    text[:, 19] = ord(".")
    remaining = fractions.astype(np.int32)
    for place in range(25, 19, -1):
        remaining, digits = np.divmod(remaining, 10)
        text[:, place] = digits + ord("0")
    text[:, 26] = ord("Z")
    offsets = np.arange(0, (rows + 1) * _WIDTH, _WIDTH, dtype=np.int64)
    return pa.LargeStringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))
