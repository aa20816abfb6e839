"""Into how many tasks the files of a micro-batch are cut, changed while a query runs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Mapping
from typing import Protocol

from pyspark.sql import SparkSession

FILE_PARTS = "spark.sql.files.minPartitionNum"
OPEN_COST = "spark.sql.files.openCostInBytes"

PARTS_PER_CORE, MOST_PARTS_PER_CORE = 4, 16
"""Into so many tasks per core the files of a micro-batch are cut where windows are dropped, and at most.

Spark lays files into tasks in their order, so that those of some minutes are in one of them: where windows are kept for
some minutes and dropped for others, one core would do all the work.
"""

_WORKED_ON_PER_CORE = 2
"""So many of these tasks, per core, are to have work: of few rows that are worked on, each task has few."""

_REMEMBERED = 8

LEAST_PIECE_BYTES = 64 * 1024
"""A task reads so much of a file at least; Spark's own least is 4 MiB, as much as many a micro-batch has."""


class InputCut:
    """Settings of a session by which files are cut into tasks; Spark looks at them anew with every micro-batch.

    They are those of the session that reads the files. Where it says itself how many tasks there are to be, that holds.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._before = {name: spark.conf.get(name, None) for name in (FILE_PARTS, OPEN_COST)}
        self._lock = threading.Lock()
        self._pieces_by_reason: dict[str, int] = {}
        self._pieces: int | None = None

    def cut(self, pieces: int, why: str) -> None:
        """Let files be cut into so many tasks from the next micro-batch on, as far as they can be.

        Args:
            pieces: How many there are to be; 0: as many as Spark cuts them into by itself.
            why: For which reason; of several the finest cut holds.
        """
        with self._lock:
            self._pieces_by_reason[why] = pieces
            pieces = max(self._pieces_by_reason.values())
            if pieces == 0:
                self._restore()
            elif self._before[FILE_PARTS] is None and pieces != self._pieces:
                self._spark.conf.set(FILE_PARTS, str(pieces))
                self._spark.conf.set(OPEN_COST, str(LEAST_PIECE_BYTES))
                self._pieces = pieces

    def restore(self) -> None:
        """Put the session's own settings back."""
        with self._lock:
            self._restore()

    def _restore(self) -> None:
        if self._pieces is None:
            return
        for name, setting in self._before.items():
            if setting is None:
                self._spark.conf.unset(name)
            else:
                self._spark.conf.set(name, setting)
        self._pieces = None


def parts_per_core(worked_on_share: float) -> int:
    """Return into how many tasks per core files are cut of which some rows, which lie together, are worked on.

    None of their own where all are: a task takes a hundredth of a second besides.

    Args:
        worked_on_share: The share.

    Example:
        >>> [parts_per_core(share) for share in (1.0, 0.99, 0.5, 0.3, 0.12, 0.0)]
        [0, 4, 4, 8, 16, 16]
    """
    if worked_on_share >= 1:
        return 0
    parts = PARTS_PER_CORE
    while parts < MOST_PARTS_PER_CORE and parts * worked_on_share < _WORKED_ON_PER_CORE:
        parts *= 2
    return parts


class FileCutter(Protocol):
    """What cuts files into tasks; `InputCut` is one."""

    def cut(self, pieces: int, why: str) -> None:
        """Let files be cut into so many tasks, at least, from the next micro-batch on, and say why."""


class WindowPieces:
    """Cuts files the finer, the fewer of their rows are worked on, once windows are dropped.

    Where windows are dropped by group, rows that are worked on lie everywhere: files are left as they are.

    Args:
        source: What is cut.
        tasks: How many can run at a time.
        by_group: The streams whose windows are dropped by group.
    """

    def __init__(self, source: FileCutter, tasks: int, by_group: Collection[str] = ()) -> None:
        self._source, self._tasks, self._by_group = source, tasks, by_group
        self._latest: deque[tuple[float, int, int | None]] = deque(maxlen=_REMEMBERED)

    def tell(self, offered_rows: Mapping[str, int], row_shares: Mapping[str, float], pieces: int | None = None) -> None:
        """Take in which share of its rows a micro-batch works on; the next one is cut for what the latest had.

        Args:
            offered_rows: By stream.
            row_shares: By stream, the share of them that is worked on; of others all are.
            pieces: Into how many pieces its files can be cut at most: a task that has none of them only costs time.
                None: into any number.
        """
        offered = sum(offered_rows.values())
        if offered:
            shares = {stream: share for stream, share in row_shares.items() if stream not in self._by_group}
            worked_on = sum(count * shares.get(stream, 1.0) for stream, count in offered_rows.items())
            self._latest.append((worked_on, offered, pieces))
            self._cut()

    def _cut(self) -> None:
        worked_on, offered, most = zip(*self._latest, strict=True)
        pieces = parts_per_core(sum(worked_on) / sum(offered)) * self._tasks
        divisible = [count for count in most if count is not None]
        if len(divisible) == len(most):
            pieces = min(pieces, max(divisible))
        self._source.cut(pieces, "windows are dropped")
