"""Sizes of memory: text such as "512 MiB" outside, whole bytes inside."""

import re

from streamshed.errors import InvalidNetworkError, Problem, closest_name
from streamshed.network.words.given import is_text

_BYTES_PER_UNIT = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
}
_SIZE = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[^\W\d]+)\s*")
_WRITTEN = ("TiB", "GiB", "MiB", "KiB")
_MOST = 2.0**63
_EXACT = ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB")


def parse_byte_size(text: str) -> int:
    """Read a size as whole bytes.

    Args:
        text: A number with a unit: B, kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB, and as Spark writes them
            k, m, g, t, of 1024.

    Raises:
        InvalidNetworkError: No size, or an unknown unit.

    Example:
        >>> parse_byte_size("512 MiB"), parse_byte_size("4g"), parse_byte_size("1.5 kB")
        (536870912, 4294967296, 1500)
        >>> parse_byte_size("512 MiBs")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: unknown unit "MiBs" (did you mean "mib"?) in "512 MiBs"
    """
    match = _SIZE.fullmatch(text) if is_text(text) else None
    if match is None:
        raise InvalidNetworkError(Problem('a size is a number with a unit such as "512 MiB"', got=repr(text)))
    unit = match["unit"].lower()
    if unit not in _BYTES_PER_UNIT:
        near_miss, name = closest_name(unit, _BYTES_PER_UNIT), match["unit"]
        raise InvalidNetworkError(Problem(f'unknown unit "{name}"', source=text, near_miss=near_miss, name=name))
    size = float(match["number"]) * _BYTES_PER_UNIT[unit]
    if size > _MOST:
        raise InvalidNetworkError(f'the size "{text}" is beyond 8 EiB')
    return round(size)


def format_byte_size(count: int) -> str:
    """Write a size so that `parse_byte_size` reads the same.

    >>> format_byte_size(536870912), format_byte_size(512_000_000), format_byte_size(1500)
    ('512 MiB', '512 MB', '1500 B')
    """
    for unit in _EXACT:
        size = _BYTES_PER_UNIT[unit.lower()]
        if count and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count} B"


def rounded_byte_size(count: float) -> str:
    """Write a size for people.

    >>> rounded_byte_size(401_000_000), rounded_byte_size(12)
    ('382 MiB', '12 B')
    """
    for unit in _WRITTEN:
        size = _BYTES_PER_UNIT[unit.lower()]
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"
