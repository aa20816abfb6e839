"""Events of Nexmark as files of Parquet, a folder for each stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamshed_bench.nexmark.events import EventSpan, events

SIDE_INPUT_ROWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedEvents:
    """Files that follow one another in event time.

    Args:
        files: By stream, a file for each span of events.
        rows: By stream, rows of each file.
        side_input: The file of the bounded side input.
    """

    files: Mapping[str, tuple[Path, ...]]
    rows: Mapping[str, int]
    side_input: Path

    def rows_of(self, streams: Sequence[str], files: int) -> int:
        """Count the rows of so many files of some streams."""
        return files * sum(self.rows[stream] for stream in streams)


def staged_events(
    folder: Path, spans: Sequence[EventSpan], streams: Sequence[str], progress: Callable[[float], None]
) -> StagedEvents:
    """Write events into files.

    Args:
        folder: A new one.
        spans: The events of each file; all of them as many.
        streams: Which of their streams.
        progress: Told the share that is done.
    """
    files: dict[str, list[Path]] = {stream: [] for stream in streams}
    rows: dict[str, int] = {}
    for number, span in enumerate(spans):
        for stream in streams:
            table = events(span, stream)
            path = folder / stream / f"{number:05d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            files[stream].append(path)
            rows[stream] = table.num_rows
        progress((number + 1) / len(spans))
    side_input = folder / "side_input.parquet"
    keys = range(SIDE_INPUT_ROWS)
    pq.write_table(pa.table({"key": keys, "value": [f"value of {key}" for key in keys]}), side_input)
    return StagedEvents(
        files={stream: tuple(paths) for stream, paths in files.items()}, rows=rows, side_input=side_input
    )


def spans_in_row(count: int, events_each: int, *, start_microseconds: int, seed: int) -> tuple[EventSpan, ...]:
    """Return so many spans, each beginning where the one before ends."""
    return tuple(
        EventSpan(first=number * events_each, count=events_each, start_microseconds=start_microseconds, seed=seed)
        for number in range(count)
    )
