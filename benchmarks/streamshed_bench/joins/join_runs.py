"""Streams through a join within a budget of comparisons, whatever the clock says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamshed.joins.choose.basic_window_size import chosen_windows, merged_yields
from streamshed.joins.choose.expected_comparisons import ExpectedComparisons
from streamshed.joins.choose.join_policies import join_policy_named, plan_within
from streamshed.joins.choose.selection import CellWork, Prices
from streamshed.joins.model.arrays import Floats
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed.joins.partition.partition import JoinPartition
from streamshed.joins.windows.join_plan import JoinPlan
from streamshed.joins.windows.store import MemoryStore
from streamshed.joins.windows.window_state import WindowState
from streamshed.joins.windows.yields import Yields

FULL = "full"
"""In the place of a policy: nothing is shed."""
SECOND = 1_000_000
_SEEDS_OF_A_RUN = 1_000_000


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rows that come together.

    Args:
        left: Of the left side.
        right: Of the right side.
        watermark_microseconds: None of them is older.
    """

    left: pa.Table
    right: pa.Table
    watermark_microseconds: int


@dataclass(frozen=True, kw_only=True)
class JoinRun:
    """What came of it, micro-batch by micro-batch, one every second.

    Args:
        results: How many there were.
        comparisons: How many were made.
        state_bytes: Size of the windows after it.
        fractions: r_1 and r_2, the share of either window's comparisons that was made.
        comparisons_by_cell: How many were made in all, per cell of the windows as they are by the end.
        results_by_cell: What they gave.
        micro_batches: Of each, how many comparisons were made in each cell, and what they gave.
        yields: What was learned by the end.
        windows: The windows by the end.
    """

    results: tuple[int, ...]
    comparisons: tuple[float, ...]
    state_bytes: tuple[int, ...]
    fractions: tuple[tuple[float, float], ...]
    comparisons_by_cell: tuple[float, ...]
    results_by_cell: tuple[float, ...]
    micro_batches: tuple[tuple[Floats, Floats], ...]
    yields: Yields
    windows: JoinWindows

    def results_per_second(self, seconds: slice) -> float:
        """Return the mean over some seconds."""
        return float(np.mean(self.results[seconds]))

    @property
    def total_results(self) -> int:
        """All of them."""
        return sum(self.results)

    def most_results(self, share: float) -> float:
        """Return the most results that a share of each micro-batch's comparisons can give, cell by cell.

        That takes the cells with most results per comparison first, as if they were known beforehand.
        """
        return sum(_most_results(comparisons, results, share) for comparisons, results in self.micro_batches)


def run_join(
    specification: JoinSpecification,
    micro_batches: Iterable[MicroBatch],
    policy: str,
    *,
    budgets: Iterable[float],
    prices: Prices,
    chooses_size: bool = False,
    seed: int = 0,
) -> JoinRun:
    """Run a join, a micro-batch every second.

    Args:
        specification: The join.
        micro_batches: Its rows.
        policy: The name of a shedding policy, or `FULL`.
        budgets: Comparisons that each micro-batch may make; at least as many as there are of those.
        prices: In comparisons.
        chooses_size: Whether basic windows become as large as serves, once the first have left the windows.
        seed: Of which rows are dropped or compared over all lags.
    """
    course = _Course(specification, policy, prices, seed)
    choose_at = specification.windows.left_microseconds // SECOND if chooses_size else None
    for second, (micro_batch, budget) in enumerate(zip(micro_batches, budgets, strict=False)):
        expected = course.step(second, micro_batch, budget)
        if second == choose_at:
            course.choose_size(expected, budget)
    return course.run()


class _Course:
    """A join while it runs."""

    def __init__(self, specification: JoinSpecification, policy: str, prices: Prices, seed: int) -> None:
        self._seed = seed * _SEEDS_OF_A_RUN
        self._specification, self._policy, self._prices = specification, policy, prices
        self._store = MemoryStore()
        self._partition = JoinPartition(specification, self._store)
        unknown = Yields.unknown(specification.windows.cells)
        self._yields, self._halves = unknown, [unknown, unknown]
        self._results: list[int] = []
        self._comparisons: list[float] = []
        self._state_bytes: list[int] = []
        self._fractions: list[tuple[float, float]] = []
        self._by_cell = np.zeros((2, specification.windows.cells))
        self._micro_batches: list[tuple[Floats, Floats]] = []

    def step(self, second: int, of: MicroBatch, budget: float) -> ExpectedComparisons:
        """Join the rows of a micro-batch; return what doing it fully would have taken."""
        plan = JoinPlan(watermark_microseconds=of.watermark_microseconds, seed=self._seed + second)
        expected = self._partition.expected_comparisons(
            of.left, of.right, watermark_microseconds=of.watermark_microseconds
        )
        if self._policy != FULL:
            work = CellWork(expected=expected, yields=self._yields, prices=self._prices)
            plan = plan_within(join_policy_named(self._policy), work, budget, plan=plan)
        join_result = self._partition.join(of.left, of.right, plan)
        cells = join_result.cells
        self._yields = self._yields.update(cells.comparisons, cells.weight, seconds=1.0, full=expected.comparisons)
        self._halves[second % 2] = self._halves[second % 2].update(cells.comparisons, cells.weight, seconds=1.0)
        self._results.append(int(cells.results.sum()))
        self._comparisons.append(float(cells.comparisons.sum()))
        self._state_bytes.append(join_result.state.bytes)
        self._by_cell += (cells.comparisons, cells.results)
        self._micro_batches.append((cells.comparisons, cells.results))
        of_left = self._specification.windows.left_cells
        halves = [np.split(counts, [of_left]) for counts in (cells.comparisons, expected.comparisons)]
        self._fractions.append((_share(halves[0][0], halves[1][0]), _share(halves[0][1], halves[1][1])))
        return expected

    def choose_size(self, expected: ExpectedComparisons, budget: float) -> None:
        """Go on with basic windows of the size that is expected to serve best."""
        fine = self._specification.windows
        work = CellWork(expected=expected, yields=self._halves[0], prices=self._prices)
        chosen = chosen_windows(work, self._halves[1], budget)
        state = WindowState(fine, self._store)
        state.recut(chosen.basic_microseconds // fine.basic_microseconds)
        state.save()
        self._specification = replace(self._specification, windows=chosen)
        self._partition = JoinPartition(self._specification, self._store)
        self._yields = merged_yields(self._yields, fine, chosen)
        self._halves = [merged_yields(half, fine, chosen) for half in self._halves]
        self._by_cell = np.zeros((2, chosen.cells))

    def run(self) -> JoinRun:
        """Return what came of it."""
        return JoinRun(
            results=tuple(self._results),
            comparisons=tuple(self._comparisons),
            state_bytes=tuple(self._state_bytes),
            fractions=tuple(self._fractions),
            comparisons_by_cell=tuple(self._by_cell[0].tolist()),
            results_by_cell=tuple(self._by_cell[1].tolist()),
            micro_batches=tuple(self._micro_batches),
            yields=self._yields,
            windows=self._specification.windows,
        )


def _share(made: Floats, all_of: Floats) -> float:
    return min(1.0, float(made.sum() / all_of.sum())) if all_of.sum() else 1.0


def _most_results(comparisons: Floats, results: Floats, share: float) -> float:
    """The results of a share of all comparisons, the cells that give most first; the last one in part.

    Example:
        >>> _most_results(np.array([10.0, 10.0, 20.0]), np.array([1.0, 5.0, 8.0]), 0.5)
        9.0
    """
    order = np.argsort(-results / np.maximum(comparisons, 1.0), kind="stable")
    made = np.concatenate([[0.0], np.cumsum(comparisons[order])])
    return float(np.interp(share * made[-1], made, np.concatenate([[0.0], np.cumsum(results[order])])))
