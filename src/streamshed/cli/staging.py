"""Staging and feeding with a progress bar, and staging for a feed whose event times are the wall clock."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from streamshed.cli.terminal.progress_bar import ShowProgress, progress_of
from streamshed.network.words.wording import count_text, seconds_text
from streamshed.traces.feeder import Feeder, FeedReport
from streamshed.traces.load_profile import LoadProfile, constant_load
from streamshed.traces.stage import StagingOptions, StagingProgress, discard, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace

_SECOND = 1_000_000
_SAMPLE_ROWS = (20_000, 400_000)
_SAFETY = 1.25
_SPARE_SECONDS = 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class StagingJob:
    """All that staging needs to know."""

    trace: Trace
    profile: LoadProfile
    rows_per_second: float
    watched: Path
    options: StagingOptions

    @property
    def rows(self) -> int:
        """Rows that will be staged."""
        return self.profile.rows_until(self.profile.duration_microseconds, rows_per_second=self.rows_per_second)


def stage_with_progress(job: StagingJob, *, title: str = "staging") -> StagedFeed:
    """Stage, with a progress bar under a title."""
    with progress_of(title) as show:
        return _stage(job, show)


def stage_for_now(
    job: StagingJob,
    *,
    spare_seconds: float = _SPARE_SECONDS,
    align_microseconds: int = 1,
    clock: Callable[[], float] = time.time,
) -> StagedFeed:
    """Stage so that event times are the wall clock of a feed that starts when staging is done.

    How long staging will take is found out on two samples of different size.

    Args:
        job: What to stage; the start in its options is replaced.
        spare_seconds: How much later the feed is to start.
        align_microseconds: The start is a multiple of this.
        clock: Seconds since 1970.

    Returns:
        The feed. It should start at `start_microseconds`, a little in the future; where staging took longer
        than expected, that is past, and event times will be as much behind the clock.
    """
    with progress_of("staging") as show:
        show(0.0, "sampling")
        expected = expected_seconds(job, clock=clock) + spare_seconds
        start = math.ceil((clock() + expected) * _SECOND / align_microseconds) * align_microseconds
        return _stage(replace(job, options=replace(job.options, start_microseconds=start)), show)


def feed_with_progress(
    feed: StagedFeed,
    watched: Path,
    *,
    start_seconds: float | None = None,
    sleep: Callable[[float], object] | None = None,
    clock: Callable[[], float] = time.time,
) -> tuple[FeedReport, bool]:
    """Place all files when they are due; Ctrl-C ends the feed.

    Args:
        feed: What was staged.
        watched: The folder.
        start_seconds: When the feed starts, seconds since 1970; None: now.
        sleep: Waits for seconds; None waits for real.
        clock: Seconds since 1970.

    Returns:
        How far the feed came, and whether it was interrupted.
    """
    with progress_of("feeding") as show:

        def tell(report: FeedReport) -> None:
            late = f", {seconds_text(report.worst_lateness_seconds)} late at worst"
            words = f"{count_text(report.rows)} rows{late if report.worst_lateness_seconds >= 0.1 else ''}"
            show(report.files / len(feed.files), words)

        feeder = Feeder(feed, watched, start_seconds=start_seconds, sleep=sleep, clock=clock, on_file=tell)
        try:
            return feeder.run(), False
        except KeyboardInterrupt:
            return feeder.report, True


def expected_seconds(job: StagingJob, *, clock: Callable[[], float]) -> float:
    """Estimate from above how long a job will take, by doing two small parts of it.

    Formula: fixed + rows · (seconds₂ − seconds₁)/(rows₂ − rows₁), with a margin.
    """
    (few, few_seconds), (more, more_seconds) = (_timed(job, rows, clock) for rows in _SAMPLE_ROWS)
    per_row = max(0.0, more_seconds - few_seconds) / (more - few)
    return _SAFETY * (few_seconds + per_row * job.rows)


def _timed(job: StagingJob, rows: int, clock: Callable[[], float]) -> tuple[int, float]:
    microseconds = max(1, round(rows / job.rows_per_second * _SECOND))
    options = replace(job.options, interval_microseconds=max(1, microseconds // 4))
    sample = replace(job, profile=constant_load(microseconds), options=options)
    begin = clock()
    discard(_stage(sample, lambda _share, _words: None))
    return rows, clock() - begin


def _stage(job: StagingJob, show: ShowProgress) -> StagedFeed:
    def tell(done: StagingProgress) -> None:
        show(done.rows / max(1, done.rows_in_total), f"{count_text(done.rows)} rows")

    return stage(
        job.trace,
        job.profile,
        rows_per_second=job.rows_per_second,
        watched=job.watched,
        options=job.options,
        progress=tell,
    )
