"""Basic windows of several sizes by the clock, with an index and without ([G05] Figure 9), windows of 200 s."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from streamshed.joins.match.matching import MeasuredCost, OverlapKernel
from streamshed.joins.model.conditions import Overlap
from streamshed_bench.joins.join_cases import JoinCase
from streamshed_bench.joins.join_runs import FULL
from streamshed_bench.joins.joins_by_clock import TimedRun, run_by_clock

LONG = JoinCase(policy="greedy", window_seconds=200, cycle_seconds=400.0, shifts=(250.0,), course=((260, 500),))
"""The paper's streams for windows of 200 s: ρ = 2w, τ = 5/8 ρ."""
STEADY = slice(210, 260)
"""Seconds in which windows are full."""
BASIC_SECONDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0)
FULL_PER_BUDGET = 3.0
"""How many times longer the full join takes than a micro-batch may."""
INDEXED, UNINDEXED = "indexed", "unindexed"
_NEVER = float("inf")


@dataclass(frozen=True, kw_only=True)
class IndexedRuns:
    """Runs by size of basic windows.

    Args:
        budget_seconds: Of a core, that a micro-batch may take.
        by_seconds: Of either kernel, the run of each size.
    """

    budget_seconds: float
    by_seconds: Mapping[str, Mapping[float, TimedRun]]

    def results(self, kernel: str) -> dict[float, float]:
        """Return results per second by seconds of a basic window."""
        return {size: run.results_per_second(STEADY) for size, run in self.by_seconds[kernel].items()}

    def gain(self, kernel: str) -> float:
        """Return what the best size gives ÷ what one basic window, as long as the window, does."""
        results = self.results(kernel)
        return max(results.values()) / max(1.0, results[max(results)])


def forced(condition: Overlap, *, indexed: bool) -> OverlapKernel:
    """Return a kernel that always uses the inverted index, or never."""
    if indexed:
        return OverlapKernel(condition, time.process_time, by_bits=MeasuredCost(_NEVER))
    return OverlapKernel(condition, time.process_time, by_index=MeasuredCost(_NEVER))


def run_indexed(*, seed: int, progress: Callable[[str], None]) -> IndexedRuns:
    """Run every size with either kernel; nothing else should run meanwhile."""
    micro_batches = list(LONG.micro_batches(seed))
    progress("full join")
    full = run_by_clock(LONG.specification, micro_batches, FULL, seconds=_NEVER)
    budget = float(np.median(full.seconds[STEADY])) / FULL_PER_BUDGET
    runs_by_kernel: dict[str, dict[float, TimedRun]] = {INDEXED: {}, UNINDEXED: {}}
    for size in BASIC_SECONDS:
        specification = replace(LONG, basic_seconds=size).specification
        for name, runs in runs_by_kernel.items():
            progress(f"{name}, basic windows of {size:g} s")
            kernel = forced(Overlap("s", "s", LONG.threshold), indexed=name == INDEXED)
            runs[size] = run_by_clock(specification, micro_batches, LONG.policy, seconds=budget, kernel=kernel)
    return IndexedRuns(budget_seconds=budget, by_seconds=runs_by_kernel)


def indexed_figures(runs: IndexedRuns) -> dict[str, float]:
    """Return what basic windows give, with an index and without."""
    return {f"basic_window_gain_{kernel}": runs.gain(kernel) for kernel in runs.by_seconds}


def indexed_document(runs: IndexedRuns) -> dict[str, object]:
    """Return the runs as what JSON can hold."""
    by_kernel = {
        kernel: [
            {
                "basic_seconds": size,
                "results_per_second": run.results_per_second(STEADY),
                "p95_time_ratio": float(np.quantile(np.array(run.seconds[STEADY]) / runs.budget_seconds, 0.95)),
                "adaptation_seconds": float(np.median(run.adaptation_seconds[STEADY])),
                "learned_seconds": dict(run.learned),
            }
            for size, run in by_seconds.items()
        ]
        for kernel, by_seconds in runs.by_seconds.items()
    }
    return {"budget_seconds": runs.budget_seconds, **by_kernel}
