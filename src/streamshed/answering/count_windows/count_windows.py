"""Windows of so many rows of a group: its rows numbered in order of time, and which windows they close."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from streamshed.answering.table.window_partials import Doubles, Longs, Truths

_HEAD = struct.Struct("<BqqI")
_FORMAT = 1

Texts: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class CountWindows:
    """Window k holds the rows [kδ, kδ + ω) of a group, of those there are: the first ones begin before its first row.

    Attributes:
        size: ω, rows.
        slide: δ, rows.
    """

    size: int
    slide: int

    @property
    def first(self) -> int:
        """Where the first window starts that holds the first row, number 0.

        >>> CountWindows(100, 25).first, CountWindows(10, 10).first
        (-75, 0)
        """
        return -((self.size - 1) // self.slide) * self.slide

    def full(self, open_from: int, next_number: int) -> range:
        """Return the starts of the windows whose last row has a number.

        >>> list(CountWindows(10, 4).full(open_from=-8, next_number=8))
        [-8, -4]
        """
        return range(open_from, max(open_from, next_number - self.size + 1), self.slide)

    def begun(self, open_from: int, next_number: int) -> range:
        """Return the starts of the windows that hold any of the rows with a number.

        >>> list(CountWindows(10, 4).begun(open_from=0, next_number=6))
        [0, 4]
        """
        return range(open_from, max(open_from, next_number), self.slide)


@dataclass(frozen=True, slots=True)
class ValueRows:
    """Values of rows, in order.

    Attributes:
        is_present: Whether there is a value; null does not count.
        numbers: It as a number; 0 where there is none.
        longs: It as a whole number, if it is one.
        texts: It as a text, if it is one; of a decimal, its digits without the point.
    """

    is_present: Truths
    numbers: Doubles
    longs: Longs
    texts: Texts

    def __len__(self) -> int:
        return len(self.is_present)

    def since(self, first: int) -> ValueRows:
        """Return all but the first rows."""
        return ValueRows(self.is_present[first:], self.numbers[first:], self.longs[first:], self.texts[first:])

    @classmethod
    def joined(cls, parts: Sequence[ValueRows]) -> ValueRows:
        """Put rows one after the other; there is at least one part."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.is_present for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.longs for part in parts]),
            tuple(text for part in parts for text in part.texts),
        )


NO_ROWS = ValueRows(np.zeros(0, np.bool_), np.zeros(0), np.zeros(0, np.int64), ())


@dataclass(frozen=True, slots=True)
class CountedGroup:
    """What is held of a group.

    Attributes:
        next_number: The number that its next row will have.
        open_from: Where the first window starts that is not answered.
        rows: Its last rows, those that windows still open hold.
    """

    next_number: int
    open_from: int
    rows: ValueRows = NO_ROWS

    def to_bytes(self) -> bytes:
        """Write the group as state holds it."""
        rows = self.rows
        texts = json.dumps(rows.texts).encode() if any(text is not None for text in rows.texts) else b""
        return b"".join(
            (
                _HEAD.pack(_FORMAT, self.next_number, self.open_from, len(rows)),
                rows.is_present.tobytes(),
                rows.numbers.tobytes(),
                rows.longs.tobytes(),
                texts,
            )
        )

    @classmethod
    def from_bytes(cls, written: bytes) -> CountedGroup:
        """Read what `to_bytes` wrote."""
        _, next_number, open_from, count = _HEAD.unpack_from(written)
        at = _HEAD.size
        rows = ValueRows(
            np.frombuffer(written, np.bool_, count, at),
            np.frombuffer(written, np.float64, count, at + count),
            np.frombuffer(written, np.int64, count, at + 9 * count),
            tuple(json.loads(written[at + 17 * count :])) if len(written) > at + 17 * count else (None,) * count,
        )
        return cls(next_number, open_from, rows)


@dataclass(frozen=True, slots=True)
class ClosedWindows:
    """Windows of one group that are to be answered.

    Attributes:
        rows: Values.
        starts: The number with which each window starts, counted from the group's first row.
        first: Index of each window's first row among `rows`.
        until: Index after its last one; windows hold at least one row.
    """

    rows: ValueRows
    starts: Longs
    first: Longs
    until: Longs

    def __len__(self) -> int:
        return len(self.starts)


def counted(
    windows: CountWindows, group: CountedGroup | None, rows: ValueRows, *, is_last: bool = False
) -> tuple[ClosedWindows, CountedGroup]:
    """Number the next rows of a group.

    Args:
        windows: Its windows.
        group: What is held of it; None: nothing, it is new.
        rows: Those that follow, in order.
        is_last: Whether windows that are not full are answered, too. Rows that still come go into later windows.

    Returns:
        The windows that are closed, and what is held from now on: at most ω − 1 rows.

    Example:
        >>> rows = ValueRows(np.ones(5, np.bool_), np.arange(5.0), np.arange(5), (None,) * 5)
        >>> closed, group = counted(CountWindows(3, 2), None, rows)
        >>> [(int(s), closed.rows.longs[a:b].tolist()) for s, a, b in zip(closed.starts, closed.first, closed.until)]
        [(-2, [0]), (0, [0, 1, 2]), (2, [2, 3, 4])]
        >>> group.next_number, group.open_from, group.rows.longs.tolist()
        (5, 4, [4])
    """
    before = CountedGroup(0, windows.first) if group is None else group
    held = ValueRows.joined([part for part in (before.rows, rows) if len(part)] or [NO_ROWS])
    next_number = before.next_number + len(rows)
    base = next_number - len(held)
    starts_between = windows.begun if is_last else windows.full
    closing = starts_between(before.open_from, next_number)
    starts = np.arange(closing.start, closing.stop, closing.step, dtype=np.int64)
    closed = ClosedWindows(
        held,
        starts,
        np.maximum(starts, base) - base,
        np.minimum(starts + windows.size, next_number) - base,
    )
    open_from = closing.start + len(closing) * windows.slide
    open_rows = held.since(min(max(open_from - base, 0), len(held)))
    return closed, CountedGroup(next_number, open_from, open_rows)
