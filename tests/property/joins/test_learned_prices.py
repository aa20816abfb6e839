"""What micro-batches take is learned, whatever it is made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.learn.learned_prices import LearnedPrices, MicroBatchWork, TimeBudget
from tests.thoroughness import examples

SCALES = np.array([5e-3, 2e-6, 2e-4, 5e-9, 3e-7])


@examples(50)
@given(factors=st.lists(st.floats(0.2, 5), min_size=5, max_size=5), seed=st.integers(0, 100))
def test_what_comes_next_is_foreseen(factors: list[float], seed: int) -> None:
    random, prices = np.random.default_rng(seed), SCALES * factors
    learned = LearnedPrices()
    for _ in range(60):
        work = MicroBatchWork(
            rows=int(random.integers(10_000, 50_000)),
            reads=int(random.integers(10, 100)),
            comparisons=float(random.integers(10**7, 10**8)),
            results=float(random.integers(10**5, 10**6)),
        )
        learned = learned.update(work, seconds=float(work.amounts @ prices))
    found = learned.by_name
    assert all(price >= 0 for price in found.values())
    foreseen = float(work.amounts @ list(found.values()))
    assert foreseen == pytest.approx(float(work.amounts @ prices), rel=0.05)


@given(seconds=st.floats(1e-3, 10), rows=st.integers(0, 10**8), basic_windows=st.integers(0, 10**5))
def test_comparisons_are_never_left_without_time(seconds: float, rows: int, basic_windows: int) -> None:
    budget = TimeBudget(seconds=seconds, learned=LearnedPrices(), rows=rows, basic_windows=basic_windows)
    assert 0.1 * seconds <= budget.seconds_to_compare <= seconds
    shares = [budget.sampling(number) for number in range(20)]
    assert sum(shares) == pytest.approx(20 * 0.1)
