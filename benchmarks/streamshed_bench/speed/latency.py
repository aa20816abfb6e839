"""Benchmark `latency`: how long a micro-batch of few rows takes, where the time goes, and how much CPU it uses."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.small_files import SMALL_NETWORKS, write_small_files
from streamshed_bench.runs.cpu_time import CpuMeter, CpuSeconds, cpu_meter
from streamshed_bench.runs.event_log import EVENT_LOG, PARTS, MicroBatchCourse, courses
from streamshed_bench.runs.pictures import draw_latency
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = 500
_PATIENCE_SECONDS = 120.0
_POLL_SECONDS = 0.02
_LOG_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySizes:
    """How much is measured.

    Args:
        rounds: How often each network runs, in turn with the others.
        warm_up: Micro-batches of a run that do not count.
        micro_batches: Those that do.
        left_out: What the full benchmark measures beyond this.
    """

    rounds: int
    warm_up: int
    micro_batches: int
    left_out: tuple[str, ...] = ()


FULL = LatencySizes(rounds=3, warm_up=20, micro_batches=60)
QUICK = LatencySizes(
    rounds=1,
    warm_up=8,
    micro_batches=12,
    left_out=(
        "2 of 3 rounds",
        "48 of 60 micro-batches of each, and 12 of 20 to warm up: Java still compiles while these are measured",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRun:
    """The micro-batches of one run that count.

    Args:
        courses: Where their time went.
        cpu: What each used on average; None: the system does not tell.
    """

    courses: tuple[MicroBatchCourse, ...]
    cpu: CpuSeconds | None


def run(options: BenchOptions) -> BenchResult:
    """Measure micro-batches of 500 rows.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: The machine is too slow, or too busy.
    """
    sizes = QUICK if options.quick else FULL
    runs: dict[str, list[SmallRun]] = {name: [] for name in SMALL_NETWORKS}
    with workplace() as place:
        events = place.new("events")
        events.mkdir()
        left, right = place.new("left"), place.new("right")
        for seed, folder in enumerate((left, right), 2 * options.seed):
            write_small_files(folder, files=sizes.warm_up + sizes.micro_batches, rows=_ROWS, seed=seed)
        log = {**EVENT_LOG, "spark.eventLog.dir": events.as_uri()}
        with bench_session("latency", options=log) as spark:
            for turn, name in enumerate(_turns(sizes.rounds)):
                options.progress(name, turn / (len(SMALL_NETWORKS) * sizes.rounds))
                runs[name].append(_measured(SMALL_NETWORKS[name](left, right), spark, place, events, sizes))
    return BenchResult(
        figures=figures_of(runs),
        details=_details(runs, sizes),
        picture=partial(draw_latency, parts=_parts(runs), times=_times(runs)),
    )


def figures_of(runs: Mapping[str, Sequence[SmallRun]]) -> dict[str, float]:
    """Condense runs into the benchmark's figures; those of CPU are left out where the system does not tell it.

    Args:
        runs: By network.
    """
    figures: dict[str, float] = {}
    for name, times in _times(runs).items():
        figures[f"{name}_p50_seconds"] = statistics.median(times)
        figures[f"{name}_p95_seconds"] = sorted(times)[math.ceil(0.95 * len(times)) - 1]
        figures[f"{name}_jobs"] = statistics.fmean(one.jobs for one in _courses(runs[name]))
        usages = [run.cpu for run in runs[name] if run.cpu is not None]
        if usages:
            figures[f"{name}_cpu_seconds"] = statistics.fmean(cpu.total for cpu in usages)
            figures[f"{name}_python_cpu_seconds"] = statistics.fmean(cpu.driver + cpu.workers for cpu in usages)
    return figures


def _turns(rounds: int) -> list[str]:
    """The networks in turn; every second round runs backwards."""
    names = list(SMALL_NETWORKS)
    return [name for number in range(rounds) for name in (names if number % 2 == 0 else reversed(names))]


def _measured(
    network: QueryNetwork, spark: SparkSession, place: Workplace, events: Path, sizes: LatencySizes
) -> SmallRun:
    from streamshed.spark import noop_sink, start

    deadline = time.monotonic() + _PATIENCE_SECONDS
    last = sizes.warm_up + sizes.micro_batches - 1
    with start(
        network,
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=noop_sink(),
        trigger="10 milliseconds",
        advisory=True,
    ) as running:

        def ran(micro_batch_id: int) -> CpuMeter | None:
            while running.status().micro_batch_id < micro_batch_id:
                if time.monotonic() > deadline:
                    raise UnfinishedBenchmarkError(
                        f"{micro_batch_id + 1} micro-batches were not through within {_PATIENCE_SECONDS:g} seconds"
                    )
                running.await_termination(_POLL_SECONDS)
            return cpu_meter(os.getpid())

        before, after = ran(sizes.warm_up - 1), ran(last)
        query_id = str(spark.streams.active[0].id)
    time.sleep(_LOG_SECONDS)  # Spark writes its log a little later
    counted = [one for one in courses(events, query_id) if sizes.warm_up <= one.micro_batch_id <= last]
    cpu = None if before is None or after is None else after.since(before).per(sizes.micro_batches)
    return SmallRun(courses=tuple(counted), cpu=cpu)


def _times(runs: Mapping[str, Sequence[SmallRun]]) -> dict[str, list[float]]:
    """Seconds of the micro-batches, by network."""
    return {name: [one.trigger / 1000 for one in _courses(runs_of_network)] for name, runs_of_network in runs.items()}


def _parts(runs: Mapping[str, Sequence[SmallRun]]) -> dict[str, dict[str, float]]:
    """Median seconds of their parts, by network."""
    return {
        name: {part: statistics.median(one.parts[part] for one in _courses(runs_of_network)) / 1000 for part in PARTS}
        for name, runs_of_network in runs.items()
    }


def _courses(runs: Sequence[SmallRun]) -> list[MicroBatchCourse]:
    return [course for run in runs for course in run.courses]


def _details(runs: Mapping[str, Sequence[SmallRun]], sizes: LatencySizes) -> dict[str, object]:
    return {
        "rows_per_micro_batch": _ROWS,
        "warm_up": sizes.warm_up,
        "micro_batches": sizes.micro_batches,
        "rounds": sizes.rounds,
        "parts_seconds": _parts(runs),
        "networks": {name: _details_of(runs_of_network) for name, runs_of_network in runs.items()},
        "left_out": list(sizes.left_out),
    }


def _details_of(runs: Sequence[SmallRun]) -> dict[str, object]:
    """Medians over micro-batches, the CPU of each run, and how long each micro-batch took."""
    counted = _courses(runs)
    kinds = dict.fromkeys(kind for one in counted for kind in one.durations)
    stages = max(len(one.stages) for one in counted)
    return {
        "durations_milliseconds": {
            kind: statistics.median(one.durations.get(kind, 0.0) for one in counted) for kind in kinds
        },
        "stages_milliseconds": [
            statistics.median((*one.stages, *[0.0] * stages)[number] for one in counted) for number in range(stages)
        ],
        "tasks": statistics.median(one.tasks for one in counted),
        "task_cpu_milliseconds": statistics.median(one.task_cpu for one in counted),
        "cpu_seconds": [
            {"java": run.cpu.java, "driver": run.cpu.driver, "workers": run.cpu.workers}
            for run in runs
            if run.cpu is not None
        ],
        "trigger_milliseconds": [[one.trigger for one in run.courses] for run in runs],
    }
