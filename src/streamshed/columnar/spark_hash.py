"""Spark's `xxhash64`, of many rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.columnar.texts.dictionaries import Entries, plain
from streamshed.joins.model.arrays import Floats, Ints

_Bits = NDArray[np.uint64]

_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_SEED = 42
_STRIPE = 32
"""Bytes that are mixed at once, in four lanes."""
_LOOKED_AT = 1024
"""So many values tell whether many are alike."""


def xxhash64(numbers: Ints) -> Ints:
    """Return what Spark's `xxhash64` makes of 64-bit numbers.

    >>> xxhash64(np.array([0, 1])).tolist()
    [-5252525462095825812, -7001672635703045582]
    """
    return hash_of_row([pa.array(numbers)], len(numbers))


def hash_of_row(columns: Sequence[pa.Array | pa.Scalar], rows: int) -> Ints:
    """Return what Spark's `xxhash64` makes of several columns; nulls are passed over.

    Args:
        columns: Integers, texts or bytes; one value stands for a column of it.
        rows: How many rows.

    >>> hash_of_row([pa.scalar("packets"), pa.array([None, 1], pa.int32())], 2).tolist()
    [373802218371482377, 6929967603177285121]
    """
    constants = tuple(takewhile(lambda column: isinstance(column, pa.Scalar), columns))
    seeds = np.array([_of_constants(constants)], np.uint64)
    with np.errstate(over="ignore"):
        for column in columns[len(constants) :]:
            values = pa.repeat(column, len(seeds)) if isinstance(column, pa.Scalar) else column
            seeds = _of_few(values, seeds) if len(seeds) == 1 and _are_few(values) else _of_all(values, seeds)
    return np.array(np.broadcast_to(seeds, rows)).view(np.int64)


@lru_cache(maxsize=4096)
def _of_constants(values: tuple[pa.Scalar, ...]) -> np.uint64:
    """The hash of values with which a row begins: for short arrays most of what takes time is to begin."""
    hashed = np.array([_SEED], np.uint64)
    with np.errstate(over="ignore"):
        for value in values:
            hashed = _of_all(pa.repeat(value, 1), hashed)
    return np.uint64(hashed[0])


UNIT = 2.0**-53


def as_uniform(hashes: Ints) -> Floats:
    """Return hashes as numbers in [0, 1), from all but their lowest eleven bits, as `row_draws.as_uniform` does.

    >>> as_uniform(np.array([0, -1])).tolist()
    [0.0, 0.9999999999999999]
    """
    return (hashes.view(np.uint64) >> np.uint64(11)).astype(np.float64) * UNIT


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ ÷ the golden ratio."""


def first_draw(stream: str, micro_batch_id: int) -> int:
    """Return what the blocks of a micro-batch begin to draw with, see `block_draws`: a hash.

    Args:
        stream: Name of the stream.
        micro_batch_id: Which micro-batch.
    """
    return int(hash_of_row([pa.scalar(f"{stream} block"), pa.scalar(micro_batch_id, pa.int64())], 1)[0])


def block_draws(first: int, numbers: Sequence[int] | Ints) -> Floats:
    """Return what blocks of a micro-batch, or bundles of them, draw: numbers in [0, 1) that decide which are read.

    Block i draws u + i/φ, less whole numbers, with φ the golden ratio. So those that draw less than any limit are
    spread evenly over all blocks (Weyl's sequence; three distances between neighbors at most): where files follow each
    other in time, rows that are near each other in time are missing everywhere a little.

    Args:
        first: What u is made from, see `first_draw`.
        numbers: Of the blocks, counted through all files of the micro-batch.

    Example:
        >>> read = np.flatnonzero(block_draws(first_draw("packets", 7), range(100)) < 0.1)
        >>> len(read), sorted(set(np.diff(read).tolist()))
        (10, [5, 8, 13])
    """
    return as_uniform((np.int64(first).view(np.uint64) + np.asarray(numbers, np.uint64) * _GOLDEN).view(np.int64))


def _are_few(values: pa.Array) -> bool:
    """Whether so many values are alike that it pays to hash each only once."""
    if pa.types.is_dictionary(values.type):
        return True
    first = values.slice(0, _LOOKED_AT)
    return len(values) > _LOOKED_AT and len(first.unique()) < len(first) // 4


def _of_few(values: pa.Array, seed: _Bits) -> _Bits:
    entries = Entries.of(values) or Entries.of(pc.dictionary_encode(plain(values)))
    return _of_all(plain(values), seed) if entries is None else _of_all(entries.values, seed)[entries.places]


def _of_all(values: pa.Array, seeds: _Bits) -> _Bits:
    values, seeds = plain(values), np.broadcast_to(seeds, len(values))
    mixed = _mixed(values, seeds)
    return np.where(np.asarray(values.is_null()), seeds, mixed) if values.null_count else mixed


def _mixed(values: pa.Array, seeds: _Bits) -> _Bits:
    if not pa.types.is_integer(values.type):
        return _of_bytes(values.cast(pa.binary()), seeds)
    numbers = np.asarray(values.fill_null(0)).astype(np.int64).view(np.uint64)
    if values.type == pa.int64():
        return _finished(_with_long(seeds + _FIFTH + np.uint64(8), numbers))
    return _finished(_with_int(seeds + _FIFTH + np.uint64(4), numbers & np.uint64(0xFFFFFFFF)))


def _of_bytes(texts: pa.Array, seeds: _Bits) -> _Bits:
    """Hash texts, those of one length together."""
    ends = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    letters = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    lengths = np.where(np.asarray(texts.is_null()), -1, np.diff(ends))
    hashed = np.zeros(len(texts), np.uint64)
    for length in np.unique(lengths[lengths >= 0]).tolist():
        places = np.flatnonzero(lengths == length)
        rows = letters[ends[places][:, None] + np.arange(length)]
        hashed[places] = _of_equally_long(rows, seeds[places])
    return hashed


def _of_equally_long(rows: NDArray[np.uint8], seeds: _Bits) -> _Bits:
    """Hash texts of one length.

    Args:
        rows: One row of bytes each.
        seeds: Theirs.
    """
    length = rows.shape[1]
    words = _words(rows[:, : length - length % 8], 8)
    hashed, word = seeds + _FIFTH, 0
    if length >= _STRIPE:
        word = length // _STRIPE * 4
        hashed = _of_stripes(words[:, :word], seeds)
    hashed = hashed + np.uint64(length)
    for place in range(word, words.shape[1]):
        hashed = _with_long(hashed, words[:, place])
    place = words.shape[1] * 8
    if length - place >= 4:
        hashed = _with_int(hashed, _words(rows[:, place : place + 4], 4)[:, 0])
        place += 4
    for last in range(place, length):
        hashed = _rotated(hashed ^ (rows[:, last].astype(np.uint64) * _FIFTH), 11) * _FIRST
    return _finished(hashed)


def _words(rows: NDArray[np.uint8], size: int) -> _Bits:
    """The whole numbers of so many bytes that rows are made of, the lowest byte first."""
    numbers = np.frombuffer(np.ascontiguousarray(rows).tobytes(), f"<u{size}")
    return numbers.reshape(len(rows), rows.shape[1] // size).astype(np.uint64)


def _of_stripes(words: _Bits, seeds: _Bits) -> _Bits:
    lanes: list[_Bits] = [seeds + _FIRST + _SECOND, seeds + _SECOND, seeds, seeds - _FIRST]
    for place in range(words.shape[1]):
        lane = place % 4
        lanes[lane] = _rotated(lanes[lane] + words[:, place] * _SECOND, 31) * _FIRST
    mixed: _Bits = _rotated(lanes[0], 1) + _rotated(lanes[1], 7) + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
    for of_lane in lanes:
        mixed = (mixed ^ (_rotated(of_lane * _SECOND, 31) * _FIRST)) * _FIRST + _FOURTH
    return mixed


def _with_long(hashed: _Bits, numbers: _Bits) -> _Bits:
    return _rotated(hashed ^ (_rotated(numbers * _SECOND, 31) * _FIRST), 27) * _FIRST + _FOURTH


def _with_int(hashed: _Bits, numbers: _Bits) -> _Bits:
    return _rotated(hashed ^ (numbers * _FIRST), 23) * _SECOND + _THIRD


def _finished(hashed: _Bits) -> _Bits:
    hashed = (hashed ^ (hashed >> np.uint64(33))) * _SECOND
    hashed = (hashed ^ (hashed >> np.uint64(29))) * _THIRD
    return np.asarray(hashed ^ (hashed >> np.uint64(32)))


def _rotated(bits: _Bits, by: int) -> _Bits:
    return np.asarray((bits << np.uint64(by)) | (bits >> np.uint64(64 - by)))
