"""Feeding a folder in the foreground, with a progress bar."""

import time
from collections.abc import Callable
from pathlib import Path

from streamshed.cli.terminal.progress_bar import progress_of
from streamshed.network.words.wording import count_text, seconds_text
from streamshed.traces.feeder import Feeder, FeedReport
from streamshed.traces.staged_feed import StagedFeed


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
