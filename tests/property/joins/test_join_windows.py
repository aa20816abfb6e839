"""Cells by lag: each lag of a join's windows is in one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamshed.joins.model.join_windows import JoinWindows


@given(left=st.integers(0, 60), right=st.integers(0, 60), basic=st.integers(1, 20))
def test_each_lag_is_in_one_cell(left: int, right: int, basic: int) -> None:
    if not left + right:
        return
    windows = JoinWindows(left, right, basic)
    cells = [cell for cell, (least, most) in enumerate(windows.cell_intervals) for _ in range(least, most + 1)]
    lags = [lag for least, most in windows.cell_intervals for lag in range(least, most + 1)]
    assert sorted(lags) == list(range(-right, left + 1))
    assert windows.cells_of(np.array(lags)).tolist() == cells
