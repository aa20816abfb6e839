"""Running the demo's network under its load, with a live view."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.cli.demo.exact_answers import CollectedAnswers
from streamshed.cli.demo.load import BURST_FACTOR, DemoLoad
from streamshed.cli.demo.patience import patience, waiting_until
from streamshed.cli.terminal.consoles import message_console
from streamshed.cli.terminal.failure import RunFailedError, failure_text
from streamshed.dashboard.views import LogView, TerminalView, View
from streamshed.dashboard.watch import watch
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.words.wording import count_text
from streamshed.statistics.network_statistics import NetworkStatistics
from streamshed.traces.aligned_start import aligned_start
from streamshed.traces.feeder import Feeder

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    from streamshed.cli.demo.answers import Answer, Gap
    from streamshed.dashboard.run_history import RunHistory
    from streamshed.network.model.network import QueryNetwork
    from streamshed.spark.run import Run
    from streamshed.traces.staged_feed import StagedFeed


@dataclass(frozen=True, kw_only=True, eq=False)
class BurstRun:
    """What became of the run.

    Args:
        journal: One row per micro-batch.
        answers: All answers.
        gaps: The windows that were dropped.
        start_seconds: When the feed started, seconds since 1970.
        event_start_seconds: The event time of that moment.
        drained: Whether all windows were answered.
        network: The network.
        statistics: What had been learned of the network by then.
    """

    journal: pd.DataFrame
    answers: list[Answer]
    gaps: list[Gap]
    start_seconds: float
    event_start_seconds: float
    drained: bool
    network: QueryNetwork
    statistics: NetworkStatistics


def run_burst(
    network: QueryNetwork,
    spark: SparkSession,
    feed: StagedFeed,
    load: DemoLoad,
    *,
    prior: LoadPrior,
    seconds_left: Callable[[], float],
    watched: Path,
    checkpoint: Path,
) -> BurstRun:
    """Feed the load while the network runs, which begins with what calibration measured, then answer what is open.

    Args:
        network: The network.
        spark: The session.
        feed: What was staged.
        load: The load.
        prior: What calibration measured.
        seconds_left: Tells until when all of this has to be over.
        watched: The folder that is fed.
        checkpoint: A new folder.

    Raises:
        RunFailedError: The run failed.
    """
    collected = CollectedAnswers()
    event_start = feed.start_microseconds / 1e6
    trigger = f"{load.trigger_seconds} seconds"
    run = network.start(spark, checkpoint=str(checkpoint), sink=collected, trigger=trigger, prior=prior)
    with run, _view() as view:
        start = aligned_start(max(event_start, time.time()), load.trigger_seconds)
        waits = patience(seconds_left() - (start - time.time()) - load.duration_seconds)
        feeder = Feeder(feed, watched, start_seconds=start)
        history = _fed_through(feeder, run, view, feed, load, start, catch_up_seconds=waits.catch_up_seconds)
        if run.exception is not None:
            raise RunFailedError(failure_text(run.exception)) from run.exception
        view.show(history, note="the load is over: answering the windows that are open")
        drained = run.drain(waits.drain_seconds)
    return BurstRun(
        journal=run.journal(),
        answers=collected.answers,
        gaps=collected.gaps,
        start_seconds=start,
        event_start_seconds=event_start,
        drained=drained,
        network=network,
        statistics=run.statistics(),
    )


def _fed_through(
    feeder: Feeder, run: Run, view: View, feed: StagedFeed, load: DemoLoad, start: float, *, catch_up_seconds: float
) -> RunHistory:
    """Feed the load and show the run, until all rows are taken or the run is too far behind."""
    wait = waiting_until(start + load.duration_seconds + catch_up_seconds)

    def note(_history: RunHistory) -> str:
        return _phase(load, time.time() - start)

    def everything_is_taken(history: RunHistory) -> bool:
        return feeder.report.finished and history.offered_rows >= feed.rows

    feeder.start()
    try:
        history = watch(run, view, wait=wait, note=note, until=everything_is_taken)
    finally:
        feeder.stop()
    feeder.join()
    return history


def _view() -> View:
    console = message_console()
    return TerminalView(console, "a burst of packets") if console.is_terminal else LogView(console)


def _phase(load: DemoLoad, elapsed: float) -> str:
    begin, end = load.burst_seconds
    if elapsed < 0:
        return "waiting for the feed to begin"
    fed = f"{count_text(load.factor_at(elapsed) * load.rows_per_second)} rows/s are fed"
    if elapsed < begin:
        return f"1×: {fed}, which is comfortable"
    if elapsed < end:
        return f"{BURST_FACTOR}×: {fed}, more than this machine sustains"
    return f"1× again: {fed}"
