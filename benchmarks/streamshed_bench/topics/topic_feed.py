"""Records that are sent to a topic in real time, and when each was sent."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, StagingProgress, stage
from streamshed.traces.staged_feed import StagedFeed, StagedFile
from streamshed.traces.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 4
_SHAPE = KafkaShape(topic="packets", key="src_host", partitions=PARTITIONS)
_START_MICROSECONDS = 1_735_689_600_000_000

Send = Callable[[Path, int], None]
"""Sends the records of a staged file, so many copies of each."""


def staged_records(
    trace: Trace,
    folder: Path,
    *,
    rows_per_second: float,
    event_seconds: float,
    file_seconds: float,
    progress: Callable[[float], None],
) -> StagedFeed:
    """Write packets as records with JSON text into files, before they are sent.

    Args:
        trace: What is repeated.
        folder: Where they are put.
        rows_per_second: Per second of event time.
        event_seconds: How much event time there is.
        file_seconds: Event time of a file.
        progress: Told the share that is done.
    """

    def report(done: StagingProgress) -> None:
        progress(done.files / done.files_in_total)

    return stage(
        trace,
        constant_load(round(event_seconds * 1_000_000)),
        rows_per_second=rows_per_second,
        watched=folder / "watched",
        options=StagingOptions(
            shape=_SHAPE,
            interval_microseconds=round(file_seconds * 1_000_000),
            start_microseconds=_START_MICROSECONDS,
            folder=folder / "staged",
            workers=2,
        ),
        progress=report,
    )


def sender(spark: SparkSession, servers: str, topic: str) -> Send:
    """Return what sends files by Spark's own sink, in the order of their rows.

    Args:
        spark: A session with the connector.
        servers: The broker.
        topic: The topic.
    """
    from pyspark.sql import functions as F

    def send(file: Path, copies: int) -> None:
        copy = F.explode(F.sequence(F.lit(1), F.lit(copies)))
        rows = spark.read.parquet(str(file)).select("key", "value", "partition", copy.alias("copy")).drop("copy")
        writer = rows.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", servers)
        writer.option("topic", topic).save()

    return send


@dataclass
class Sent:
    """Which rows were sent when.

    Attributes:
        rows: How many were sent with each file and all before it.
        at_seconds: When each file began to be sent, seconds since the epoch.
    """

    rows: list[int] = field(default_factory=list)
    at_seconds: list[float] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Rows that were sent."""
        return self.rows[-1] if self.rows else 0

    def add(self, rows: int, at_seconds: float) -> None:
        """Take in that a file was sent."""
        self.rows.append(self.total + rows)
        self.at_seconds.append(at_seconds)

    def when(self, row: int) -> float:
        """Return when a row was sent, by its number.

        Example:
            >>> sent = Sent([100, 150], [10.0, 11.0])
            >>> sent.when(99), sent.when(100)
            (10.0, 11.0)
        """
        return self.at_seconds[min(bisect_right(self.rows, row), len(self.rows) - 1)]


class TopicFeed:
    """Sends staged files when they are due, the next ones each time that it is asked.

    Args:
        files: Those files, in order.
        file_seconds: Seconds of the clock from one to the next.
        send: Sends one.
        clock: Seconds since the epoch.
        sleep: Waits for seconds.
    """

    def __init__(
        self,
        files: Sequence[StagedFile],
        file_seconds: float,
        send: Send,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._files, self._file_seconds, self._send = list(files), file_seconds, send
        self._clock, self._sleep = clock, sleep
        self.sent = Sent()
        """What was sent so far."""

    def play(self, seconds: float, *, copies: int = 1) -> tuple[float, float]:
        """Send for some time, each file at the end of its own; one that is late is sent at once.

        Args:
            seconds: For how long.
            copies: How many copies of each row: so many times the load.

        Returns:
            When it began and when it ended, seconds since the epoch.
        """
        began = self._clock()
        for number in range(1, round(seconds / self._file_seconds) + 1):
            self._sleep(max(0.0, began + number * self._file_seconds - self._clock()))
            file = self._files.pop(0)
            at = self._clock()
            self._send(file.path, copies)
            self.sent.add(file.rows * copies, at)
        return began, self._clock()
