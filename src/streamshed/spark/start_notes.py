"""What a start says to who watches it: a line at each step, and a bar, until the first micro-batch has finished.

It is said as records of logging. Where nobody has set up logging for streamshed, a terminal or a notebook shows them,
and a bar of tasks that are done: Spark compiles for ten seconds and more before the first answers come.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

from pyspark.sql import SparkSession

from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.wording import count_text, seconds_text
from streamshed.spark.loop.run_status import RunStatus

_log = logging.getLogger(__name__)

_BAR_WIDTH, _WORDS_WIDTH = 20, 24


class HasStatus(Protocol):
    """What tells its state, such as a time domain."""

    @property
    def status(self) -> RunStatus:
        """The state after the latest micro-batch."""


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """Tasks of the jobs that Spark runs.

    Attributes:
        finished: Those that are done.
        made: All that it has made.
    """

    finished: int
    made: int


def task_counts(spark: SparkSession) -> TaskCounts:
    """Count the tasks of the jobs that a session runs at present."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    infos = [stage for stage in stages if stage is not None]
    return TaskCounts(sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos))


def bar_text(counts: TaskCounts, seconds: float) -> str:
    """Return the bar as text of always the same width.

    Args:
        counts: Of tasks.
        seconds: Since the start.

    Example:
        >>> bar_text(TaskCounts(5, 20), 7.6)
        'streamshed: first micro-batch [#####               ]   5 of 20 tasks, 8 s   '
        >>> bar_text(TaskCounts(0, 0), 2.0)
        'streamshed: first micro-batch [                    ] planned by Spark, 2 s  '
    """
    done = 0 if counts.made == 0 else _BAR_WIDTH * counts.finished // counts.made
    words = f"{counts.finished:3} of {counts.made} tasks" if counts.made else "planned by Spark"
    return f"streamshed: first micro-batch [{'#' * done:{_BAR_WIDTH}}] {f'{words}, {seconds:.0f} s':{_WORDS_WIDTH}}"


class StartNotes:
    """Tells how far a start has come.

    Args:
        say: Takes each line; None: logging, and who watches.
        clock: Tells seconds, and never goes back.
        counts: Counts tasks.
        bar: Where the bar is drawn, over and over on one line; None: nowhere.

    Example:
        >>> from streamshed.network.model.network import network
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> seconds = iter([0.0, 1.5, 12.0])
        >>> notes = StartNotes(print, clock=lambda: next(seconds))
        >>> notes.begins(network(stream("ticks", rate(9), time="timestamp").query("all")))
        laying out 1 query over 1 stream
        >>> notes.waits()
        laid out in 1.5 s, waiting for the first micro-batch, which takes longest
        >>> class Domain:
        ...     status = RunStatus(clock="time", micro_batch_id=0, offered_rows=500, processing_seconds=9.0)
        >>> notes.look([Domain()])
        the first micro-batch has finished 12 s after the start: 500 rows in 9 s
        >>> notes.look([Domain()])
    """

    def __init__(
        self,
        say: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        counts: Callable[[], TaskCounts] = lambda: TaskCounts(0, 0),
        bar: TextIO | None = None,
    ) -> None:
        self._say, self._clock, self._counts, self._bar = say or _said, clock, counts, bar
        self._begun_at_seconds = clock()
        self._is_over = self._is_drawn = False

    @classmethod
    def of(cls, spark: SparkSession) -> StartNotes:
        """Return what tells of a start in a session, with a bar where somebody watches and nothing else moves."""
        shows_bar = _is_watched() and not hasattr(sys.stderr, "rich_proxied_file")
        return cls(counts=lambda: task_counts(spark), bar=sys.stderr if shows_bar else None)

    def begins(self, network: QueryNetwork) -> None:
        """Say that a network is laid out."""
        counts = [(len(network.queries), "query", "queries"), (len(network.streams), "stream", "streams")]
        queries, streams = (f"{count} {singular if count == 1 else plural}" for count, singular, plural in counts)
        self._say(f"laying out {queries} over {streams}")

    def waits(self) -> None:
        """Say that Spark has begun, and what is waited for."""
        took = seconds_text(self._clock() - self._begun_at_seconds)
        self._say(f"laid out in {took}, waiting for the first micro-batch, which takes longest")

    def look(self, domains: Sequence[HasStatus]) -> None:
        """Draw the bar, or say once that the first micro-batch has finished.

        Args:
            domains: The time domains; none: nothing runs any longer.
        """
        first = next((domain.status for domain in domains if domain.status.micro_batch_id >= 0), None)
        if self._is_over:
            return
        if domains and first is None:
            self._draw()
            return
        self._is_over = True
        self._clear()
        if first is not None:
            since_start = seconds_text(self._clock() - self._begun_at_seconds)
            rows, took = count_text(first.offered_rows), seconds_text(first.processing_seconds)
            self._say(f"the first micro-batch has finished {since_start} after the start: {rows} rows in {took}")

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.write(f"\r{bar_text(self._counts(), self._clock() - self._begun_at_seconds)}")
            self._bar.flush()
            self._is_drawn = True

    def _clear(self) -> None:
        if self._bar is not None and self._is_drawn:
            self._bar.write(f"\r{' ' * len(bar_text(TaskCounts(0, 0), 0.0))}\r")
            self._bar.flush()


def _said(text: str) -> None:
    _log.info("%s", text)
    if _is_watched():
        print(f"streamshed: {text}", file=sys.stderr, flush=True)  # noqa: T201 - for who watches


def _is_watched() -> bool:
    """Whether somebody sees what is written, and has not set up logging."""
    package = logging.getLogger("streamshed")
    is_set_up = package.level != logging.NOTSET or package.handlers or logging.getLogger().handlers
    return not is_set_up and ("ipykernel" in sys.modules or sys.stderr.isatty())
