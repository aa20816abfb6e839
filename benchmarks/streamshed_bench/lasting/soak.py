"""Benchmark `soak`: whether a run that goes on holds more and more, and what it leaves on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.lasting.held import Held, held_by_processes, left_on_disk
from streamshed_bench.lasting.soak_feed import SoakFeed, soak_network
from streamshed_bench.lasting.soak_figures import figures_of, left_after
from streamshed_bench.runs.pictures import draw_soak
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.spark.run import Run

_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakSizes:
    """How long a run goes on.

    Args:
        seconds: All of it.
        look_every_seconds: How often it is looked at.
        left_out: What the full benchmark measures beyond this.
    """

    seconds: float
    look_every_seconds: float
    left_out: tuple[str, ...] = ()


FULL = SoakSizes(seconds=3600.0, look_every_seconds=20.0)
QUICK = SoakSizes(
    seconds=150.0, look_every_seconds=5.0, left_out=("57 of 60 minutes: Java still grows to its size in these",)
)


def run(options: BenchOptions) -> BenchResult:
    """Let a network run at a trigger of a second, with keys that come and go, and look at it again and again.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: The run ended before its time.
    """
    sizes = QUICK if options.quick else FULL
    with workplace() as place:
        scratch = place.new("scratch")
        with bench_session("soak", options={"spark.local.dir": str(scratch)}) as spark:
            looks, rows = _soaked(spark, place, scratch, sizes, options)
    return BenchResult(
        figures=figures_of(looks),
        details={
            "rows": rows,
            f"left_after_{_DAYS}_days": left_after(looks, days=_DAYS),
            "looks": [asdict(look) for look in looks],
            "left_out": list(sizes.left_out),
        },
        picture=partial(
            draw_soak,
            minutes=[look.seconds / 60 for look in looks],
            amounts={name: [look.amounts[name] for look in looks] for name in looks[-1].amounts},
        ),
    )


def _soaked(
    spark: SparkSession, place: Workplace, scratch: Path, sizes: SoakSizes, options: BenchOptions
) -> tuple[list[Held], int]:
    from streamshed.spark import parquet_sink, start

    fed, checkpoint, answers = place.new("fed"), place.new("checkpoint"), place.new("answers")
    feed = SoakFeed(fed, options.seed)
    feed.start()
    sink = parquet_sink(str(answers))
    try:
        with start(soak_network(fed), spark, checkpoint=str(checkpoint), sink=sink, trigger="1 second") as running:
            folders = _folders(checkpoint) | {"scratch": scratch, "answers": answers}
            show = partial(options.progress, "the run goes on")
            looks = _looked_at(running, partial(_held, spark, folders), sizes, show)
    finally:
        feed.end()
    return looks, feed.rows


def _folders(checkpoint: Path) -> dict[str, Path]:
    clock = checkpoint / "time"
    parts = {
        "journal": clock / "journal",
        "plans": clock / "plans",
        "set_aside": clock / "set_aside",
        "state": clock / "spark" / "state",
        "source_logs": clock / "spark" / "sources",
    }
    return {"checkpoint": checkpoint, **parts}


def _held(spark: SparkSession, folders: Mapping[str, Path]) -> dict[str, float]:
    runtime = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]  # noqa: SLF001
    runtime.gc()
    heap = (runtime.totalMemory() - runtime.freeMemory()) / 1e6
    return {**held_by_processes(os.getpid()), "java_heap_megabytes": heap, **left_on_disk(folders)}


def _looked_at(
    running: Run, hold: Callable[[], Mapping[str, float]], sizes: SoakSizes, show: Callable[[float], None]
) -> list[Held]:
    began, looks = time.monotonic(), list[Held]()
    while (seconds := time.monotonic() - began) < sizes.seconds:
        status = running.status()
        looks.append(Held(seconds=seconds, micro_batch_id=status.micro_batch_id, amounts=hold()))
        show(seconds / sizes.seconds)
        if running.await_termination(sizes.look_every_seconds):
            raise UnfinishedBenchmarkError(f"the run ended after {seconds:.0f} of {sizes.seconds:.0f} seconds")
    return looks
