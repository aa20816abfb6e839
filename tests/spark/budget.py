"""How many streams the tests may start: what a streaming test costs is what its runs cost, whatever it asserts.

Each process that starts streams writes down where their checkpoints are; in the end these tell the micro-batches.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.readwriter import DataStreamWriter

FOLDER = "STREAMSHED_STREAMS_STARTED"
"""The environment variable that names the folder where starts are written down; without it nothing is counted."""


@dataclass(frozen=True)
class StreamCount:
    """Streams started, and micro-batches begun.

    Attributes:
        runs: Starts of streaming queries.
        micro_batches: Micro-batches that they began; one that is run again counts once.
    """

    runs: int
    micro_batches: int

    def exceeds(self, most: StreamCount) -> bool:
        """Whether there are more of either."""
        return self.runs > most.runs or self.micro_batches > most.micro_batches


MOST = StreamCount(runs=78, micro_batches=490)
"""What `make test` may start. Networks under a real control loop begin as many micro-batches as their time allows: on
quick machines some fifty more than on slow ones. Of a run that is drained, two micro-batches look for rows first.

Tables as streams take 3 runs and at most 10 micro-batches of these, for nothing else reads them so: one
run dies, one drains the four commits, and one ends at rows that were deleted. The kill loop takes 2 to 7 runs, as its
kill comes at another moment each time.
"""


def note_start(checkpoint: str) -> None:
    """Write down that a stream was started.

    Args:
        checkpoint: Where its checkpoint is: the folder that has `offsets`. Of one that lay ready, what has finished
            before does not count.
    """
    if folder := os.environ.get(FOLDER):
        with (Path(folder) / str(os.getpid())).open("a") as lines:
            lines.write(f"{_next_in(Path(checkpoint) / 'commits')} {checkpoint}\n")


def note_all_starts() -> None:
    """Let every start of a streaming query in this process be written down."""
    start = DataStreamWriter.start

    def noted(self: DataStreamWriter, *arguments: Any, **settings: Any) -> Any:
        query = start(self, *arguments, **settings)
        note_start(_checkpoint_of(query))
        return query

    DataStreamWriter.start = noted  # type: ignore[method-assign]


def _checkpoint_of(query: Any) -> str:
    location: str = query._jsq.streamingQuery().resolvedCheckpointRoot()  # noqa: SLF001 - Spark tells it to nobody
    return location.removeprefix("file://").removeprefix("file:")


def count_streams(folder: Path) -> StreamCount:
    """Count what was written down, and the micro-batches in the checkpoints."""
    starts = [line.split(" ", 1) for path in folder.iterdir() for line in path.read_text().splitlines()]
    first: dict[str, int] = {}
    for number, checkpoint in starts:
        first[checkpoint] = min(int(number), first.get(checkpoint, int(number)))
    begun = {checkpoint: _next_in(Path(checkpoint) / "offsets") for checkpoint in first}
    return StreamCount(len(starts), sum(max(0, begun[checkpoint] - first[checkpoint]) for checkpoint in first))


def _next_in(log: Path) -> int:
    """The number after the last one in a log of a checkpoint."""
    numbers = [int(path.name) for path in log.iterdir() if path.name.isdigit()] if log.is_dir() else []
    return max(numbers, default=-1) + 1
