"""Spark's `xxhash64` of whole numbers, many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamshed.joins.model.arrays import Ints

_PRIMES = tuple(
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_SEED = 42


def xxhash64(numbers: Ints) -> Ints:
    """Return what Spark's `xxhash64` makes of 64-bit numbers.

    >>> xxhash64(np.array([0, 1])).tolist()
    [-5252525462095825812, -7001672635703045582]
    """
    first, second, third, fourth, fifth = _PRIMES
    with np.errstate(over="ignore"):
        mixed = _rotated(numbers.view(np.uint64) * second, 31) * first
        hashed = _rotated((np.uint64(_SEED) + fifth + np.uint64(8)) ^ mixed, 27) * first + fourth
        hashed = (hashed ^ (hashed >> np.uint64(33))) * second
        hashed = (hashed ^ (hashed >> np.uint64(29))) * third
        hashed = hashed ^ (hashed >> np.uint64(32))
    return np.asarray(hashed.view(np.int64))


def _rotated(bits: NDArray[np.uint64], by: int) -> NDArray[np.uint64]:
    return np.asarray((bits << np.uint64(by)) | (bits >> np.uint64(64 - by)))
