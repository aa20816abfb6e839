"""Benchmark `accuracy`: how far off answers are at 1 to 5 times the load, policy by policy ([B04] Figures 4 and 5)."""

from __future__ import annotations

import itertools
import operator
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.dear_operators import microseconds_per_row
from streamshed_bench.inputs.networks import PacketSource
from streamshed_bench.inputs.packet_input import packet_trace
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity, calibrated_on
from streamshed_bench.runs.fed_run import START_MICROSECONDS, FedRun, run_fed, staged_feed
from streamshed_bench.runs.pictures import draw_accuracy
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.samples.accuracy_figures import Errors, carrying_group_error, errors_of, expected_largest
from streamshed_bench.samples.accuracy_queries import (
    GROUPED,
    SEVEN,
    WINDOW_SECONDS,
    ExactAnswers,
    accuracy_network,
    exact_answers,
)
from streamshed_bench.samples.accuracy_sizes import FULL, QUICK, AccuracySizes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamshed.network.model.network import QueryNetwork

POLICIES = ("uniform", "hoeffding", "least_error")


@dataclass(slots=True)
class Answered:
    """What a run answered.

    Attributes:
        answers: Of the seven queries, by query and the second at which the window ends.
        groups: Of the query by groups.
    """

    answers: dict[tuple[str, int], float] = field(default_factory=dict)
    groups: dict[int, dict[int, float]] = field(default_factory=dict)

    def take(self, frame: DataFrame, _: int) -> None:
        """Take in the answers of a micro-batch."""
        rows = frame.where("kind = 'answer'").selectExpr(
            "query", "unix_seconds(window_end) AS end", "get(key, 0) AS of", "coalesce(value, 0) AS value"
        )
        for row in rows.collect():
            if row.query == GROUPED:
                self.groups.setdefault(row.end, {})[int(row.of)] = row.value
            else:
                self.answers[row.query, row.end] = row.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One policy at one load.

    Args:
        errors: Of the seven queries.
        predicted_mean_error: The mean error that the plans expected.
        group_error: Mean over seconds of the error of the groups that count.
        time_ratios: Processing time ÷ trigger interval, per micro-batch.
        effective_sampling_rates: Median per query.
    """

    errors: Errors
    predicted_mean_error: float
    group_error: float
    time_ratios: tuple[float, ...]
    effective_sampling_rates: Mapping[str, float]


def run(options: BenchOptions) -> BenchResult:
    """Measure accuracy under load.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    sizes = QUICK if options.quick else FULL
    costs = microseconds_per_row()
    with workplace() as place:
        trace = packet_trace(options)
        with bench_session("accuracy") as spark:
            capacity = calibrated_on(
                trace,
                spark,
                place,
                sizes,
                network_over=_network_over,
                progress=lambda step, share: options.progress(step, 0.15 * share),
            )
            runs = _runs(spark, place, trace, sizes, capacity, options.progress)
    return BenchResult(
        figures=figures_of(runs, costs, capacity.rows_per_second(sizes.trigger_seconds)),
        details=_details(runs, sizes),
        picture=partial(draw_accuracy, errors={key: one.errors.largest for key, one in runs.items()}),
    )


def figures_of(
    runs: Mapping[tuple[str, float], Measured], costs: Mapping[str, float], rows_per_second: float
) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures, all at the highest load."""
    highest = max(load for _, load in runs)
    figures = {"load": highest}
    for policy in POLICIES:
        name = "default" if policy == DEFAULT_POLICY else policy
        measured = runs[policy, highest]
        figures |= {
            f"{name}_mean_error": measured.errors.mean,
            f"{name}_predicted_mean_error": measured.predicted_mean_error,
            f"{name}_worst_error": measured.errors.worst,
            f"{name}_group_error": measured.group_error,
        }
    figures["p95_time_ratio"] = max(percentile(measured.time_ratios, 0.95) for measured in runs.values())
    figures["rows_per_second_sustained"] = rows_per_second
    return figures | {f"{name}_microseconds": cost for name, cost in costs.items()}


def _network_over(watched: Path) -> QueryNetwork:
    return accuracy_network(PacketSource(watched=watched, known_hosts=watched))


def _runs(
    spark: SparkSession,
    place: Workplace,
    trace: Trace,
    sizes: AccuracySizes,
    capacity: Capacity,
    progress: Callable[[str, float], None],
) -> dict[tuple[str, float], Measured]:
    measured: dict[tuple[str, float], Measured] = {}
    order = sizes.runs(POLICIES, DEFAULT_POLICY)
    for load, runs in itertools.groupby(order, key=operator.itemgetter(1)):
        at_load = sizes.at(load)
        rows_per_second = load * capacity.rows_per_second(sizes.trigger_seconds)
        feed = staged_feed(trace, place.new(f"load_{load:g}"), at_load, rows_per_second)
        exact = exact_answers([file.path for file in feed.files])
        for policy, _ in runs:
            progress(f"{policy} at load {load:g}", 0.15 + 0.85 * len(measured) / len(order))
            measured[policy, load] = _measured(spark, place, feed, at_load, capacity, exact, policy)
    return measured


def _measured(
    spark: SparkSession,
    place: Workplace,
    feed: StagedFeed,
    sizes: AccuracySizes,
    capacity: Capacity,
    exact: ExactAnswers,
    policy: str,
) -> Measured:
    answered = Answered()
    run = run_fed(_network_over, spark, place, feed, answered.take, sizes=sizes, capacity=capacity, policy=policy)
    return _judged(answered, exact, run, sizes)


def _judged(answered: Answered, exact: ExactAnswers, run: FedRun, sizes: AccuracySizes) -> Measured:
    first, fed = START_MICROSECONDS // 1_000_000, run.journal
    ends = list(range(first + sizes.warm_up_seconds + WINDOW_SECONDS, first + sizes.seconds + 1))
    names = [query.name for query in SEVEN]
    expected = [float(np.sqrt(np.mean([errors[name] ** 2 for errors in fed["expected_errors"]]))) for name in names]
    return Measured(
        errors=errors_of(answered.answers, exact.answers, ends),
        predicted_mean_error=expected_largest(expected),
        group_error=statistics.fmean(
            carrying_group_error(answered.groups.get(end, {}), exact.groups.get(end, {})) for end in ends
        ),
        time_ratios=run.time_ratios,
        effective_sampling_rates={
            name: statistics.median(rates[name] for rates in fed["effective_sampling_rates"])
            for name in (*names, GROUPED)
        },
    )


def _details(runs: Mapping[tuple[str, float], Measured], sizes: AccuracySizes) -> dict[str, object]:
    return {
        "trigger_seconds": sizes.trigger_seconds,
        "headroom": HEADROOM,
        "runs": [
            {
                "policy": policy,
                "load": load,
                "mean_error": measured.errors.mean,
                "predicted_mean_error": measured.predicted_mean_error,
                "worst_error": measured.errors.worst,
                "error_by_query": dict(measured.errors.by_query),
                "group_error": measured.group_error,
                "seconds": measured.errors.seconds,
                "error_by_second": list(measured.errors.largest),
                "p95_time_ratio": percentile(measured.time_ratios, 0.95),
                "effective_sampling_rates": dict(measured.effective_sampling_rates),
            }
            for (policy, load), measured in runs.items()
        ],
        "left_out": list(sizes.left_out),
    }
