"""Benchmark `burst`: packets as JSON text at 1x, 3x, 1x of what the machine sustains, beside plain Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.networks import PacketSource, packet_network, packet_records
from streamshed_bench.inputs.packet_input import packet_trace
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.burst_course import BurstCourse, Course
from streamshed_bench.runs.burst_feed import event_seconds, stage_burst, stage_calibration
from streamshed_bench.runs.burst_figures import (
    exact_windows,
    micro_batches_to_exact,
    percentile,
    windows_outside,
)
from streamshed_bench.runs.burst_sizes import (
    BURST_FACTOR,
    CALM_LOAD,
    CLUSTER_TRIGGER_SECONDS,
    FULL,
    HEADROOM,
    QUICK,
    BurstSizes,
)
from streamshed_bench.runs.calibration import Capacity, calibrated
from streamshed_bench.runs.pictures import draw_burst
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.speed.burst_runs import BurstRunner, OurBurst

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS, UNSHED, NATIVE = "ours", "ours, nothing shed", "plain Spark, slowest of seven queries"


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstOutcome:
    """What was measured.

    Args:
        capacity: What the machine sustains.
        feed: What was fed.
        ours: What our queries did with it.
        others: Delays over time of those beside ours.
    """

    capacity: Capacity
    feed: StagedFeed
    ours: OurBurst
    others: dict[str, Course]


def run(options: BenchOptions) -> BenchResult:
    """Measure a burst.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    sizes = QUICK if options.quick else FULL
    if options.cluster:
        sizes = replace(sizes, trigger_seconds=CLUSTER_TRIGGER_SECONDS)
    with workplace() as place:
        trace = packet_trace(options)
        with bench_session("burst", cluster=place.new("cluster") if options.cluster else None) as spark:
            outcome = _measured(spark, place, trace, sizes, options.progress)
    return BenchResult(
        figures=figures_of(outcome, sizes),
        details=_details(outcome, sizes),
        picture=partial(draw_burst, course=course_of(outcome, sizes)),
    )


def figures_of(outcome: BurstOutcome, sizes: BurstSizes) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures."""
    ours, trigger = outcome.ours, float(sizes.trigger_seconds)
    ratios = [one.time.seconds / trigger for one in ours.micro_batches]
    begin, end = (event_seconds(outcome.feed, instant, sizes) for instant in sizes.burst_seconds)
    outside = windows_outside(
        SEVEN_QUERIES,
        fed_seconds=(event_seconds(outcome.feed, 0.0, sizes), event_seconds(outcome.feed, sizes.seconds, sizes)),
        burst_seconds=(begin, end),
    )
    burst_rows = BURST_FACTOR * outcome.capacity.calm_rows_per_second(trigger) * trigger
    return {
        "p95_time_ratio": percentile(ratios, 0.95),
        "micro_batches": float(len(ratios)),
        "microbatches_to_exact": float(
            micro_batches_to_exact(
                ours.micro_batches,
                burst_end_seconds=ours.start_seconds + sizes.burst_seconds[1],
                trigger_seconds=trigger,
            )
        ),
        "exact_windows_outside_burst": float(exact_windows(ours.answers, outside)),
        "windows_outside_burst": float(len(outside)),
        "unsheddable_share": outcome.capacity.unsheddable_share(burst_rows),
        "least_sampling_rate": min(one.sampling_rate for one in ours.micro_batches),
        "rows_per_second_sustained": outcome.capacity.rows_per_second(trigger),
        "worst_delay_seconds": max(delay for _, delay in ours.delays),
        **{
            f"worst_delay_{name}_seconds": max(delay for _, delay in outcome.others[label])
            for name, label in (("unshed", UNSHED), ("native", NATIVE))
            if label in outcome.others
        },
    }


def _measured(
    spark: SparkSession,
    place: Workplace,
    trace: Trace,
    sizes: BurstSizes,
    progress: Callable[[str, float], None],
) -> BurstOutcome:
    known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")

    def step(name: str, since: float, until: float) -> Callable[[float], None]:
        return lambda share: progress(name, since + (until - since) * share)

    records = stage_calibration(trace, place.new("calibration"), sizes, progress=step("staging", 0.0, 0.05))
    capacity = calibrated(
        spark,
        place,
        sizes,
        files=records,
        network_over=lambda watched: packet_network(
            packet_records(PacketSource(watched=watched, known_hosts=known_hosts)), SEVEN_QUERIES, known_hosts
        ),
        progress=step("calibrating", 0.05, 0.3),
    )
    feed = stage_burst(
        trace,
        place.new("burst"),
        sizes,
        rows_per_second=capacity.calm_rows_per_second(sizes.trigger_seconds),
        progress=step("staging the burst", 0.3, 0.4),
    )
    rows = capacity.calm_rows_per_second(sizes.trigger_seconds) * sizes.trigger_seconds
    prior = capacity.prior(BURST_FACTOR * rows)
    runner = BurstRunner(spark, place, feed, known_hosts=known_hosts, sizes=sizes, prior=prior)
    ours = runner.ours(sheds=True, progress=step("ours", 0.4, 0.65))
    others = {}
    if sizes.runs_unshed:
        unshed = runner.ours(sheds=False, progress=step("ours, nothing shed", 0.65, 0.8))
        others[UNSHED] = unshed.delays
    others[NATIVE] = runner.native(progress=step("plain Spark", 0.8, 1.0))
    return BurstOutcome(capacity=capacity, feed=feed, ours=ours, others=others)


def course_of(outcome: BurstOutcome, sizes: BurstSizes) -> BurstCourse:
    """Put what was measured on a time axis, for the picture."""
    ours = outcome.ours
    sustained = outcome.capacity.rows_per_second(sizes.trigger_seconds)
    starts = [micro_batch.time.started_at_seconds - ours.start_seconds for micro_batch in ours.micro_batches]
    gaps = [later - earlier for earlier, later in zip([0.0, *starts], starts, strict=False)]
    return BurstCourse(
        delays={OURS: ours.delays, **outcome.others},
        sampling_rate=tuple(
            (start, micro_batch.sampling_rate) for start, micro_batch in zip(starts, ours.micro_batches, strict=True)
        ),
        load=tuple(
            (start, micro_batch.time.rows / max(gap, 0.001) / sustained)
            for start, gap, micro_batch in zip(starts, gaps, ours.micro_batches, strict=True)
        ),
        burst_seconds=sizes.burst_seconds,
    )


def _details(outcome: BurstOutcome, sizes: BurstSizes) -> dict[str, object]:
    capacity, ours = outcome.capacity, outcome.ours
    return {
        "trigger_seconds": sizes.trigger_seconds,
        "headroom": HEADROOM,
        "load_at_1x": CALM_LOAD,
        "burst_factor": BURST_FACTOR,
        "event_seconds_per_second": sizes.event_speed,
        "rows_fed": outcome.feed.rows,
        "fixed_seconds": capacity.cost.fixed_seconds,
        "seconds_per_row": capacity.cost.seconds_per_row,
        "unsheddable_fixed_seconds": capacity.unsheddable.fixed_seconds,
        "unsheddable_seconds_per_row": capacity.unsheddable.seconds_per_row,
        "micro_batches": [
            {
                "seconds_since_start": micro_batch.time.started_at_seconds - ours.start_seconds,
                "rows": micro_batch.time.rows,
                "seconds": micro_batch.time.seconds,
                "sampling_rate": micro_batch.sampling_rate,
            }
            for micro_batch in ours.micro_batches
        ],
        "delays": {OURS: ours.delays, **outcome.others},
        "worst_feed_lateness_seconds": ours.worst_lateness_seconds,
        "left_out": list(sizes.left_out),
    }
