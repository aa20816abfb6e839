"""Rows are chosen at random, but as many as asked for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.match.coins import chosen_rows


@given(times=st.lists(st.integers(0, 50), max_size=60), share=st.floats(0, 1), seed=st.integers(0, 5))
def test_as_many_as_asked_for(times: list[int], share: float, seed: int) -> None:
    chosen = chosen_rows(np.sort(np.array(times, np.int64)), share, salt=7, seed=seed)
    assert abs(chosen.sum() - share * len(times)) < 1 + 1e-9


def test_each_row_as_often_as_any_other() -> None:
    times = np.zeros(25, np.int64)
    counts = sum(chosen_rows(times, 0.1, salt=7, seed=seed).astype(int) for seed in range(4000))
    assert isinstance(counts, np.ndarray)
    assert abs(counts.mean() / 4000 - 0.1) < 0.005
    assert np.abs(counts / 4000 - 0.1).max() < 0.025


@given(times=st.lists(st.integers(0, 50), min_size=1, max_size=60), seed=st.integers(0, 5))
def test_the_same_rows_whenever_they_come(times: list[int], seed: int) -> None:
    rows = np.sort(np.array(times, np.int64))
    first, again = (chosen_rows(rows, 0.5, salt=7, seed=seed) for _ in range(2))
    assert first.tolist() == again.tolist()
