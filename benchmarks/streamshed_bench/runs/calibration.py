"""Finding out what the machine sustains: cost per row with everything kept, and with nearly everything shed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.run.load_prior import LoadPrior
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.packet_input import stage_typed
from streamshed_bench.runs.burst_feed import place_files
from streamshed_bench.runs.burst_sizes import CALM_LOAD, HEADROOM
from streamshed_bench.runs.cost_fit import LinearCost, fit_cost
from streamshed_bench.runs.fixed_sampling import FixedSampling
from streamshed_bench.runs.micro_batches import MicroBatchTime
from streamshed_bench.runs.native import micro_batch_of
from streamshed_bench.runs.run_sizes import CalibrationSizes
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamshed.network.model.network import QueryNetwork
    from streamshed.traces.trace import Trace

Report = Callable[[], Sequence[MicroBatchTime]]
"""Returns the micro-batches with input that have finished."""

_NEARLY_NOTHING = 1e-6
_TRIGGER = "10 milliseconds"
_TIMEOUT_SECONDS = 300.0
_LEAST_SECONDS = 0.01
_LEAST_READ_SHARE = 0.01
"""Beside dear operators reading may be lost in the noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the machine sustains.

    Args:
        cost: Of micro-batches of which every row is kept.
        unsheddable: Of those of which nearly every row is shed: reading, and what a micro-batch costs anyway.
    """

    cost: LinearCost
    unsheddable: LinearCost

    def rows_per_second(self, trigger_seconds: float) -> float:
        """Rows per second that are sustained within the headroom, nothing shed.

        Raises:
            UnfinishedBenchmarkError: The fixed cost alone takes too long.
        """
        rows = self.cost.rows_within(HEADROOM * trigger_seconds)
        if rows < 1:
            raise UnfinishedBenchmarkError(
                f"a micro-batch costs {self.cost.fixed_seconds:.2f} s without any row, which is more than"
                f" {HEADROOM:g} of the trigger interval of {trigger_seconds:g} s: is the machine busy?"
            )
        return rows / trigger_seconds

    def calm_rows_per_second(self, trigger_seconds: float) -> float:
        """Rows per second at 1x."""
        return CALM_LOAD * self.rows_per_second(trigger_seconds)

    def prior(self, rows: float) -> LoadPrior:
        """What a control loop may believe from the start of micro-batches of about so many rows."""
        read_seconds = self.unsheddable.seconds(rows) - self.cost.fixed_seconds
        read_share = min(max(read_seconds / (self.cost.seconds(rows) - self.cost.fixed_seconds), 0.01), 0.99)
        return LoadPrior(
            fixed_seconds=max(self.cost.fixed_seconds, _LEAST_SECONDS),
            seconds_per_row=self.cost.seconds_per_row,
            read_share=read_share,
            is_measured=True,
        )

    def unsheddable_share(self, rows: float) -> float:
        """Share of the time of a micro-batch of so many rows that shedding cannot save."""
        return self.unsheddable.seconds(rows) / self.cost.seconds(rows)


def calibrated(
    spark: SparkSession,
    place: Workplace,
    sizes: CalibrationSizes,
    *,
    files: Sequence[Path],
    network_over: Callable[[Path], QueryNetwork],
    progress: Callable[[float], None],
) -> Capacity:
    """Measure what micro-batches of different sizes cost, warm.

    Args:
        spark: The session.
        place: Where to work.
        sizes: Sizes and numbers of the micro-batches.
        files: Staged rows.
        network_over: Returns the network over a folder that is watched.
        progress: Told the share that is done.
    """

    def network(watched: Path) -> QueryNetwork:
        watched.mkdir()
        return network_over(watched)

    watched = place.new("records")
    with _whole_run(network(watched), spark, place.new("checkpoint")) as report:
        cost = fit_cost(_fed(report, watched, files, sizes, lambda share: progress(0.6 * share)))
    watched = place.new("records")
    with _shed_run(network(watched), spark, place.new("checkpoint")) as report:
        nearly_all_shed = _fed(report, watched, files, sizes, lambda share: progress(0.6 + 0.4 * share))
        unsheddable = fit_cost(nearly_all_shed, least_seconds_per_row=_LEAST_READ_SHARE * cost.seconds_per_row)
    return Capacity(cost=cost, unsheddable=unsheddable)


def calibrated_on(
    trace: Trace,
    spark: SparkSession,
    place: Workplace,
    sizes: CalibrationSizes,
    *,
    network_over: Callable[[Path], QueryNetwork],
    progress: Callable[[str, float], None],
) -> Capacity:
    """Stage rows of a trace, and measure what micro-batches of them cost.

    Args:
        trace: What is repeated.
        spark: The session.
        place: Where to work.
        sizes: Sizes and numbers of the micro-batches.
        network_over: Returns the network over a folder that is watched.
        progress: Told what is done, and the share that is done.
    """
    files = stage_typed(
        trace,
        place.new("calibration"),
        files=sizes.calibration_file_count,
        rows_per_file=sizes.calibration_rows_per_file,
        progress=lambda share: progress("staging", _STAGING * share),
    )
    return calibrated(
        spark,
        place,
        sizes,
        files=files,
        network_over=network_over,
        progress=lambda share: progress("calibrating", _STAGING + (1 - _STAGING) * share),
    )


_STAGING = 0.15
"""The share of the time that staging takes."""


@contextmanager
def _whole_run(network: QueryNetwork, spark: SparkSession, checkpoint: Path) -> Iterator[Report]:
    from streamshed.spark import noop_sink, start

    with start(network, spark, checkpoint=str(checkpoint), sink=noop_sink(), trigger=_TRIGGER, advisory=True) as run:

        def report() -> Sequence[MicroBatchTime]:
            run.await_termination(0.02)
            journal = run.journal()
            if journal.empty:
                return ()
            columns = (journal[name] for name in ("offered_rows", "started_at_seconds", "processing_seconds"))
            return [
                MicroBatchTime(rows=int(rows), started_at_seconds=float(started), seconds=float(seconds))
                for rows, started, seconds in zip(*columns, strict=True)
                if rows > 0
            ]

        yield report


@contextmanager
def _shed_run(network: QueryNetwork, spark: SparkSession, checkpoint: Path) -> Iterator[Report]:
    from streamshed.spark import noop_sink
    from streamshed_bench.runs.fixed_plan import start_fixed

    query = start_fixed(
        network,
        spark,
        checkpoint=str(checkpoint),
        sink=noop_sink(),
        sampling=FixedSampling(_NEARLY_NOTHING),
        trigger=_TRIGGER,
    )

    def report() -> Sequence[MicroBatchTime]:
        query.awaitTermination(0.02)  # type: ignore[arg-type]
        micro_batches = [micro_batch_of(json.loads(progress.json)) for progress in query.recentProgress]
        return [
            replace(micro_batch, rows=micro_batch.rows - 1) for micro_batch in micro_batches if micro_batch.rows > 1
        ]

    try:
        yield report
    finally:
        query.stop()


def _fed(
    report: Report, watched: Path, files: Sequence[Path], sizes: CalibrationSizes, progress: Callable[[float], None]
) -> list[MicroBatchTime]:
    """Let a few files at a time arrive together; return the warm micro-batches."""
    turns = [sizes.calibration_files[0]] * sizes.calibration_warm_up
    warm_up_rows = sum(turns) * sizes.calibration_rows_per_file
    turns += list(sizes.calibration_files) * sizes.calibration_rounds
    placed = 0
    for count in turns:
        place_files(files[placed : placed + count], watched, first=placed)
        placed += count
        _await_rows(report, placed * sizes.calibration_rows_per_file)
        progress(placed / sizes.calibration_file_count)
    through = 0
    warm = []
    for micro_batch in report():
        if through >= warm_up_rows:
            warm.append(micro_batch)
        through += micro_batch.rows
    return warm


def _await_rows(report: Report, rows: int) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while (done := sum(one.rows for one in report())) < rows:
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"{done} of {rows} rows within {_TIMEOUT_SECONDS:g} seconds")
