"""Greedy joins spend what they are given, in each micro-batch, and never give less than random drop does for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from streamshed.joins.model.join_windows import JoinWindows
from tests.property.joins.courses import BY_COMPARISONS, BY_RESULTS, Arrivals, run

MILLISECOND = 1_000
SECOND = 1_000_000
SHARE = 0.2
WARM = slice(3, None)
"""Micro-batches after which windows are full, and yields known."""


def bursts(seconds: int, rates: tuple[int, int], *, step: int, count: int, keys: int = 8) -> list[Arrivals]:
    """Rows that come in bursts, whose keys say nothing of when they meet: every lag yields the same."""
    random = np.random.default_rng(1)
    found = []
    for number in range(count):
        begin, end = number * seconds * SECOND, (number + 1) * seconds * SECOND
        at, weights = random.integers(begin, end, 20), random.dirichlet(np.full(20, 0.5))

        of_sides = []
        for rate in rates:
            rows = random.poisson(rate * seconds)
            late = random.exponential(20 * MILLISECOND, rows).astype(np.int64)
            times = np.minimum(random.choice(at, rows, p=weights) + late, end - 1)
            of_sides.append(np.sort(times) // step * step)
        left, right = (random.integers(0, keys, len(times)) for times in of_sides)
        found.append(Arrivals((of_sides[0], of_sides[1]), (left, right), begin))
    return found


def moving(seconds: int, rates: tuple[int, int], *, count: int) -> list[Arrivals]:
    """Rows that meet theirs at one lag, which is another one in every third micro-batch: what was learned is wrong."""
    random = np.random.default_rng(1)
    found = []
    for number in range(count):
        begin, end = number * seconds * SECOND, (number + 1) * seconds * SECOND
        lag = (5, 85, 45)[number // 3 % 3] * MILLISECOND
        left, right = (np.sort(random.integers(begin, end, random.poisson(rate * seconds))) for rate in rates)
        keys = left // (10 * MILLISECOND) % 20, (right - lag) // (10 * MILLISECOND) % 20
        found.append(Arrivals((left, right), keys, begin))
    return found


@dataclass(frozen=True)
class Case:
    """Trades and quotes, or whatever comes in bursts."""

    windows: JoinWindows
    arrivals: Callable[[], Sequence[Arrivals]]
    seconds: Mapping[str, float]


SHORT = JoinWindows(100 * MILLISECOND, 100 * MILLISECOND, 10 * MILLISECOND)
CASES = {
    "stamps of milliseconds": Case(SHORT, lambda: bursts(2, (60, 300), step=MILLISECOND, count=9), BY_COMPARISONS),
    "a single basic window": Case(
        JoinWindows(100 * MILLISECOND, 100 * MILLISECOND, 100 * MILLISECOND),
        lambda: bursts(2, (60, 300), step=1, count=9),
        BY_COMPARISONS,
    ),
    "stamps of seconds": Case(
        JoinWindows(30 * SECOND, 30 * SECOND, SECOND), lambda: bursts(60, (5, 5), step=SECOND, count=8), BY_COMPARISONS
    ),
    "results are what costs": Case(SHORT, lambda: bursts(2, (60, 300), step=MILLISECOND, count=9), BY_RESULTS),
    "yields and what results cost move": Case(SHORT, lambda: moving(2, (60, 300), count=10), BY_RESULTS),
}


@pytest.mark.parametrize("name", CASES)
def test_a_greedy_join_spends_its_budget_and_gives_no_less_than_random_drop(name: str) -> None:
    case = CASES[name]
    arrivals = case.arrivals()
    full = run(case.windows, arrivals, None, seconds=case.seconds)
    greedy, dropping = (
        run(case.windows, arrivals, policy, share=SHARE, seconds=case.seconds) for policy in ("greedy", "random_drop")
    )
    budgets = SHARE * full.cost[WARM]
    # How many results there are of some comparisons is chance, whoever chooses them.
    of_results = SHARE * full.results[WARM]
    chance = 2.0 if case.seconds is BY_RESULTS else 0.0
    assert greedy.cost[WARM].sum() == pytest.approx(budgets.sum(), rel=0.05 + chance / np.sqrt(of_results.sum()))
    assert (greedy.cost[WARM] <= (1.1 + chance / np.sqrt(of_results)) * budgets).all()
    assert greedy.results[WARM].sum() >= (0.97 - chance / np.sqrt(of_results.sum())) * dropping.results[WARM].sum()
