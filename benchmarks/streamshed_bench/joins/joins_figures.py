"""What the runs of benchmark `joins` come down to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from streamshed_bench.joins.join_cases import AFTER, ONE_SIDED, PEAK, SKEW, TIGHT_CAPACITY, TWO_SIDED, JoinCase
from streamshed_bench.joins.join_runs import FULL, SECOND, JoinRun

STEADY_SECONDS = slice(30, 60)
"""Of a run of steady rate: when windows are full and yields known."""


@dataclass(frozen=True)
class Runs:
    """Every run.

    Args:
        by_case: Those of fixed basic windows.
        chosen: Those that chose their basic windows, by the price of a read.
        papers: Results per second of the paper's own operator, second by second.
    """

    by_case: Mapping[JoinCase, JoinRun]
    chosen: Mapping[float, JoinRun]
    papers: Mapping[JoinCase, tuple[float, ...]]

    def results(self, case: JoinCase, seconds: slice = PEAK) -> float:
        """Return results per second, at the peak unless told otherwise."""
        return self.by_case[case].results_per_second(seconds)

    def gain(self, case: JoinCase, over: str, seconds: slice = PEAK) -> float:
        """Return what a policy gives ÷ what another does."""
        return self.results(case, seconds) / max(1.0, self.results(replace(case, policy=over), seconds))

    def papers_results(self, case: JoinCase, seconds: slice = PEAK) -> float:
        """Return results per second of the paper's own operator."""
        return float(np.mean(self.papers[case][seconds]))

    def papers_gain(self, case: JoinCase, over: str, seconds: slice = PEAK) -> float:
        """Return what a policy gives ÷ what another does, both in the paper's own operator."""
        return self.papers_results(case, seconds) / max(1.0, self.papers_results(replace(case, policy=over), seconds))

    def over_papers(self, case: JoinCase) -> float:
        """Return what a policy gives at the peak ÷ what it does in the paper's own operator."""
        return self.results(case, PEAK) / max(1.0, self.papers_results(case, PEAK))

    def by_basic_window(self, read_price: float) -> dict[float, float]:
        """Return results per second by seconds of a basic window, at a steady rate (Figure 9)."""
        return {
            case.basic_seconds: run.results_per_second(STEADY_SECONDS)
            for case, run in self.by_case.items()
            if len(case.course) == 1 and case.read_price == read_price
        }

    def chosen_ratio(self, read_price: float) -> float:
        """Return what the size that was chosen gives ÷ what the best size does."""
        best = max(self.by_basic_window(read_price).values())
        return self.chosen[read_price].results_per_second(STEADY_SECONDS) / best


def figures_of(runs: Runs) -> dict[str, float]:
    """Condense runs into the benchmark's figures."""
    shifted = JoinCase(policy="greedy")
    tight = replace(shifted, capacity=TIGHT_CAPACITY)
    two_sided = replace(shifted, shifts=TWO_SIDED)
    equality = replace(shifted, threshold=0)
    shedding = [(case, run) for case, run in runs.by_case.items() if case.policy != FULL and len(case.course) > 1]
    return {
        "rate_adaptation_gain": runs.gain(ONE_SIDED, "random_drop"),
        "rate_adaptation_gain_after": runs.gain(ONE_SIDED, "random_drop", AFTER),
        **_steps(runs, shifted, ""),
        **_steps(runs, tight, "_tight"),
        **_steps(runs, equality, "_equality"),
        **_against_the_paper(runs, replace(shifted, policy="direction"), ""),
        **_against_the_paper(runs, replace(tight, policy="direction"), "_tight"),
        "greedy_gain_two_sided": runs.gain(two_sided, "direction"),
        "greedy_gain_two_sided_tight": runs.gain(replace(two_sided, capacity=TIGHT_CAPACITY), "direction"),
        "greedy_share_of_full": runs.gain(shifted, FULL),
        "chosen_size_ratio": min(runs.chosen_ratio(price) for price in runs.chosen),
        "most_comparisons_over_budget": max(max(run.comparisons) / case.budget for case, run in shedding),
    }


def _steps(runs: Runs, case: JoinCase, suffix: str) -> dict[str, float]:
    """What each step gives on top of the one before, at the peak; and greedy ÷ all of them together."""
    time_correlation = runs.gain(replace(case, policy="time_correlation"), "rate_adaptation")
    direction = runs.gain(replace(case, policy="direction"), "time_correlation")
    greedy = runs.gain(case, "rate_adaptation")
    return {
        f"time_correlation_gain{suffix}": time_correlation,
        f"direction_gain{suffix}": direction,
        f"greedy_over_product{suffix}": greedy / (time_correlation * direction),
    }


def _against_the_paper(runs: Runs, direction: JoinCase, suffix: str) -> dict[str, float]:
    """The gain of direction at 300 rows per second, and what the paper's own operator makes of the same streams."""
    correlation = replace(direction, policy="time_correlation")
    return {
        f"direction_gain{suffix}_after": runs.gain(direction, "time_correlation", AFTER),
        f"papers_time_correlation_gain{suffix}": runs.papers_gain(correlation, "rate_adaptation"),
        f"papers_direction_gain{suffix}": runs.papers_gain(direction, "time_correlation"),
        f"papers_direction_gain{suffix}_after": runs.papers_gain(direction, "time_correlation", AFTER),
        f"over_papers{suffix}": runs.over_papers(direction),
    }


def to_document(runs: Runs) -> dict[str, object]:
    """Return every run as what JSON can hold."""
    return {
        "skew": SKEW,
        "runs": [
            {
                **asdict(case),
                "budget": case.budget,
                "results_at_peak": run.results_per_second(PEAK) if len(run.results) >= PEAK.stop else None,
                "results_after": run.results_per_second(AFTER) if len(run.results) >= AFTER.stop else None,
                "results": list(run.results),
                "fractions": [list(pair) for pair in run.fractions],
            }
            for case, run in runs.by_case.items()
        ],
        "papers_operator": [
            {
                "policy": case.policy,
                "skew": case.skew,
                "capacity": case.capacity,
                "results_at_peak": runs.papers_results(case),
                "results_after": runs.papers_results(case, AFTER),
                "ours_at_peak": runs.results(case),
                "ours_after": runs.results(case, AFTER),
            }
            for case in runs.papers
        ],
        "basic_windows": [
            {
                "read_price": price,
                "results_by_seconds": {f"{seconds:g}": found for seconds, found in runs.by_basic_window(price).items()},
                "chosen_seconds": run.windows.basic_microseconds / SECOND,
                "chosen_results": run.results_per_second(STEADY_SECONDS),
            }
            for price, run in runs.chosen.items()
        ],
    }
