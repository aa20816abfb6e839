"""A network fed in real time at one load, to the last window that the rows close."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed.traces.aligned_start import aligned_start
from streamshed.traces.feeder import Feeder
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity
from streamshed_bench.runs.run_sizes import RunSizes
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from streamshed.spark import Run

START_MICROSECONDS = 1_735_689_600_000_000
"""Event time of the first row."""

_PATIENCE_SECONDS = 120.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class FedRun:
    """What a run left.

    Args:
        journal: Its journal, of the micro-batches with rows after the warm-up.
        time_ratios: Processing time ÷ trigger interval of these.
        since_microseconds: Event time of their first row.
    """

    journal: pd.DataFrame
    time_ratios: tuple[float, ...]
    since_microseconds: int


def staged_feed(trace: Trace, folder: Path, sizes: RunSizes, rows_per_second: float) -> StagedFeed:
    """Write the rows of a run into files, before it begins.

    Args:
        trace: What is repeated.
        folder: Where they are put.
        sizes: How long the run is fed.
        rows_per_second: At which load.
    """
    return stage(
        trace,
        constant_load(sizes.seconds * 1_000_000),
        rows_per_second=rows_per_second,
        watched=folder / "watched",
        options=StagingOptions(
            interval_microseconds=round(sizes.file_seconds * 1_000_000),
            start_microseconds=START_MICROSECONDS,
            folder=folder / "staged",
            workers=2,
        ),
    )


def run_fed(
    network_over: Callable[[Path], QueryNetwork],
    spark: SparkSession,
    place: Workplace,
    feed: StagedFeed,
    take: Callable[[DataFrame, int], None],
    *,
    sizes: RunSizes,
    capacity: Capacity,
    policy: str = DEFAULT_POLICY,
) -> FedRun:
    """Run a network over a feed, as a user runs it.

    Args:
        network_over: The network, given the folder in which files appear.
        spark: The session.
        place: Where the folder and the checkpoint are made.
        feed: The files, and when each appears.
        take: Told the answers of each micro-batch.
        sizes: How long it is fed.
        capacity: What is known of costs when it begins.
        policy: How it sheds.

    Returns:
        What the micro-batches that count were like.

    Raises:
        UnfinishedBenchmarkError: Its rows are not taken in time.
    """
    from streamshed.spark import each_micro_batch, start

    watched = place.new("rows")
    watched.mkdir()
    running = start(
        network_over(watched),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(take),
        trigger=f"{sizes.trigger_seconds} seconds",
        headroom=HEADROOM,
        policy=policy,
        prior=capacity.prior(feed.rows / sizes.seconds * sizes.trigger_seconds),
    )
    with running:
        while running.status().micro_batch_id < 0:
            running.await_termination(_POLL_SECONDS)
        begun = _feed_through(running, feed, watched, trigger_seconds=sizes.trigger_seconds)
        running.drain(_PATIENCE_SECONDS)
        journal = running.journal()
    counted = counted_micro_batches(journal, begun + sizes.warm_up_seconds)
    return FedRun(
        journal=counted,
        time_ratios=tuple((counted["processing_seconds"] / sizes.trigger_seconds).tolist()),
        since_microseconds=START_MICROSECONDS + first_row_after(journal, counted, feed.rows, sizes.seconds),
    )


def _feed_through(running: Run, feed: StagedFeed, watched: Path, *, trigger_seconds: float) -> float:
    """Feed all rows and wait until they are taken; return when feeding began."""
    begun = aligned_start(time.time() + 1.0, trigger_seconds)
    feeder = Feeder(feed, watched, speed=1.0, start_seconds=begun, place=os.link)
    feeder.start()
    while not feeder.join(_POLL_SECONDS).finished:
        pass
    await_rows(running, feed.rows)
    return begun


def counted_micro_batches(journal: pd.DataFrame, since_seconds: float) -> pd.DataFrame:
    """Return the micro-batches with rows that started from some time on.

    Args:
        journal: All of them, in order.
        since_seconds: Since when they count.
    """
    return journal[(journal["offered_rows"] > 0) & (journal["started_at_seconds"] >= since_seconds)]


def first_row_after(journal: pd.DataFrame, counted: pd.DataFrame, rows: int, seconds: float) -> int:
    """Return how long after the first row of a feed at a constant load the first one comes that counts, microseconds.

    Where micro-batches are late, rows that came before the end of the warm-up are in the first that counts.

    Args:
        journal: All micro-batches, in order.
        counted: Those that count.
        rows: Of the feed.
        seconds: How long it lasts.

    Example:
        >>> import pandas as pd
        >>> journal = pd.DataFrame({"offered_rows": [0, 30, 20, 50], "started_at_seconds": [0, 3, 5, 10]})
        >>> first_row_after(journal, counted_micro_batches(journal, 4), rows=100, seconds=10)
        3000000
    """
    before = journal.loc[: counted.index[0], "offered_rows"].iloc[:-1].sum() if len(counted) else rows
    return round(float(before) / rows * seconds * 1_000_000)


def await_rows(running: Run, rows: int) -> None:
    """Wait until every row was taken: what comes once the windows are being closed would be late, and missing.

    Raises:
        UnfinishedBenchmarkError: That takes too long.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (taken := int(running.journal()["offered_rows"].sum())) < rows:
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"{taken} of {rows} rows were taken within {_PATIENCE_SECONDS:g} seconds")
        running.await_termination(_POLL_SECONDS)
