"""Feeding a burst of packets, the same files to one contestant after the other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from streamshed.traces.aligned_start import aligned_start
from streamshed.traces.feeder import Feeder
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, StagingProgress, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.runs.burst_sizes import BurstSizes

_SHAPE = KafkaShape(topic="packets", key="src_host", partitions=4)
_START_MICROSECONDS = 1_735_689_600_000_000
_POLL_SECONDS = 0.2


def stage_burst(
    trace: Trace, folder: Path, sizes: BurstSizes, *, rows_per_second: float, progress: Callable[[float], None]
) -> StagedFeed:
    """Write the burst's packets as records with JSON text.

    Args:
        trace: What is repeated.
        folder: Where it is staged, below the workplace.
        sizes: How long it takes.
        rows_per_second: Rows per second of the clock at 1x.
        progress: Told the share that is done.
    """
    options = StagingOptions(
        shape=_SHAPE,
        interval_microseconds=round(sizes.file_seconds * sizes.event_speed * 1_000_000),
        start_microseconds=_START_MICROSECONDS,
        folder=folder / "staged",
        workers=2,
    )
    return stage(
        trace,
        sizes.profile,
        rows_per_second=rows_per_second / sizes.event_speed,
        watched=folder / "watched",
        options=options,
        progress=_share(progress),
    )


def stage_calibration(
    trace: Trace, folder: Path, sizes: BurstSizes, *, progress: Callable[[float], None]
) -> tuple[Path, ...]:
    """Write records of the same kind, a fixed number per file, to calibrate with; returns the files."""
    interval = round(sizes.file_seconds * sizes.event_speed * 1_000_000)
    feed = stage(
        trace,
        constant_load(interval * sizes.calibration_file_count),
        rows_per_second=sizes.calibration_rows_per_file / (interval / 1e6),
        watched=folder / "watched",
        options=StagingOptions(
            shape=_SHAPE,
            interval_microseconds=interval,
            start_microseconds=_START_MICROSECONDS,
            folder=folder / "staged",
            workers=2,
        ),
        progress=_share(progress),
    )
    return tuple(file.path for file in feed.files)


def feeder_of(feed: StagedFeed, watched: Path, sizes: BurstSizes) -> tuple[Feeder, float]:
    """Return what feeds the burst, and when it starts: soon, and shortly before a micro-batch does."""
    start = aligned_start(time.time() + 1.0, sizes.trigger_seconds)
    return Feeder(feed, watched, speed=sizes.event_speed, start_seconds=start, place=os.link), start


def feed_out(
    feeder: Feeder,
    *,
    files: int,
    trailing_seconds: float,
    progress: Callable[[float], None],
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Feed everything, and wait for the trigger after it: plain Spark is behind and has no better end to await.

    Args:
        feeder: What feeds; an error of its thread is raised here.
        files: How many it places.
        trailing_seconds: Until that trigger.
        progress: Told the share that is placed.
        sleep: Waits for seconds.
    """
    feeder.start()
    while not feeder.join(_POLL_SECONDS).finished:
        progress(feeder.report.files / files)
    sleep(trailing_seconds)


def event_seconds(feed: StagedFeed, clock_seconds: float, sizes: BurstSizes) -> float:
    """Return the event time of what is due so many seconds after the start of the feed, in seconds since 1970."""
    return feed.start_microseconds / 1e6 + clock_seconds * sizes.event_speed


def place_files(files: Sequence[Path], watched: Path, *, first: int) -> None:
    """Let files arrive in a watched folder at once, behind those that came before.

    Args:
        files: The files.
        watched: The folder.
        first: How many came before.
    """
    for number, file in enumerate(files, start=first):
        os.utime(file, ns=(number * 1_000_000_000, number * 1_000_000_000))
        os.link(file, watched / file.name)


def _share(progress: Callable[[float], None]) -> Callable[[StagingProgress], None]:
    return lambda done: progress(done.files / done.files_in_total)
