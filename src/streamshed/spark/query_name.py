"""The name of Spark's query."""

from __future__ import annotations

import itertools
from collections.abc import Collection


def free_name(wanted: str, taken: Collection[str | None]) -> str:
    """Return the wanted name; where it is taken, the wanted name with a number.

    Example:
        >>> free_name("streamshed time", [None]), free_name("streamshed time", ["streamshed time"])
        ('streamshed time', 'streamshed time 2')
    """
    names = itertools.chain([wanted], (f"{wanted} {number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)
