"""Where basic windows are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

DIRECTORY_KEY = (0, 0)
"""Where the list of what is stored is; sides are 1 and 2."""


class BasicWindowStore(Protocol):
    """One blob per (side, number of the basic window), as a map state of Spark has it.

    Basic window m holds the rows of times [m·b, (m+1)·b). A store belongs to one partition of a join.
    """

    def get(self, key: tuple[int, int]) -> bytes | None:
        """Return a blob, None if there is none."""

    def put(self, key: tuple[int, int], blob: bytes) -> None:
        """Keep a blob, in the place of the one there was."""

    def remove(self, key: tuple[int, int]) -> None:
        """Forget a blob that is there."""


@dataclass(slots=True)
class MemoryStore:
    """A store in memory that counts what is read.

    Args:
        blobs: What is stored.
        reads: How many blobs were read.

    Example:
        >>> store = MemoryStore()
        >>> store.put((1, 5), b"rows")
        >>> store.get((1, 5)), store.get((2, 5)), store.reads
        (b'rows', None, 2)
    """

    blobs: dict[tuple[int, int], bytes] = field(default_factory=dict)
    reads: int = 0

    def get(self, key: tuple[int, int]) -> bytes | None:
        """Return a blob, None if there is none."""
        self.reads += 1
        return self.blobs.get(key)

    def put(self, key: tuple[int, int], blob: bytes) -> None:
        """Keep a blob."""
        self.blobs[key] = blob

    def remove(self, key: tuple[int, int]) -> None:
        """Forget a blob that is there."""
        del self.blobs[key]
