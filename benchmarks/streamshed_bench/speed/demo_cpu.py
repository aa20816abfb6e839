"""CPU time that the demo's nine queries take for a row, parsing its JSON text included."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.cli.demo.calibration import FilePlacer
from streamshed.cli.demo.demo_packets import DemoPackets, make_packets
from streamshed.cli.demo.workload import demo_network
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, stage
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.cpu_time import CpuMeter, CpuSeconds, cpu_meter
from streamshed_bench.runs.turnstile import Turnstile, dropped_in_turn
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.spark import Run

ROWS = 500_000
"""Rows of a micro-batch."""

_FILES = 10
_EVENT_ROWS_PER_SECOND = 200_000
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoSizes:
    """How much is measured.

    Args:
        warm_up: Micro-batches that do not count.
        micro_batches: Those that do.
    """

    warm_up: int
    micro_batches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRun:
    """What was seen of the demo's network.

    Args:
        cpu: CPU seconds of the micro-batches that count, together; None: the system does not tell.
        rows: Rows of the micro-batches, in order, those to warm up included, but for the last.
    """

    cpu: CpuSeconds | None
    rows: tuple[int, ...]


def microseconds_per_row(cpu: CpuSeconds, micro_batches: int) -> dict[str, float]:
    """Return the CPU time of a row of so many micro-batches, by who used it.

    Example:
        >>> microseconds_per_row(CpuSeconds(java=2.0, driver=0.5, workers=1.5), micro_batches=4)
        {'Java': 1.0, 'driver': 0.25, 'workers': 0.75}
    """
    rows = micro_batches * ROWS
    used = {"Java": cpu.java, "driver": cpu.driver, "workers": cpu.workers}
    return {name: seconds / rows * 1e6 for name, seconds in used.items()}


def demo_cpu(
    spark: SparkSession, place: Workplace, sizes: DemoSizes, *, seed: int, progress: Callable[[str, float], None]
) -> DemoRun:
    """Run the demo's network over its records, nothing shed, and see what CPU the micro-batches that count use.

    Each micro-batch has the rows of ten files, which come while the query is held back.

    Args:
        spark: The session, in whose Java and below which everything runs.
        place: Where to work.
        sizes: How much is measured.
        seed: Equal seeds give equal packets.
        progress: Told what is being done, and which share of it is done.

    Raises:
        StuckQueryError: The query did not go on.
        UnfinishedBenchmarkError: A micro-batch did not have the rows of its ten files.
    """
    folder = place.new("demo")
    folder.mkdir()
    packets = make_packets(folder, seed=seed)
    placer = _staged(packets, sizes, lambda share: progress("staging the demo's packets", 0.2 * share))
    with ExitStack() as stack:
        # A new run reads files in pieces while some wait: so the first micro-batch has one, and none waits behind it.
        placer.place(1)
        run, turnstile = _started(stack, packets, spark, place)
        turnstile.first(timeout_seconds=_TIMEOUT_SECONDS)

        def ran(micro_batches: int, step: str, begin: float, end: float) -> CpuMeter | None:
            for number in range(micro_batches):
                progress(step, begin + (end - begin) * number / micro_batches)
                placer.place(ROWS)
                turnstile.turn(timeout_seconds=_TIMEOUT_SECONDS)
            return cpu_meter(os.getpid())

        before = ran(sizes.warm_up - 1, "warming up the demo's queries", 0.2, 0.6)
        after = ran(sizes.micro_batches, "the demo's queries", 0.6, 1.0)
        rows = tuple(int(rows) for rows in run.journal()["offered_rows"])
    check_rows(rows)
    return DemoRun(cpu=None if before is None or after is None else after.since(before), rows=rows)


def check_rows(rows: Sequence[int]) -> None:
    """Make sure that all micro-batches but the first have `ROWS` rows: by them CPU time is divided.

    Raises:
        UnfinishedBenchmarkError: One has not.

    Example:
        >>> check_rows([50_000, ROWS, ROWS])
        >>> check_rows([50_000, ROWS, 100_000])
        Traceback (most recent call last):
        ...
        streamshed_bench.errors.UnfinishedBenchmarkError: micro-batch 2 of the demo had 100000 rows, not 500000
    """
    for number, of_micro_batch in enumerate(rows[1:], 1):
        if of_micro_batch != ROWS:
            raise UnfinishedBenchmarkError(f"micro-batch {number} of the demo had {of_micro_batch} rows, not {ROWS}")


def _staged(packets: DemoPackets, sizes: DemoSizes, progress: Callable[[float], None]) -> FilePlacer:
    """Write the packets as records into files, so many to a micro-batch."""
    watched = _watched(packets)
    interval = ROWS // _FILES * 1_000_000 // _EVENT_ROWS_PER_SECOND
    feed = stage(
        packets.trace,
        constant_load(interval * _FILES * (sizes.warm_up + sizes.micro_batches)),
        rows_per_second=_EVENT_ROWS_PER_SECOND,
        watched=watched,
        options=StagingOptions(
            shape=KafkaShape(topic="packets", key="src_host", partitions=4), interval_microseconds=interval, workers=2
        ),
        progress=lambda done: progress(done.files / done.files_in_total),
    )
    return FilePlacer(feed, watched)


def _started(stack: ExitStack, packets: DemoPackets, spark: SparkSession, place: Workplace) -> tuple[Run, Turnstile]:
    from streamshed.spark import each_micro_batch, start

    turnstile = Turnstile()
    run = start(
        demo_network(_watched(packets), packets.hosts),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=each_micro_batch(dropped_in_turn(turnstile)),
        trigger="10 milliseconds",
        advisory=True,
    )
    stack.callback(run.stop)
    stack.callback(turnstile.open)
    return run, turnstile


def _watched(packets: DemoPackets) -> Path:
    return packets.watched("packets")
