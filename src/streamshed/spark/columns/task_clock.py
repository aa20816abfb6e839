"""How long a task takes to read rows, and to work on them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from operator import add
from typing import TypeVar

from pyspark.accumulators import Accumulator
from pyspark.sql import SparkSession

from streamshed.spark.common.gathered import gathered
from streamshed.statistics.task_report import TaskReports

_T = TypeVar("_T")


def new_task_reports(spark: SparkSession) -> Accumulator[TaskReports]:
    """Return what tasks tell of the streams that they read."""
    return gathered(spark, add)


class TaskClock:
    """Adds up how long it takes to bring the items of an iterator, without what is done with them.

    Attributes:
        seconds: How long it took.

    Example:
        >>> clock = TaskClock()
        >>> list(clock.timed(iter("abc"))), clock.seconds > 0
        (['a', 'b', 'c'], True)
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, items: Iterator[_T]) -> Iterator[_T]:
        """Yield the items."""
        while True:
            begun = time.perf_counter()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self.seconds += time.perf_counter() - begun
            yield item
