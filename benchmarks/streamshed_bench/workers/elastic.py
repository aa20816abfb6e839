"""Benchmark `elastic`: controllers of workers on a standalone cluster, under load steps 1, 3, 6, 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from streamshed.simulator.course import Course
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.runs.cluster_session import cluster_session
from streamshed_bench.runs.workplace import Workplace, workplace
from streamshed_bench.workers.elastic_calibration import calibration, calibration_figures, held_up_seconds
from streamshed_bench.workers.elastic_kills import KILLED_OF, KillsRun, run_kills
from streamshed_bench.workers.elastic_picture import draw_elastic
from streamshed_bench.workers.elastic_runs import CLUSTER_OPTIONS, WayRun, run_way
from streamshed_bench.workers.elastic_sizes import (
    CALM_DEMAND,
    EXECUTOR_MEMORY,
    FULL,
    GOAL_TRIGGERS,
    LOADS,
    MOST_WORKERS,
    PARTITIONS,
    QUICK,
    REHEARSAL_TRIGGERS,
    WORKER_MEMORY,
    ElasticSizes,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.spark.cluster.standalone_cluster import StandaloneCluster


def run(options: BenchOptions) -> BenchResult:
    """Run every controller on a cluster of its own application.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    sizes = QUICK if options.quick else FULL
    runs: dict[str, WayRun] = {}
    parts = ["rehearsal", *sizes.ways, "kills"]
    with workplace() as place:
        sizes = replace(sizes, held_up_seconds=_rehearsed(place, sizes, _share_of(options, "rehearsal", 0, len(parts))))
        for number, way in enumerate(sizes.ways, start=1):
            report_share = _share_of(options, way, number, len(parts))
            with _application(place, workers=MOST_WORKERS) as (_, spark):
                runs[way] = run_way(spark, place.new(way), sizes, way, progress=report_share)
        report_share = _share_of(options, "kills", len(parts) - 1, len(parts))
        with _application(place, workers=KILLED_OF + 1) as (cluster, spark):
            kills = run_kills(spark, cluster, place.new("kills"), sizes, report_share)
    courses = {way: way_run.course for way, way_run in runs.items()}
    simulations = {way: calibration(way_run.rows, sizes, way) for way, way_run in runs.items()}
    return BenchResult(
        figures=figures_of(courses) | kills.figures() | calibration_figures(simulations),
        details=_details(runs, sizes)
        | {"kills": _told_kills(kills), "simulated": {way: asdict(compared) for way, compared in simulations.items()}},
        picture=partial(draw_elastic, courses=courses, sizes=sizes),
    )


def _rehearsed(place: Workplace, sizes: ElasticSizes, progress: Callable[[float], None]) -> float:
    """Measure how long a rescale holds up work on this machine; every way starts with that knowledge."""
    with _application(place, workers=MOST_WORKERS) as (_, spark):
        short = replace(sizes, step_triggers=REHEARSAL_TRIGGERS)
        rehearsal = run_way(spark, place.new("rehearsal"), short, "predictive", progress=progress)
    return held_up_seconds(rehearsal.rows)


def _share_of(options: BenchOptions, part: str, number: int, count: int) -> Callable[[float], None]:
    """Return a function that reports the progress of one of several runs."""

    def report_share(share: float) -> None:
        options.progress(part, (number + share) / count)

    report_share(0.0)
    return report_share


@contextmanager
def _application(place: Workplace, *, workers: int) -> Iterator[tuple[StandaloneCluster, SparkSession]]:
    """A cluster of its own, and a session on it."""
    from streamshed.spark.cluster.java_process import start_quietly
    from streamshed.spark.cluster.standalone_cluster import standalone_cluster

    start_quietly(memory="1g")
    with standalone_cluster(place.new("cluster")) as cluster:
        for _ in range(workers):
            cluster.add_worker(memory=WORKER_MEMORY)
        spark = cluster_session(
            "elastic", cluster.url, memory="1g", executor_memory=EXECUTOR_MEMORY, options=CLUSTER_OPTIONS
        )
        try:
            yield cluster, spark
        finally:
            spark.stop()


def figures_of(courses: Mapping[str, Course]) -> dict[str, float]:
    """Condense runs into the benchmark's figures, by way of deciding.

    `predictive_dominates_thresholds` and `predictive_is_dominated` judge by time over the latency goal and rows shed.
    """
    figures: dict[str, float] = {}
    for way, course in courses.items():
        figures[f"{way}_time_over_latency_goal_seconds"] = course.time_over_latency_goal_seconds
        figures[f"{way}_rows_shed_share"] = course.rows_shed_share
        figures[f"{way}_rescales"] = float(len(course.rescales))
        figures[f"{way}_worker_hours"] = course.worker_hours
        figures[f"{way}_worst_delay_seconds"] = course.latency_seconds(1.0)
    ours = courses["predictive"]
    figures["predictive_dominates_thresholds"] = float(_dominates(ours, courses["thresholds"]))
    figures["predictive_is_dominated"] = float(
        any(_dominates(other, ours) for way, other in courses.items() if way != "predictive")
    )
    shedding = courses["shedding_only"].rows_shed_share
    figures["shed_ratio_to_shedding_only"] = ours.rows_shed_share / shedding if shedding > 0 else 1.0
    return figures


def _dominates(first: Course, second: Course) -> bool:
    """Whether the first course is no worse in both figures, and better in one."""
    ours, theirs = ((course.time_over_latency_goal_seconds, course.rows_shed_share) for course in (first, second))
    return ours[0] <= theirs[0] and ours[1] <= theirs[1] and ours != theirs


def _details(runs: Mapping[str, WayRun], sizes: ElasticSizes) -> dict[str, object]:
    return {
        "trigger_seconds": sizes.trigger_seconds,
        "latency_goal_seconds": GOAL_TRIGGERS * sizes.trigger_seconds,
        "loads": list(LOADS),
        "step_triggers": list(sizes.step_triggers),
        "demand_at_1x": CALM_DEMAND,
        "seconds_per_row": sizes.seconds_per_row,
        "held_up_seconds_in_rehearsal": sizes.held_up_seconds,
        "partitions": PARTITIONS,
        "most_workers": MOST_WORKERS,
        "replaced": {way: one.replaced for way, one in runs.items()},
        "micro_batches": {way: [_explanation(row) for row in one.rows] for way, one in runs.items()},
        "left_out": list(sizes.left_out),
    }


def _told_kills(kills: KillsRun) -> dict[str, object]:
    return {
        "killed": [{"what": kill.what, "at_seconds": kill.at_seconds} for kill in kills.kills],
        "micro_batches": [_explanation(row) for row in kills.rows],
    }


_TOLD = (
    "micro_batch_id",
    "started_at_seconds",
    "offered_rows",
    "reason",
    "sampling_rate",
    "expected_seconds",
    "processing_seconds",
    "delay_seconds",
    "mean_relative_error",
    "offered_utilization",
    "admitted_utilization",
    "workers_running",
    "workers_starting",
    "workers_wanted",
    "workers_replaced",
    "held_up_seconds",
    "skew",
    "scaling_reason",
    "scaling_explanation",
)


def _explanation(row: Mapping[str, object]) -> dict[str, object]:
    """The figures that explain a micro-batch; unknown ones are left out, as JSON has no numbers for them."""
    return {name: row[name] for name in _TOLD if row[name] == row[name]}
