"""What the tasks tell that read the rows of a stream themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamshed.columnar.block_spread import BlockSpread


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What tasks tell of a stream, all together.

    Attributes:
        spread: How much neighboring blocks of its files differ.
        read_seconds: How long tasks took to read its rows, and to choose those that are admitted.
        work_seconds: How long they took to sum these up.
        left_rows: How many of these they left to Spark.
    """

    spread: BlockSpread = field(default_factory=BlockSpread)
    read_seconds: float = 0.0
    work_seconds: float = 0.0
    left_rows: int = 0

    def __add__(self, other: TaskReport) -> TaskReport:
        return TaskReport(
            self.spread + other.spread,
            self.read_seconds + other.read_seconds,
            self.work_seconds + other.work_seconds,
            self.left_rows + other.left_rows,
        )


TaskReports = dict[str, TaskReport]
"""By stream."""
