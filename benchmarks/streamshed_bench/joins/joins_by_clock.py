"""The same joins by the clock: budgets are seconds of a core, what everything takes is learned while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.join_policies import join_policy_named, plan_within
from streamshed.joins.choose.selection import CellWork
from streamshed.joins.learn.learned_prices import LearnedPrices, MicroBatchWork, TimeBudget
from streamshed.joins.match.kernel import Kernel
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.yields import Yields
from streamshed_bench.joins.join_cases import CAPACITY, ONE_SIDED, PEAK, JoinCase
from streamshed_bench.joins.join_runs import FULL, MicroBatch

RATE_SCALE = 8
"""By which the paper's rates are multiplied, until this machine is overloaded to the degree that the budget says."""
HEADROOM = 0.8
"""Share of the budget that a plan may fill; the rest is for noise."""
_CALIBRATION: Sequence[tuple[int, int]] = ((30, CAPACITY * RATE_SCALE),)
_CALIBRATED = slice(22, 30)
"""Seconds of it in which windows are full."""


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """What came of a run, micro-batch by micro-batch.

    Args:
        results: How many there were.
        seconds: What it took of a core: planning, joining, handing out results, learning.
        adaptation_seconds: Planning and learning alone.
        learned: Prices by the end, seconds.
    """

    results: tuple[int, ...]
    seconds: tuple[float, ...]
    adaptation_seconds: tuple[float, ...]
    learned: Mapping[str, float]

    def results_per_second(self, seconds: slice) -> float:
        """Return the mean over some micro-batches."""
        return float(np.mean(self.results[seconds]))


@dataclass(frozen=True, kw_only=True)
class TimedRuns:
    """Every run by the clock.

    Args:
        budgets: Seconds of a core that a micro-batch may take, by case.
        by_case: The runs.
    """

    budgets: Mapping[JoinCase, float]
    by_case: Mapping[JoinCase, TimedRun]

    def gain(self, case: JoinCase, over: str) -> float:
        """Return what a policy gives ÷ what another does, at the peak."""
        mine, other = (self.by_case[one].results_per_second(PEAK) for one in (case, replace(case, policy=over)))
        return mine / max(1.0, other)

    @property
    def time_ratios(self) -> Floats:
        """Seconds ÷ budget of every micro-batch."""
        return np.concatenate([np.array(run.seconds) / self.budgets[case] for case, run in self.by_case.items()])

    @property
    def adaptation_share(self) -> float:
        """Share of the seconds that planning and learning took."""
        runs = self.by_case.values()
        return sum(sum(run.adaptation_seconds) for run in runs) / sum(sum(run.seconds) for run in runs)


def timed_cases() -> tuple[JoinCase, ...]:
    """Return what is run by the clock: Figures 4 and 7."""
    return (
        *(replace(ONE_SIDED, policy=policy) for policy in ("random_drop", "rate_adaptation")),
        *(JoinCase(policy=policy) for policy in ("rate_adaptation", "time_correlation", "direction", "greedy")),
    )


def run_timed(*, seed: int, progress: Callable[[str], None]) -> TimedRuns:
    """Run every case by the clock; nothing else should run meanwhile."""
    budgets: dict[JoinCase, float] = {}
    runs: dict[JoinCase, TimedRun] = {}
    streams: dict[JoinCase, tuple[float, list[MicroBatch]]] = {}
    for case in timed_cases():
        progress(case.policy)
        of = replace(case, policy=FULL)
        if of not in streams:
            streams.clear()
            streams[of] = budget_seconds(of, seed=seed), list(scaled(of).micro_batches(seed))
        budgets[case], micro_batches = streams[of]
        runs[case] = run_by_clock(case.specification, micro_batches, case.policy, seconds=budgets[case])
    return TimedRuns(budgets=budgets, by_case=runs)


def timed_figures(runs: TimedRuns) -> dict[str, float]:
    """Return gains at the peak by the clock, and whether micro-batches kept to their time."""
    shifted = JoinCase(policy="greedy")
    time_correlation = runs.gain(replace(shifted, policy="time_correlation"), "rate_adaptation")
    direction = runs.gain(replace(shifted, policy="direction"), "time_correlation")
    return {
        "rate_adaptation_gain_by_clock": runs.gain(ONE_SIDED, "random_drop"),
        "time_correlation_gain_by_clock": time_correlation,
        "direction_gain_by_clock": direction,
        "greedy_over_product_by_clock": runs.gain(shifted, "rate_adaptation") / (time_correlation * direction),
        "p95_time_ratio": float(np.quantile(runs.time_ratios, 0.95)),
        "adaptation_share": runs.adaptation_share,
    }


def timed_document(runs: TimedRuns) -> list[dict[str, object]]:
    """Return the runs as what JSON can hold."""
    return [
        {
            "policy": case.policy,
            "shifts": list(case.shifts),
            "is_one_sided": case.is_one_sided,
            "rate_scale": RATE_SCALE,
            "budget_seconds": runs.budgets[case],
            "results": list(run.results),
            "seconds": list(run.seconds),
            "adaptation_seconds": list(run.adaptation_seconds),
            "learned_seconds": dict(run.learned),
        }
        for case, run in runs.by_case.items()
    ]


def scaled(case: JoinCase) -> JoinCase:
    """Return a case with more rows per second."""
    return replace(case, course=tuple((seconds, rows * RATE_SCALE) for seconds, rows in case.course))


def budget_seconds(case: JoinCase, *, seed: int) -> float:
    """Measure what the budget is: what a full join takes at the rate that it is to be enough for."""
    steady = replace(case, policy=FULL, course=_CALIBRATION)
    taken = run_by_clock(steady.specification, steady.micro_batches(seed), FULL, seconds=float("inf")).seconds
    return float(np.median(taken[_CALIBRATED]))


def run_by_clock(
    specification: JoinSpecification,
    micro_batches: Iterable[MicroBatch],
    policy: str,
    *,
    seconds: float,
    kernel: Kernel | None = None,
    clock: Callable[[], float] = time.process_time,
) -> TimedRun:
    """Run a join, a micro-batch every second.

    Args:
        specification: The join.
        micro_batches: Its rows.
        policy: The name of a shedding policy, or `FULL`.
        seconds: Of a core, that a micro-batch may take.
        kernel: What finds pairs; None: what is cheapest.
        clock: Seconds of a core.
    """
    join = _TimedJoin(specification, policy, seconds * HEADROOM, kernel, clock)
    for number, micro_batch in enumerate(micro_batches):
        join.step(number, micro_batch)
    return join.run()


class _TimedJoin:
    """A join while it runs."""

    def __init__(
        self,
        specification: JoinSpecification,
        policy: str,
        seconds: float,
        kernel: Kernel | None,
        clock: Callable[[], float],
    ) -> None:
        self._policy, self._seconds, self._clock = policy, seconds, clock
        self._partition = JoinPartition(specification, MemoryStore(), clock=clock, kernel=kernel)
        self._yields = Yields.unknown(specification.windows.cells)
        self._learned = LearnedPrices()
        self._basic_windows = 0
        self._results: list[int] = []
        self._taken: list[float] = []
        self._adapting: list[float] = []

    def step(self, number: int, of: MicroBatch) -> None:
        """Join the rows of a micro-batch."""
        begun = self._clock()
        expected = self._partition.expected_comparisons(
            of.left, of.right, watermark_microseconds=of.watermark_microseconds
        )
        plan = self._plan(number, of, expected)
        planned = self._clock()
        join_result = self._partition.join(of.left, of.right, plan)
        join_result.left_rows()
        join_result.right_rows()
        joined = self._clock()
        cells = join_result.cells
        self._yields = self._yields.update(cells.comparisons, cells.weight, seconds=1.0, full=expected.comparisons)
        self._learned = self._learned.update(MicroBatchWork.of(join_result), seconds=joined - begun)
        self._basic_windows = join_result.state.basic_windows
        self._results.append(len(join_result))
        ended = self._clock()
        self._taken.append(ended - begun)
        self._adapting.append(ended - joined + planned - begun)

    def _plan(self, number: int, of: MicroBatch, expected: ExpectedComparisons) -> JoinPlan:
        plan = JoinPlan(watermark_microseconds=of.watermark_microseconds, seed=number)
        if self._policy == FULL:
            return plan
        budget = TimeBudget(
            seconds=self._seconds,
            learned=self._learned,
            rows=of.left.num_rows + of.right.num_rows,
            basic_windows=self._basic_windows,
        )
        work = CellWork(expected=expected, yields=self._yields, prices=budget.learned.prices)
        return plan_within(
            join_policy_named(self._policy),
            work,
            budget.seconds_to_compare,
            plan=plan,
            sampling=budget.sampling(number),
        )

    def run(self) -> TimedRun:
        """Return what came of it."""
        return TimedRun(
            results=tuple(self._results),
            seconds=tuple(self._taken),
            adaptation_seconds=tuple(self._adapting),
            learned=self._learned.by_name,
        )
