"""Benchmark `joins`: what shedding comparisons gives at a fixed number of them ([G05] §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from streamshed.bench.contract import BenchOptions, BenchResult
from streamshed.bench.join_cases import SHIFTED, TIGHT_CAPACITY, TWO_SIDED, JoinCase
from streamshed.bench.join_runs import FULL, JoinRun
from streamshed.bench.joins_figures import Runs, figures_of, to_document
from streamshed.bench.joins_picture import draw_joins

SKEWS = (0.2, 0.4, 0.6, 0.8, 1.0)
WINDOWS_SECONDS = (10, 20, 40)
CAPACITIES = (TIGHT_CAPACITY, 150, 200, 300)
LEARNING = ("time_correlation", "direction", "greedy")
BASIC_SECONDS = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
READ_PRICES = (0.0, 5_000.0)
STEADY = ((60, 500),)
_QUICK_CAPACITIES = (TIGHT_CAPACITY, 200)


def run(options: BenchOptions) -> BenchResult:
    """Measure what policies give; no Spark is needed, and no clock looked at."""
    cases = cases_of(quick=options.quick)
    runs: dict[JoinCase, JoinRun] = {}
    for number, case in enumerate(cases):
        options.progress(f"{case.policy}, κ = {case.skew:g}", number / len(cases))
        runs[case] = case.run(options.seed)
    chosen = {
        price: replace(basic_window_case(price), basic_seconds=BASIC_SECONDS[0]).run(options.seed, chooses_size=True)
        for price in READ_PRICES
    }
    found = Runs(runs, chosen)
    left_out = ["by skew and window size (Figures 5 and 8)", "capacities 150 and 300"]
    return BenchResult(
        figures=figures_of(found),
        details={**to_document(found), "left_out": left_out * options.quick},
        picture=partial(draw_joins, runs=found),
    )


def cases_of(*, quick: bool) -> list[JoinCase]:
    """Return every run, each once."""
    one_sided = JoinCase(policy="rate_adaptation", shifts=(0.0,), is_one_sided=True)
    cases = [replace(one_sided, policy=policy) for policy in (FULL, "random_drop", "rate_adaptation")]
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
                by_window = replace(one_sided, skew=skew, window_seconds=seconds)
                cases += _by_policy(by_window, ("random_drop", "rate_adaptation"))
    for price in READ_PRICES:
        cases += [replace(basic_window_case(price), basic_seconds=seconds) for seconds in BASIC_SECONDS]
    return list(dict.fromkeys(cases))


def basic_window_case(read_price: float) -> JoinCase:
    """Return a run of Figure 9: 500 rows per second throughout."""
    return JoinCase(policy="greedy", course=STEADY, read_price=read_price)


def _by_policy(case: JoinCase, policies: Sequence[str]) -> list[JoinCase]:
    return [replace(case, policy=policy) for policy in policies]
