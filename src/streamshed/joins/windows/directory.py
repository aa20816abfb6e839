"""The basic windows that are stored, as far as is known without reading them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.joins.model.join_windows import JoinWindows, LagInterval
from streamshed.joins.model.side import Side

_MOST_LOOKED_UP = 10_000
"""Intervals times basic windows whose rows are looked up one by one."""


class Stored(NamedTuple):
    """A basic window that is stored."""

    side: int
    number: int
    rows: int
    bytes: int
    first_microseconds: int
    last_microseconds: int


@dataclass(frozen=True)
class Directory:
    """The basic windows that are stored, in order of side and time.

    Args:
        entries: One each.

    Example:
        >>> directory = Directory((Stored(1, 0, 10, 800, 0, 9), Stored(1, 1, 20, 1600, 10, 19)))
        >>> directory.rows_before(Side.LEFT, np.array([0, 5, 10, 15, 99])).tolist()
        [0.0, 5.0, 10.0, 20.0, 30.0]
        >>> Directory.from_blob(directory.to_blob(10)) == (directory, 10)
        True
    """

    entries: tuple[Stored, ...] = ()

    @classmethod
    def from_blob(cls, blob: bytes) -> tuple[Directory, int]:
        """Return what `to_blob` made a blob of: the directory, and the size of basic windows, microseconds."""
        numbers = np.frombuffer(blob, np.int64)
        entries = tuple(Stored(*row) for row in numbers[1:].reshape(-1, len(Stored._fields)).tolist())
        return cls(entries), int(numbers[0])

    def to_blob(self, basic_microseconds: int) -> bytes:
        """Return it as bytes."""
        head = np.array([basic_microseconds], np.int64)
        return np.concatenate([head, np.array(self.entries, np.int64).reshape(-1)]).tobytes()

    @property
    def bytes(self) -> int:
        """How much is stored."""
        return sum(one.bytes for one in self.entries)

    @property
    def rows(self) -> int:
        """How many rows are stored."""
        return sum(one.rows for one in self.entries)

    def of(self, side: Side) -> tuple[Stored, ...]:
        """Return what is stored of a side."""
        return tuple(one for one in self.entries if one.side == side)

    def updated(self, changed: Iterable[Stored]) -> Directory:
        """Return it with basic windows added, or in the place of what they were."""
        entries = {one[:2]: one for one in (*self.entries, *changed)}
        return Directory(tuple(entries[key] for key in sorted(entries)))

    def without(self, gone: Iterable[Stored]) -> Directory:
        """Return it without some."""
        keys = {one[:2] for one in gone}
        return Directory(tuple(one for one in self.entries if one[:2] not in keys))

    def expired(self, windows: JoinWindows, watermark: int) -> tuple[Stored, ...]:
        """Return the basic windows whose rows no row can join any more, if its time is the watermark or later."""
        return tuple(one for one in self.entries if one.last_microseconds + windows.length(Side(one.side)) < watermark)

    def probed(self, side: Side, times: Ints, intervals: Sequence[LagInterval]) -> tuple[Stored, ...]:
        """Return the basic windows of a side that rows of the other reach into.

        Args:
            side: Of what is stored.
            times: Of the rows, in order.
            intervals: Of lags.
        """
        entries = self.of(side)
        first, last = (np.array([one[place] for one in entries], np.int64) for place in (4, 5))
        hit: Booleans = np.zeros(len(entries), np.bool_)
        for lo, hi in intervals:
            least, most = (lo, hi) if side is Side.RIGHT else (-hi, -lo)
            hit |= np.searchsorted(times, first - most, "left") < np.searchsorted(times, last - least, "right")
        return tuple(one for one, is_hit in zip(entries, hit, strict=True) if is_hit)

    def reads(self, side: Side, times: Ints, intervals: Sequence[LagInterval]) -> Ints:
        """Return how many basic windows of a side rows of the other reach into over each interval of lags.

        Of many intervals and basic windows, those between the first and the last row's reach are counted.

        Args:
            side: Of what is stored.
            times: Of the rows, in order.
            intervals: Of lags.
        """
        entries = self.of(side)
        first, last = (np.array([entry[place] for entry in entries], np.int64) for place in (4, 5))
        lags = np.array(intervals, np.int64).reshape(-1, 2)
        least, most = lags.T if side is Side.RIGHT else -lags[:, ::-1].T
        if len(lags) * len(entries) > _MOST_LOOKED_UP:
            up_to = np.searchsorted(first, times[-1] + most, "right")
            within: Ints = np.maximum(0, up_to - np.searchsorted(last, times[0] + least, "left"))
            return within
        begin = np.searchsorted(times, first[None, :] - most[:, None], "left")
        end = np.searchsorted(times, last[None, :] - least[:, None], "right")
        read_counts: Ints = (begin < end).sum(axis=1)
        return read_counts

    def rows_before(self, side: Side, times: Ints) -> Floats:
        """Return how many stored rows are earlier than some times, as if those of a basic window came evenly."""
        entries = self.of(side)
        if not entries:
            return np.zeros(times.shape)
        total = np.cumsum([0, *(one.rows for one in entries)])
        places = [at for one in entries for at in (one.first_microseconds, one.last_microseconds + 1)]
        counts = [count for before, after in pairwise(total) for count in (before, after)]
        before: Floats = np.interp(times, places, counts)
        return before
