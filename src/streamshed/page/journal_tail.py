"""The journals of a checkpoint, followed while a run writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streamshed.spark.checkpoint.storage import NETWORK_FILE, Storage

Row = Mapping[str, Any]
"""A row of the journal: see docs/journal.md."""

KEPT_ROWS = 1_000
"""So many of the latest rows of each clock are shown."""


class JournalTail:
    """Reads what is new in the journals of a checkpoint. One thread may read at a time.

    Args:
        checkpoint: Path or URI of the checkpoint, as `start` was given it.
    """

    def __init__(self, checkpoint: str) -> None:
        self._folder = Storage.reached(checkpoint)
        self._seen: dict[str, tuple[str, int]] = {}

    @property
    def clocks(self) -> list[str]:
        """Its time domains."""
        return [name for name in self._folder.folders() if self._segments(name)]

    def network(self) -> str | None:
        """Return the network that ran last, as JSON; None: the checkpoint does not tell."""
        return self._folder.read_text(NETWORK_FILE)

    def new_rows(self) -> list[Row]:
        """Return the rows that have come since the last call; at first the latest `KEPT_ROWS` of each clock."""
        return [row for clock in self.clocks for row in self._new_rows_of(clock)]

    def row(self, clock: str, micro_batch_id: int) -> Row | None:
        """Return the row of a micro-batch; None: it is not kept."""
        if clock not in self.clocks:
            return None
        rows = (row for segment in reversed(self._segments(clock)) for row in _rows(clock, self._lines(clock, segment)))
        return next((row for row in rows if row["micro_batch_id"] == micro_batch_id), None)

    def latest_rows(self, clock: str, seconds: float) -> list[Row]:
        """Return the rows of the last so many seconds before the latest micro-batch of a clock, oldest first."""
        if clock not in self.clocks:
            return []
        rows: list[Row] = []
        for segment in reversed(self._segments(clock)):
            rows = [*_rows(clock, self._lines(clock, segment)), *rows]
            if rows and rows[0]["started_at_seconds"] < rows[-1]["started_at_seconds"] - seconds:
                break
        return [row for row in rows if row["started_at_seconds"] >= rows[-1]["started_at_seconds"] - seconds]

    def _new_rows_of(self, clock: str) -> list[Row]:
        segment, seen_lines = self._seen.get(clock, ("", 0))
        rows: list[Row] = []
        for name in (name for name in self._segments(clock) if name >= segment):
            lines = self._lines(clock, name)
            # Rows may be large, and a segment has many: each is parsed once.
            rows += _rows(clock, lines[seen_lines if name == segment else 0 :])
            self._seen[clock] = name, len(lines)
        return rows[-KEPT_ROWS:]

    def _segments(self, clock: str) -> list[str]:
        return [name for name in self._folder.below(f"{clock}/journal").names() if name.endswith(".jsonl")]

    def _lines(self, clock: str, segment: str) -> list[str]:
        return self._folder.below(f"{clock}/journal").read_lines(segment)


def _rows(clock: str, lines: Iterable[str]) -> Iterator[Row]:
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:  # damaged: the journal says so itself when it is read
            continue
        if isinstance(row, dict) and "micro_batch_id" in row:
            yield {"clock": clock, **row}
