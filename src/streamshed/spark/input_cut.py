"""Into how many tasks the files of a micro-batch are cut, changed while a query runs."""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

FILE_PARTS = "spark.sql.files.minPartitionNum"
OPEN_COST = "spark.sql.files.openCostInBytes"

PARTS_PER_CORE = 4
"""Into so many tasks per core the files of a micro-batch are cut where windows are dropped.

Spark lays files into tasks in their order, so that those of some minutes are in one of them: where windows are kept for
some minutes and dropped for others, one core would do all the work.
"""

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
        self._pieces: int | None = None

    def cut(self, pieces: int) -> None:
        """Let files be cut into so many tasks from the next micro-batch on, as far as they can be."""
        with self._lock:
            if self._before[FILE_PARTS] is None and pieces != self._pieces:
                self._spark.conf.set(FILE_PARTS, str(pieces))
                self._spark.conf.set(OPEN_COST, str(LEAST_PIECE_BYTES))
                self._pieces = pieces

    def restore(self) -> None:
        """Put the session's own settings back."""
        with self._lock:
            if self._pieces is None:
                return
            for name, known in self._before.items():
                if known is None:
                    self._spark.conf.unset(name)
                else:
                    self._spark.conf.set(name, known)
            self._pieces = None
