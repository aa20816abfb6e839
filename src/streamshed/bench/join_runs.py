"""A course of rows through a join within a budget of comparisons, whatever the clock says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from streamshed.joins.arrays import Floats
from streamshed.joins.basic_window_size import chosen_windows, merged_yields, recut
from streamshed.joins.expected_comparisons import ExpectedComparisons
from streamshed.joins.join_windows import JoinWindows
from streamshed.joins.partition import JoinPartition
from streamshed.joins.plan import JoinPlan
from streamshed.joins.policies import join_policy_named, plan_within
from streamshed.joins.selection import CellWork, Prices
from streamshed.joins.specification import JoinSpecification
from streamshed.joins.store import MemoryStore
from streamshed.joins.yields import Yields

FULL = "full"
"""In the place of a policy: nothing is shed."""
SECOND = 1_000_000


@dataclass(frozen=True, kw_only=True)
class JoinRun:
    """What came of it, micro-batch by micro-batch, each of one second.

    Args:
        results: How many there were.
        comparisons: How many were made.
        fractions: r_1 and r_2, the share of either window's comparisons that was made.
        yields: What was learned by the end.
        windows: The windows by the end.
    """

    results: tuple[int, ...]
    comparisons: tuple[float, ...]
    fractions: tuple[tuple[float, float], ...]
    yields: Yields
    windows: JoinWindows

    def results_per_second(self, seconds: slice) -> float:
        """Return the mean over some seconds."""
        return float(np.mean(self.results[seconds]))


def run_join(
    specification: JoinSpecification,
    micro_batches: Iterable[tuple[pa.Table, pa.Table]],
    policy: str,
    *,
    comparisons_per_second: float,
    prices: Prices,
    chooses_size: bool = False,
) -> JoinRun:
    """Run a join second by second.

    Args:
        specification: The join.
        micro_batches: Rows of either side.
        policy: The name of a shedding policy, or `FULL`.
        comparisons_per_second: The budget.
        prices: In comparisons.
        chooses_size: Whether basic windows become as large as serves, once the first have left the windows.
    """
    course = _Course(specification, policy, comparisons_per_second, prices)
    choose_at = specification.windows.left_microseconds // SECOND if chooses_size else None
    for second, (left, right) in enumerate(micro_batches):
        expected = course.step(second, left, right)
        if second == choose_at:
            course.choose_size(expected)
    return course.run()


class _Course:
    """A join while it runs."""

    def __init__(self, specification: JoinSpecification, policy: str, budget: float, prices: Prices) -> None:
        self._specification, self._policy, self._budget, self._prices = specification, policy, budget, prices
        self._store = MemoryStore()
        self._partition = JoinPartition(specification, self._store)
        unknown = Yields.unknown(specification.windows.cells)
        self._yields, self._halves = unknown, [unknown, unknown]
        self._results: list[int] = []
        self._comparisons: list[float] = []
        self._fractions: list[tuple[float, float]] = []

    def step(self, second: int, left: pa.Table, right: pa.Table) -> ExpectedComparisons:
        """Join the rows of a second; return what doing it fully would have taken."""
        plan = JoinPlan(watermark_microseconds=second * SECOND, seed=second)
        expected = self._partition.expected_comparisons(left, right, watermark_microseconds=plan.watermark_microseconds)
        if self._policy != FULL:
            work = CellWork(expected=expected, yields=self._yields, prices=self._prices)
            plan = plan_within(join_policy_named(self._policy), work, self._budget, plan=plan)
        cells = self._partition.join(left, right, plan).cells
        seen = partial(Yields.update, comparisons=cells.seen_comparisons, results=cells.seen_weight, seconds=1.0)
        self._yields = seen(self._yields)
        self._halves[second % 2] = seen(self._halves[second % 2])
        self._results.append(int(cells.results.sum()))
        self._comparisons.append(float(cells.comparisons.sum()))
        of_left = self._specification.windows.left_cells
        halves = [np.split(counts, [of_left]) for counts in (cells.comparisons, expected.comparisons)]
        self._fractions.append((_share(halves[0][0], halves[1][0]), _share(halves[0][1], halves[1][1])))
        return expected

    def choose_size(self, expected: ExpectedComparisons) -> None:
        """Go on with basic windows of the size that is expected to serve best."""
        fine = self._specification.windows
        work = CellWork(expected=expected, yields=self._halves[0], prices=self._prices)
        chosen = chosen_windows(work, self._halves[1], self._budget)
        recut(self._store, fine, chosen)
        self._specification = replace(self._specification, windows=chosen)
        self._partition = JoinPartition(self._specification, self._store)
        self._yields = merged_yields(self._yields, fine, chosen)
        self._halves = [merged_yields(half, fine, chosen) for half in self._halves]

    def run(self) -> JoinRun:
        """Return what came of it."""
        return JoinRun(
            results=tuple(self._results),
            comparisons=tuple(self._comparisons),
            fractions=tuple(self._fractions),
            yields=self._yields,
            windows=self._specification.windows,
        )


def _share(made: Floats, all_of: Floats) -> float:
    return min(1.0, float(made.sum() / all_of.sum())) if all_of.sum() else 1.0
