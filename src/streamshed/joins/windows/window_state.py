"""The basic windows of one partition, read only where they are probed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streamshed.errors import IncompatibleCheckpointError
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.join_windows import JoinWindows, LagInterval
from streamshed.joins.model.side import Side
from streamshed.joins.model.side_rows import SideRows
from streamshed.joins.windows.directory import Directory, Stored
from streamshed.joins.windows.forgotten import apart, together, with_released
from streamshed.joins.windows.release import CutWindow, Release
from streamshed.joins.windows.store import DIRECTORY_KEY, BasicWindowStore


class WindowState:
    """Basic windows and their directory during one micro-batch.

    Args:
        windows: The windows of the join.
        store: Where they are kept.
        columns: See `JoinSpecification`.

    Raises:
        IncompatibleCheckpointError: What is stored are basic windows of a size that is no multiple of that of the join.
    """

    def __init__(
        self, windows: JoinWindows, store: BasicWindowStore, columns: Mapping[Side, pa.Schema] | None = None
    ) -> None:
        self._windows = windows
        self._columns = columns or {}
        self._store = store
        self._read: dict[tuple[int, int], SideRows] = {}
        self._basic_microseconds = windows.basic_microseconds
        stored, blob = Directory(), store.get(DIRECTORY_KEY)
        if blob is not None:
            stored, self._basic_microseconds = Directory.from_blob(blob)
        if self._basic_microseconds % windows.basic_microseconds:
            raise IncompatibleCheckpointError(
                f"stored basic windows of a join are of {self._basic_microseconds} µs, expected a multiple of"
                f" {windows.basic_microseconds} µs: was the size changed since the checkpoint was made?"
            )
        self.directory, self.forgotten = apart(stored)

    @property
    def read(self) -> int:
        """How many basic windows were read."""
        return len(self._read)

    def probed(self, side: Side, probes: Sequence[tuple[Ints, Sequence[LagInterval]]]) -> list[SideRows]:
        """Return the stored rows of a side that are in reach, basic window by basic window, in order of time.

        Args:
            side: Whose rows.
            probes: Times of rows of the other side, in order, and the lags that each are compared over.
        """
        wanted = {one for times, lags in probes if len(times) for one in self.directory.probed(side, times, lags)}
        return [self._rows(one) for one in sorted(wanted)]

    def all_rows(self, side: Side) -> list[SideRows]:
        """Return all stored rows of a side, basic window by basic window, in order of time."""
        return [self._rows(one) for one in self.directory.of(side)]

    def expire(self, watermark_microseconds: int | None) -> None:
        """Forget the basic windows that nothing can join any more."""
        if watermark_microseconds is None:
            return
        self.forgotten = self.forgotten.without(self.forgotten.expired(self._windows, watermark_microseconds))
        self.remove(self.directory.expired(self._windows, watermark_microseconds))

    def remove(self, gone: Sequence[Stored]) -> Directory:
        """Forget basic windows; return what they were."""
        for stored in gone:
            self._store.remove((stored.side, stored.number))
        self.directory = self.directory.without(gone)
        return Directory(tuple(gone))

    def release(self, gone: Release) -> Directory:
        """Give up basic windows, some of them in part, and remember that; return what they were."""
        freed = list(self.remove(gone.whole).entries)
        freed += map(self._cut, gone.cuts)
        self.forgotten = with_released(self.forgotten, freed)
        return Directory(tuple(freed))

    def add(self, side: Side, rows: SideRows) -> None:
        """Take rows into their basic windows."""
        if not len(rows):
            return
        numbers = rows.times // self._basic_microseconds
        stored_by_number = {stored.number: stored for stored in self.directory.of(side)}
        edges = np.append(np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)), len(rows)).tolist()
        changed = []
        for start, stop in pairwise(edges):
            number, part = int(numbers[start]), rows.part(start, stop)
            if number in stored_by_number:
                part = _in_order(SideRows.joined([self._rows(stored_by_number[number]), part]))
            blob = part.to_blob()
            self._store.put((int(side), number), blob)
            changed.append(Stored(int(side), number, len(part), len(blob), int(part.times[0]), int(part.times[-1])))
        self.directory = self.directory.updated(changed)

    def recut(self, multiple: int) -> None:
        """Store the same rows in basic windows of another size.

        Args:
            multiple: Of the join's size of basic windows.
        """
        basic_microseconds = multiple * self._windows.basic_microseconds
        if basic_microseconds == self._basic_microseconds:
            return
        rows = {side: self.all_rows(side) for side in Side}
        self.remove(self.directory.entries)
        self._read.clear()
        self._basic_microseconds = basic_microseconds
        self.forgotten = with_released(
            Directory(),
            [one._replace(number=one.first_microseconds // basic_microseconds) for one in self.forgotten.entries],
        )
        for side, parts in rows.items():
            if parts:
                self.add(side, SideRows.joined(parts))

    def save(self) -> None:
        """Write the directory."""
        stored = together(self.directory, self.forgotten)
        self._store.put(DIRECTORY_KEY, stored.to_blob(self._basic_microseconds))

    def _cut(self, cut: CutWindow) -> Stored:
        """Leave of a basic window what may stay; return what is given up."""
        stored, key = cut.of, cut.of[:2]
        self._read.pop(key, None)
        rows, blob = self._rows(stored), b""
        left = len(rows) * cut.bytes // stored.bytes
        while left and len(blob := _end(rows, left, is_younger=cut.keeps_younger).to_blob()) > cut.bytes:
            left = min(left - 1, left * cut.bytes // len(blob))
        if not left:
            self.remove([stored])
            return stored
        staying = _end(rows, left, is_younger=cut.keeps_younger)
        gone = _end(rows, len(rows) - left, is_younger=not cut.keeps_younger)
        self._store.put(key, blob)
        self.directory = self.directory.updated([_entry(stored, staying, len(blob))])
        return _entry(stored, gone, stored.bytes - len(blob))

    def _rows(self, stored: Stored) -> SideRows:
        key = (stored.side, stored.number)
        if key not in self._read:
            blob = self._store.get(key)
            if blob is None:
                raise KeyError(f"basic window {key} of a join is in the directory but not in its store")
            rows, columns = SideRows.from_blob(blob), self._columns.get(Side(stored.side))
            self._read[key] = rows if columns is None else rows.with_columns(columns)
        return self._read[key]


def _end(rows: SideRows, count: int, *, is_younger: bool) -> SideRows:
    return rows.part(len(rows) - count, len(rows)) if is_younger else rows.part(0, count)


def _entry(stored: Stored, rows: SideRows, size: int) -> Stored:
    return stored._replace(
        rows=len(rows), bytes=size, first_microseconds=int(rows.times[0]), last_microseconds=int(rows.times[-1])
    )


def _in_order(rows: SideRows) -> SideRows:
    if (np.diff(rows.times) >= 0).all():
        return rows
    order = pa.array(np.argsort(rows.times, kind="stable"))
    return SideRows(rows.table.take(order).combine_chunks())
