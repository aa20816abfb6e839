"""From rows that time has passed to the windows of so many rows that they close, group by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import pandas as pd

from streamshed.answering.count_windows.count_figures import FIGURES, CountSeries, figures
from streamshed.answering.count_windows.count_windows import (
    NO_ROWS,
    ClosedWindows,
    CountedGroup,
    ValueRows,
    counted,
)

GROUP = ("definition_id", "slot", "key_long", "key_text")
"""What names a group of a value; never null."""
ROW = (
    *GROUP,
    "time",
    "tie",
    "is_present",
    "number",
    "long",
    "text",
)
"""What a row tells of a value: the group, its time (microseconds), what orders rows of one time, and the value."""
WINDOW = (*GROUP, "window_from", "window_until", *(name for name, _ in FIGURES))
"""What is told of a window: the group, the number of its first row, the one after its last, its figures."""

_GROUP_KINDS = (np.int64, np.int64, np.int64, np.object_)

GroupName: TypeAlias = tuple[int, int, int, str]


class Groups(Protocol):
    """Where groups are held, written as `CountedGroup.to_bytes` does."""

    def get(self, name: GroupName) -> bytes | None:
        """Return a group; None: there is none."""

    def put(self, name: GroupName, written: bytes) -> None:
        """Hold a group."""

    def names(self) -> Sequence[GroupName]:
        """Return all groups."""


class CountNumbering:
    """Numbers rows.

    Args:
        series: The values of queries with windows of so many rows; rows and groups of others are left alone.
    """

    def __init__(self, series: Sequence[CountSeries]) -> None:
        self._series = {(one.definition_id, one.slot): one for one in series}

    def windows(self, rows: pd.DataFrame, groups: Groups) -> Iterator[pd.DataFrame]:
        """Number rows, hold what windows still open need of them, and return those that are full.

        Args:
            rows: Columns as `ROW`; all that come before any row that will be handed in later.
            groups: Holds the groups.

        Returns:
            Columns as `WINDOW`, one table per value of a query.
        """
        closed: dict[tuple[int, int], list[tuple[GroupName, ClosedWindows]]] = {}
        for name, group_rows in _by_group(rows):
            series = self._series.get(name[:2])
            if series is None:
                continue
            written = groups.get(name)
            before = None if written is None else CountedGroup.from_bytes(written)
            closed_windows, after = counted(series.windows, before, group_rows)
            groups.put(name, after.to_bytes())
            if len(closed_windows):
                closed.setdefault(name[:2], []).append((name, closed_windows))
        return self._as_tables(closed)

    def last_windows(self, groups: Groups) -> Iterator[pd.DataFrame]:
        """Return the windows of all groups that have begun and are not full, at the end of the input.

        Args:
            groups: Holds the groups.
        """
        closed: dict[tuple[int, int], list[tuple[GroupName, ClosedWindows]]] = {}
        for name in groups.names():
            series, written = self._series.get(name[:2]), groups.get(name)
            if series is None or written is None:
                continue
            closed_windows, after = counted(series.windows, CountedGroup.from_bytes(written), NO_ROWS, is_last=True)
            if len(closed_windows):
                groups.put(name, after.to_bytes())
                closed.setdefault(name[:2], []).append((name, closed_windows))
        return self._as_tables(closed)

    def _as_tables(
        self, closed: Mapping[tuple[int, int], list[tuple[GroupName, ClosedWindows]]]
    ) -> Iterator[pd.DataFrame]:
        for key, of_groups in closed.items():
            counts = [len(found) for _, found in of_groups]
            columns: dict[str, object] = {
                column: np.repeat(np.array([name[place] for name, _ in of_groups], kind), counts)
                for place, (column, kind) in enumerate(zip(GROUP, _GROUP_KINDS, strict=True))
            }
            starts = np.concatenate([found.starts for _, found in of_groups])
            columns["window_from"] = starts
            columns["window_until"] = starts + self._series[key].windows.size
            columns |= figures(self._series[key], [found for _, found in of_groups])
            yield pd.DataFrame(columns)[list(WINDOW)]


def _by_group(rows: pd.DataFrame) -> Iterator[tuple[GroupName, ValueRows]]:
    """The rows of each group in order of time; ties are in order of the column `tie`."""
    if rows.empty:
        return
    ordered = rows.sort_values([*GROUP, "time", "tie"], kind="stable", ignore_index=True)
    is_new = np.zeros(len(ordered), np.bool_)
    is_new[0] = True
    for column in GROUP:
        values = ordered[column].to_numpy()
        is_new[1:] |= values[1:] != values[:-1]
    starts = np.flatnonzero(is_new)
    texts: list[str | None] = [text if isinstance(text, str) else None for text in ordered["text"]]
    is_present = ordered["is_present"].to_numpy(np.bool_)
    numbers, longs = ordered["number"].to_numpy(np.float64), ordered["long"].to_numpy(np.int64)
    names = zip(*(ordered[column].to_numpy()[starts].tolist() for column in GROUP), strict=True)
    ends = [*starts[1:].tolist(), len(ordered)]
    for name, start, end in zip(names, starts.tolist(), ends, strict=True):
        positions = slice(start, end)
        yield name, ValueRows(is_present[positions], numbers[positions], longs[positions], tuple(texts[positions]))
