"""A network that is started over a feed in a process of its own, and what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamshed.traces.feeder import Feeder
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.runs.fed_run import START_MICROSECONDS
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.topics.cold_process import MODULE, ColdNotes, ColdSettings, notes_of
from streamshed_bench.topics.own_process import OwnProcess
from streamshed_bench.topics.start_figures import sent_files
from streamshed_bench.topics.start_sizes import StartSizes
from streamshed_bench.topics.topic_feed import Sent

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdRun:
    """What a network left that ran in a process of its own.

    Attributes:
        began_seconds: When its feed began, seconds since the epoch.
        sent: Which rows came when.
        launched_seconds: When its process did.
        fed_seconds: When its feed ended.
        journal: Rows of its journal.
        notes: What it noted.
    """

    began_seconds: float
    sent: Sent
    launched_seconds: float
    fed_seconds: float
    journal: Sequence[Mapping[str, Any]]
    notes: ColdNotes


class ColdRuns:
    """Runs the seven queries over folders.

    Args:
        place: Where to work.
        trace: The packets that are repeated.
        sizes: How much is run.
    """

    def __init__(self, place: Workplace, trace: Trace, sizes: StartSizes) -> None:
        self._place, self._trace, self._sizes = place, trace, sizes
        self.known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")
        """The file of the stored relation."""

    def staged(self, seconds: float, *, rows_per_second: float, file_seconds: float) -> StagedFeed:
        """Write the typed packets of a feed into files.

        Args:
            seconds: How long it takes, of the clock.
            rows_per_second: Of the clock.
            file_seconds: How much of that makes a file.
        """
        sizes, folder = self._sizes, self._place.new("feed")
        return stage(
            self._trace,
            constant_load(round(seconds * sizes.event_speed * 1_000_000)),
            rows_per_second=rows_per_second / sizes.event_speed,
            watched=folder / "watched",
            options=StagingOptions(
                interval_microseconds=round(file_seconds * sizes.event_speed * 1_000_000),
                start_microseconds=START_MICROSECONDS,
                folder=folder / "staged",
                workers=2,
            ),
        )

    def exact(self, feed: StagedFeed) -> dict[Key, float]:
        """Return the exact answers of the windows that end within a feed."""
        oracle = DuckDB(os.cpu_count() or 2)
        try:
            return oracle.answers([file.path for file in feed.files], SEVEN_QUERIES, self.known_hosts)
        finally:
            oracle.close()

    def with_backlog(self, feed: StagedFeed, progress: Callable[[float], None]) -> ColdRun:
        """Start a process when files have come for as long as the backlog is to be, and feed it on.

        Args:
            feed: Its first files, as many as the backlog has, have come already; the others come when they are due.
            progress: Told the share that has come.

        Raises:
            UnfinishedBenchmarkError: It ends early, or is too slow.
        """
        sizes = self._sizes
        settings = self._settings(sizes.trigger_seconds, sizes.latency_seconds)
        runner = OwnProcess(settings, MODULE)
        began = time.time() - sizes.backlog_seconds
        feeder = self._feeder(feed, settings, began)
        waiting = sum(file.due_seconds <= sizes.backlog_seconds * sizes.event_speed for file in feed.files)
        feeder.start()
        while feeder.report.files < waiting:
            feeder.join(_POLL_SECONDS)
        launched = time.time()
        try:
            runner.start()
            return self._fed(runner, feeder, feed, settings, progress, began=began, launched=launched)
        finally:
            runner.end()

    def with_short_trigger(self, feed: StagedFeed, progress: Callable[[float], None]) -> ColdRun:
        """Start a process with a short trigger, and feed it once it runs.

        Args:
            feed: The files.
            progress: Told the share that has come.

        Raises:
            UnfinishedBenchmarkError: It ends early, or is too slow.
        """
        trigger = self._sizes.short_trigger_seconds
        settings = self._settings(trigger, 2 * trigger)
        runner = OwnProcess(settings, MODULE)
        launched = time.time()
        try:
            runner.start()
            runner.await_start()
            began = time.time()
            feeder = self._feeder(feed, settings, began)
            feeder.start()
            return self._fed(runner, feeder, feed, settings, progress, began=began, launched=launched)
        finally:
            runner.end()

    def _settings(self, trigger_seconds: float, latency_seconds: float) -> ColdSettings:
        watched = self._place.new("watched")
        watched.mkdir()
        return ColdSettings(
            folder=str(self._place.new("process")),
            servers="",
            topic="",
            known_hosts=str(self.known_hosts),
            jars="",
            trigger_seconds=trigger_seconds,
            latency_seconds=latency_seconds,
            headroom=HEADROOM,
            watched=str(watched),
        )

    def _feeder(self, feed: StagedFeed, settings: ColdSettings, began_seconds: float) -> Feeder:
        watched = Path(settings.watched or "")
        return Feeder(feed, watched, speed=self._sizes.event_speed, start_seconds=began_seconds, place=os.link)

    def _fed(
        self,
        runner: OwnProcess,
        feeder: Feeder,
        feed: StagedFeed,
        settings: ColdSettings,
        progress: Callable[[float], None],
        *,
        began: float,
        launched: float,
    ) -> ColdRun:
        """Wait until all rows have come and were taken, and all windows are answered."""
        while not feeder.join(_POLL_SECONDS).finished:
            progress(feeder.report.files / len(feed.files))
            runner.journal()  # of a process that has ended it tells why
        sent = sent_files(feed.files, began_seconds=began, speed=self._sizes.event_speed)
        return ended_run(runner, settings, sent, began_seconds=began, launched_seconds=launched)


def ended_run(
    runner: OwnProcess, settings: ColdSettings, sent: Sent, *, began_seconds: float, launched_seconds: float
) -> ColdRun:
    """Wait, now that all rows have come, until they were taken and all windows are answered.

    Args:
        runner: The process.
        settings: What it runs.
        sent: Which rows came when.
        began_seconds: When the first did, seconds since the epoch.
        launched_seconds: When the process began.

    Raises:
        UnfinishedBenchmarkError: That takes too long, or the process has ended.
    """
    fed_seconds = time.time()
    runner.await_rows(sent.total)
    runner.end()
    return ColdRun(
        began_seconds=began_seconds,
        sent=sent,
        launched_seconds=launched_seconds,
        fed_seconds=fed_seconds,
        journal=runner.journal(),
        notes=notes_of(Path(settings.folder)),
    )
