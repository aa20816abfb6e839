"""Networks that are started over a topic with a backlog, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.workplace import Workplace, bench_session
from streamshed_bench.topics.cold_process import MODULE, ColdSettings
from streamshed_bench.topics.cold_run import ColdRun, ColdRuns, ended_run
from streamshed_bench.topics.local_broker import connector_jars, local_broker, make_topic
from streamshed_bench.topics.own_process import OwnProcess
from streamshed_bench.topics.start_sizes import StartSizes
from streamshed_bench.topics.topic_feed import PARTITIONS, TopicFeed, sender, staged_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def topic_runs(
    place: Workplace, trace: Trace, runs: ColdRuns, sizes: StartSizes, progress: Callable[[str, float], None]
) -> tuple[list[ColdRun], dict[Key, float]]:
    """Send to a broker, and start a network when rows have come for as long as the backlog is to be; several times.

    Args:
        place: Where to work.
        trace: The packets that are repeated.
        runs: Those over folders.
        sizes: How much is run.
        progress: Told what is being done, and the share that is done.

    Returns:
        What each left, and the exact answers.

    Raises:
        SourceUnavailableError: No broker can be started.
        UnfinishedBenchmarkError: A network ends early, or is too slow.
    """
    progress("staging for a topic", 0.0)
    seconds = sizes.backlog_seconds + sizes.fed_seconds
    typed = runs.staged(seconds, rows_per_second=sizes.topic_rows_per_second, file_seconds=sizes.file_seconds)
    exact = runs.exact(typed)
    records = staged_records(
        trace,
        place.new("records"),
        rows_per_second=sizes.topic_rows_per_second / sizes.event_speed,
        event_seconds=seconds * sizes.event_speed,
        file_seconds=sizes.file_seconds * sizes.event_speed,
        progress=lambda share: progress("staging for a topic", 0.1 * share),
    )
    left = []
    with ExitStack() as stack:
        jars = connector_jars()
        broker = stack.enter_context(local_broker(place.new("broker")))
        spark = stack.enter_context(bench_session("start", options={"spark.jars": jars}))
        for number in range(sizes.rounds):
            progress(f"start {number + 1} of {sizes.rounds} over a topic", 0.1 + 0.9 * number / sizes.rounds)
            settings = ColdSettings(
                folder=str(place.new("process")),
                servers=broker.servers,
                topic=f"packets_{number}",
                known_hosts=str(runs.known_hosts),
                jars=jars,
                trigger_seconds=sizes.trigger_seconds,
                latency_seconds=sizes.latency_seconds,
                headroom=HEADROOM,
            )
            left.append(_started(spark, records, settings, sizes))
    return left, exact


def _started(spark: SparkSession, records: StagedFeed, settings: ColdSettings, sizes: StartSizes) -> ColdRun:
    make_topic(spark, settings.servers, settings.topic, PARTITIONS)
    feed = TopicFeed(records.files, sizes.file_seconds, sender(spark, settings.servers, settings.topic))
    began, _ = feed.play(sizes.backlog_seconds)
    runner, launched = OwnProcess(settings, MODULE), time.time()
    try:
        runner.start()
        feed.play(sizes.fed_seconds)
        return ended_run(runner, settings, feed.sent, began_seconds=began, launched_seconds=launched)
    finally:
        runner.end()
