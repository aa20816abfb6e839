"""A network fed at one load after the other, each a number of copies of the same files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed.traces.aligned_start import aligned_start
from streamshed.traces.feeder import Feeder
from streamshed.traces.staged_feed import StagedFeed
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.speed.goodput_figures import LoadedMicroBatch, LoadFigures, load_figures
from streamshed_bench.speed.goodput_sizes import GoodputSizes

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

LATENCY_SECONDS = 5
"""The latency goal."""

_PATIENCE_SECONDS = 180.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRun:
    """What a run through all loads left.

    Args:
        journal: Its journal.
        begun: When feeding began, seconds of the clock.
        sizes: Loads, and how long each lasts.
    """

    journal: pd.DataFrame
    begun: float
    sizes: GoodputSizes

    def span_seconds(self, load: float) -> tuple[float, float]:
        """Return from when to when micro-batches count at a load, seconds of the clock since feeding began."""
        since = self.sizes.loads.index(load) * self.sizes.load_seconds
        return since + self.sizes.settling * self.sizes.trigger_seconds, since + self.sizes.load_seconds

    def figures(self, load: float) -> LoadFigures | None:
        """Condense the micro-batches of a load that count; None where they are too few."""
        settled, until = self.span_seconds(load)
        # Rows of a trigger interval are read by the micro-batch that starts at its end.
        starts = self.journal["started_at_seconds"] - self.begun - self.sizes.trigger_seconds / 2
        counted = self.journal[(starts >= settled) & (starts <= until)]
        return load_figures(
            [
                LoadedMicroBatch(
                    started_at_seconds=row["started_at_seconds"],
                    offered_rows=int(row["offered_rows"]),
                    work_share=row["work_share"],
                    delay_seconds=row["delay_seconds"],
                    utilization=row["utilization"],
                )
                for _, row in counted.iterrows()
            ],
            goal_seconds=LATENCY_SECONDS,
        )


def run_at_loads(
    network_over: Callable[[Path], QueryNetwork],
    spark: SparkSession,
    place: Workplace,
    feed: StagedFeed,
    take: Callable[[DataFrame], None],
    *,
    sizes: GoodputSizes,
    capacity: Capacity,
    progress: Callable[[float], None],
) -> LoadedRun:
    """Run a network through all loads, to its last window.

    Args:
        network_over: The network, given the folder in which files appear.
        spark: The session.
        place: Where the folder and the checkpoint are made.
        feed: The files of all loads, each once.
        take: Told the answers of each micro-batch.
        sizes: Loads, and how long each lasts.
        capacity: What is known of costs when it begins.
        progress: Told the share that is fed.

    Raises:
        UnfinishedBenchmarkError: It ended early, or its last windows are not answered in time.
    """
    from streamshed.spark import each_micro_batch, start

    watched = place.new("watched")
    watched.mkdir()
    running = start(
        network_over(watched),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(lambda frame, _: take(frame)),
        trigger=f"{sizes.trigger_seconds} seconds",
        latency=f"{LATENCY_SECONDS} seconds",
        headroom=HEADROOM,
        prior=capacity.prior(capacity.rows_per_second(sizes.trigger_seconds) * sizes.trigger_seconds),
    )
    with running:
        while running.status().micro_batch_id < 0:
            running.await_termination(_POLL_SECONDS)
        begun = aligned_start(time.time() + 1.0, sizes.trigger_seconds)
        copies = {file.path.name: _copies(file.due_seconds, sizes) for file in feed.files}
        feeder = Feeder(feed, watched, speed=sizes.event_speed, start_seconds=begun, place=copying(copies))
        feeder.start()
        while not feeder.join(_POLL_SECONDS).finished:
            progress(feeder.report.files / len(feed.files))
            if not running.is_active:
                raise UnfinishedBenchmarkError(f"the run ended early: {running.exception}")
        running.await_termination(2.0 * sizes.trigger_seconds)
        if not running.drain(_PATIENCE_SECONDS):
            raise UnfinishedBenchmarkError(f"windows were still open {_PATIENCE_SECONDS:g} seconds after the feed")
        return LoadedRun(journal=running.journal(), begun=begun, sizes=sizes)


def copying(copies: Mapping[str, int]) -> Callable[[Path, Path], None]:
    """Return what places so many copies of a file, as links, by the file's name; any other once.

    Args:
        copies: How many, by name.
    """

    def place(staged: Path, target: Path) -> None:
        for number in range(copies.get(staged.name, 1)):
            os.link(staged, target if number == 0 else target.with_stem(f"{target.stem}-{number}"))

    return place


def _copies(due_seconds: float, sizes: GoodputSizes) -> int:
    """Of a file that is due at the end of its interval of event time."""
    return sizes.copies_at(due_seconds / sizes.event_speed - sizes.file_seconds / 2)
