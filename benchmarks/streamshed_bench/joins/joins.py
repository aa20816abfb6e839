"""Benchmark `joins`: what shedding comparisons gives, at a fixed number of them and by the clock ([G05] §6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.joins.join_cases import CAPACITY, ONE_SIDED, SHIFTED, SKEW, TIGHT_CAPACITY, TWO_SIDED, JoinCase
from streamshed_bench.joins.join_runs import FULL, JoinRun
from streamshed_bench.joins.joins_by_clock import run_timed, timed_document, timed_figures
from streamshed_bench.joins.joins_figures import Runs, figures_of, to_document
from streamshed_bench.joins.joins_indexed import indexed_document, indexed_figures, run_indexed
from streamshed_bench.joins.joins_picture import draw_joins
from streamshed_bench.joins.joins_recorded import (
    HOURS,
    QUICK_HOURS,
    RecordedRuns,
    recorded_document,
    recorded_figures,
    run_recorded,
)
from streamshed_bench.joins.joins_skewed import (
    SKEWED_FULL,
    SKEWED_QUICK,
    measure_skewed,
    skewed_document,
    skewed_figures,
)
from streamshed_bench.joins.joins_streamed import (
    STREAMED_FULL,
    STREAMED_QUICK,
    measure_rates,
    streamed_document,
    streamed_figures,
)
from streamshed_bench.joins.joins_throughput import measure_throughput, throughput_figures
from streamshed_bench.joins.papers_join import PAPERS_POLICIES, PapersJoin, TimedPairs

SKEWS = (0.2, 0.4, 0.6, 0.8, 1.0)
WINDOWS_SECONDS = (10, 20, 40)
CAPACITIES = (TIGHT_CAPACITY, 150, 200, 300)
LEARNING = ("time_correlation", "direction", "greedy")
BASIC_SECONDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
READ_PRICES = (0.0, 5_000.0)
STEADY = ((60, 500),)
PAPERS_SKEWS = (0.6, SKEW)
"""Figure 2."""
PAPERS_SEEDS = range(3)
"""The paper's operator learns from few rows; which ones they are makes a difference."""
_QUICK_CAPACITIES = (TIGHT_CAPACITY, CAPACITY)


_LEFT_OUT = (
    "by skew and window size (Figures 5 and 8)",
    "capacities 150 and 300",
    "the paper's operator, κ = 0.6",
    "by the clock",
    "windows of 200 s, with an index and without (Figure 9)",
)


def run(options: BenchOptions) -> BenchResult:
    """Measure what policies give, and how fast full joins are on Spark.

    Raises:
        MissingExtraError: DuckDB is not installed.
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: A folder of recordings is named that does not hold them.
    """
    recorded = _recorded(options)
    runs = _at_fixed_comparisons(options)
    speed = measure_throughput(seed=options.seed)
    streamed = measure_rates(
        STREAMED_QUICK if options.quick else STREAMED_FULL,
        seed=options.seed,
        progress=_within(options, "streams", 0.5),
    )
    skewed = measure_skewed(
        SKEWED_QUICK if options.quick else SKEWED_FULL, seed=options.seed, progress=_within(options, "skewed", 0.58)
    )
    timed = None if options.quick else run_timed(seed=options.seed, progress=_within(options, "by the clock", 0.6))
    indexed = None if options.quick else run_indexed(seed=options.seed, progress=_within(options, "by the clock", 0.8))
    left_out = [*(_LEFT_OUT if options.quick else ()), *(() if recorded else ("recorded streams: no --trace",))]
    return BenchResult(
        figures={
            **figures_of(runs),
            **throughput_figures(speed),
            **streamed_figures(streamed),
            **skewed_figures(skewed),
            **(timed_figures(timed) if timed else {}),
            **(indexed_figures(indexed) if indexed else {}),
            **recorded_figures(recorded),
        },
        details={
            **to_document(runs),
            "streamed": {rate: streamed_document(joins) for rate, joins in streamed.items()},
            "skewed": skewed_document(skewed),
            "by_clock": timed_document(timed) if timed else None,
            "windows_of_200_s": indexed_document(indexed) if indexed else None,
            "recorded": recorded_document(recorded),
            "left_out": left_out,
        },
        picture=partial(draw_joins, runs=runs, timed=timed, indexed=indexed, recorded=recorded),
    )


def _recorded(options: BenchOptions) -> Mapping[str, RecordedRuns]:
    if options.trace is None:
        return {}
    hours = QUICK_HOURS if options.quick else HOURS
    progress = _within(options, "recorded", 0.0)
    return run_recorded(Path(options.trace), hours=hours, seed=options.seed, progress=progress)


def _at_fixed_comparisons(options: BenchOptions) -> Runs:
    cases = cases_of(quick=options.quick)
    runs: dict[JoinCase, JoinRun] = {}
    for number, case in enumerate(cases):
        options.progress(f"{case.policy}, κ = {case.skew:g}", 0.2 + 0.3 * number / len(cases))
        runs[case] = case.run(options.seed)
    chosen = {
        price: replace(basic_window_case(price), basic_seconds=BASIC_SECONDS[0]).run(options.seed, chooses_size=True)
        for price in READ_PRICES
    }
    return Runs(runs, chosen, run_papers(papers_cases_of(quick=options.quick), options))


def _within(options: BenchOptions, part: str, share: float) -> Callable[[str], None]:
    """Return a function that reports the step at which a part of the benchmark is."""

    def report_step(step: str) -> None:
        options.progress(f"{part}: {step}", share)

    return report_step


def cases_of(*, quick: bool) -> list[JoinCase]:
    """Return every run, each once."""
    cases = [replace(ONE_SIDED, policy=policy) for policy in (FULL, "random_drop", "rate_adaptation")]
    cases.append(JoinCase(policy=FULL))
    for capacity in _QUICK_CAPACITIES if quick else CAPACITIES:
        for shifts in (SHIFTED, TWO_SIDED):
            compared = JoinCase(policy="rate_adaptation", shifts=shifts, capacity=capacity)
            cases += _by_policy(compared, ("random_drop", "rate_adaptation", *LEARNING))
    cases += _by_policy(JoinCase(policy=FULL, threshold=0), (FULL, "random_drop", "rate_adaptation", *LEARNING))
    if not quick:
        for skew in SKEWS:
            cases += _by_policy(JoinCase(policy=FULL, skew=skew, threshold=4), ("rate_adaptation", *LEARNING))
            for seconds in WINDOWS_SECONDS:
                by_window = replace(ONE_SIDED, skew=skew, window_seconds=seconds)
                cases += _by_policy(by_window, ("random_drop", "rate_adaptation"))
    cases += papers_cases_of(quick=quick)
    for price in READ_PRICES:
        cases += [replace(basic_window_case(price), basic_seconds=seconds) for seconds in BASIC_SECONDS]
    return list(dict.fromkeys(cases))


def papers_cases_of(*, quick: bool) -> list[JoinCase]:
    """Return what the paper's own operator runs, beside ours."""
    return [
        JoinCase(policy=policy, skew=skew, capacity=capacity)
        for skew in ((SKEW,) if quick else PAPERS_SKEWS)
        for capacity in _QUICK_CAPACITIES
        for policy in PAPERS_POLICIES
    ]


def run_papers(cases: Sequence[JoinCase], options: BenchOptions) -> dict[JoinCase, tuple[float, ...]]:
    """Run the paper's operator; results are the mean over several seeds of its sampling."""
    results_by_case: dict[JoinCase, tuple[float, ...]] = {}
    pairs: dict[JoinCase, TimedPairs] = {}
    for case in cases:
        options.progress(f"the paper's {case.policy}, κ = {case.skew:g}", 0.5)
        streams = replace(case, policy=FULL, capacity=CAPACITY)
        if streams not in pairs:
            pairs[streams] = TimedPairs.of(case.specification, case.micro_batches(options.seed))
        several = [
            PapersJoin(pairs[streams], case.policy, comparisons_per_second=case.budget, seed=seed).results_per_second()
            for seed in (PAPERS_SEEDS if case.policy in LEARNING else [0])
        ]
        results_by_case[case] = tuple(np.mean(several, axis=0).tolist())
    return results_by_case


def basic_window_case(read_price: float) -> JoinCase:
    """Return a run of Figure 9: 500 rows per second throughout."""
    return JoinCase(policy="greedy", course=STEADY, read_price=read_price)


def _by_policy(case: JoinCase, policies: Sequence[str]) -> list[JoinCase]:
    return [replace(case, policy=policy) for policy in policies]
