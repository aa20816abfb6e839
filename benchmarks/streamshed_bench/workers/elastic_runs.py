"""Runs of the benchmark `elastic`: each controller on a cluster of its own application, under the same load."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.course import Course, CourseMoment
from streamshed.traces.aligned_start import aligned_start
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.workers.elastic_network import feed_rows, waiting_network
from streamshed_bench.workers.elastic_sizes import GOAL_TRIGGERS, MOST_WORKERS, PARTITIONS, WAYS, ElasticSizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.spark import Run

WARM_MICRO_BATCHES = 3
PATIENCE_SECONDS = 240.0
EARLY_SECONDS = 0.3
_FIXED_SECONDS = 0.8
READ_SHARE = 0.01

CLUSTER_OPTIONS = {
    # Executors compute next to nothing, and all start on the same cores: what they need to start is what holds up.
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # A file is a task.
    "spark.sql.files.openCostInBytes": str(2**27),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WayRun:
    """What became of one way.

    Args:
        course: From the first fed trigger interval on.
        replaced: Workers that were lost on the way.
        rows: The journal's rows, for details.
    """

    course: Course
    replaced: int
    rows: list[dict[str, Any]]


def elastic_settings(sizes: ElasticSizes, controller: str) -> ElasticSettings:
    """Return what every way is asked, but for its controller."""
    return ElasticSettings(
        limits=WorkerLimits(least=1, most=MOST_WORKERS),
        start_seconds=sizes.start_seconds,
        held_up_seconds=sizes.held_up_seconds,
        rescale_price_seconds=sizes.rescale_price_seconds,
        add_after_seconds=sizes.lasting_seconds / 2,
        release_after_seconds=sizes.lasting_seconds,
        look_ahead_seconds=sizes.lasting_seconds,
        controller=controller,
    )


def started(
    spark: SparkSession, folder: Path, sizes: ElasticSizes, elastic: ElasticSettings, *, sheds: bool = True
) -> tuple[Run, Path]:
    """Start the network over a folder that is watched; returns both."""
    from streamshed.spark import noop_sink

    watched = folder / "watched"
    watched.mkdir(parents=True)
    running = waiting_network(watched, sizes).start(
        spark,
        checkpoint=str(folder / "checkpoint"),
        sink=noop_sink(),
        trigger=f"{sizes.trigger_seconds} seconds",
        latency=f"{GOAL_TRIGGERS * sizes.trigger_seconds} seconds",
        prior=LoadPrior(fixed_seconds=_FIXED_SECONDS, seconds_per_row=sizes.seconds_per_row, read_share=READ_SHARE),
        partitions=PARTITIONS,
        advisory=not sheds,
        elastic=elastic,
    )
    return running, watched


def run_way(
    spark: SparkSession, folder: Path, sizes: ElasticSizes, way: str, *, progress: Callable[[float], None]
) -> WayRun:
    """Feed the load steps to a network under one way of deciding.

    Raises:
        UnfinishedBenchmarkError: It does not get through the warm-up, or stops.
    """
    controller, sheds = WAYS[way]
    running, watched = started(spark, folder, sizes, elastic_settings(sizes, controller), sheds=sheds)
    with running:
        warm = warmed(running, watched, sizes)
        start = _fed(running, watched, sizes, warm, progress)
    rows = rows_since(running, start)
    course = course_of(rows, start_seconds=start, trigger_seconds=float(sizes.trigger_seconds))
    return WayRun(course=course, replaced=int(rows[-1]["workers_replaced"]), rows=rows)


def rows_since(running: Run, start_seconds: float) -> list[dict[str, Any]]:
    """Return the journal's rows from the first fed trigger interval on."""
    journal = running.journal()
    rows = journal[journal.started_at_seconds >= start_seconds - EARLY_SECONDS].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def warmed(running: Run, watched: Path, sizes: ElasticSizes) -> int:
    """Feed next to nothing until the first few micro-batches are through; returns how many trigger intervals it was.

    Whatever came while they compile would be a backlog, and the first load a larger one.
    """
    feed_rows(watched, sizes, first=0, load=0.0, place=os.rename)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while running.status().micro_batch_id < WARM_MICRO_BATCHES:
        if running.await_termination(0.2) or time.monotonic() > deadline:
            raise UnfinishedBenchmarkError("elastic: the first micro-batches do not end: is the machine busy?")
    return 1


def _fed(running: Run, watched: Path, sizes: ElasticSizes, first: int, progress: Callable[[float], None]) -> float:
    """Feed the load steps, each trigger interval shortly before it ends; returns when the first one ended."""
    start = aligned_start(time.time() + sizes.trigger_seconds, sizes.trigger_seconds)
    for number, load in enumerate(sizes.loads):
        due = start + number * sizes.trigger_seconds - EARLY_SECONDS
        if running.await_termination(max(0.01, due - time.time())):
            raise UnfinishedBenchmarkError("elastic: the network has stopped")
        feed_rows(watched, sizes, first=first + number, load=load, place=os.rename)
        progress((number + 1) / sizes.triggers)
    running.await_termination(float(sizes.trigger_seconds))
    last = running.status().micro_batch_id + 1
    deadline = time.monotonic() + PATIENCE_SECONDS
    while running.status().micro_batch_id < last and time.monotonic() < deadline:
        running.await_termination(0.2)
    return start


def course_of(rows: list[dict[str, Any]], *, start_seconds: float, trigger_seconds: float) -> Course:
    """Read a run's journal as the course of a simulation, from a moment on."""
    moments = [_moment(row, start_seconds) for row in rows if row["workers_running"] == row["workers_running"]]
    if not moments:
        raise UnfinishedBenchmarkError("elastic: no micro-batch was finished under load")
    last = moments[-1]
    return Course(
        moments=moments,
        queries=[],
        failures=0,
        end_seconds=last.started_at_seconds + max(last.processing_seconds, trigger_seconds),
        latency_goal_seconds=GOAL_TRIGGERS * trigger_seconds,
    )


def _moment(row: Mapping[str, Any], start_seconds: float) -> CourseMoment:
    rates = dict(row["effective_sampling_rates"]).values()
    running, starting = int(row["workers_running"]), int(row["workers_starting"])
    # What is planned in advisory mode is not done.
    shed = 0.0 if row["advisory"] else 1 - sum(rates) / max(1, len(rates))
    return CourseMoment(
        started_at_seconds=row["started_at_seconds"] - start_seconds,
        offered_rows=int(row["offered_rows"]),
        shed_share=shed if rates else 0.0,
        worst_error=0.0 if row["advisory"] else max(dict(row["expected_errors"]).values(), default=0.0),
        latency_seconds=row["delay_seconds"],
        processing_seconds=row["processing_seconds"],
        running=running,
        committed=running + starting,
        wanted=int(row["workers_wanted"]),
        scaling_reason=row["scaling_reason"],
        scaling_explanation=row["scaling_explanation"],
        offered_utilization=row["offered_utilization"],
        admitted_utilization=row["admitted_utilization"],
        fixed_utilization=0.0,
        demand=0.0,
        saturated=row["reason"] == "saturated",
    )
