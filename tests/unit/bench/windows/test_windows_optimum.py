"""The most that any policy delivers, against all patterns of kept rows on small cases."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from streamshed_bench.windows.windows_optimum import most_delivered
from streamshed_bench.windows.windows_queries import MIXED, WindowsQuery
from tests.thoroughness import examples

_CELLS = 9
EVEN = [1.0] * 200


@st.composite
def queries(draw: st.DrawFn) -> list[WindowsQuery]:
    found = []
    for number in range(draw(st.integers(1, 2))):
        slide = draw(st.sampled_from([1, 2, 3]))
        size = slide + draw(st.integers(0, 2))
        found.append(WindowsQuery(name=f"q{number}", size=size, slide=slide, gap_windows=draw(st.integers(1, 3))))
    return [*found, WindowsQuery(name="cells", size=1, slide=1, gap_windows=_CELLS)]


def of_pattern(asked: Sequence[WindowsQuery], pattern: Sequence[int]) -> float | None:
    """The mean share of their windows of which all cells are kept; None: a gap is too long."""
    shares = []
    for one in asked:
        starts = range(0, len(pattern) - one.size + 1, one.slide)
        whole = [all(pattern[start : start + one.size]) for start in starts]
        if max(map(len, "".join("x" if delivered else "." for delivered in whole).split("x"))) > one.gap_windows:
            return None
        shares.append(sum(whole) / max(1, len(whole)))
    return sum(shares) / len(shares)


@examples(40)
@given(asked=queries(), rows=st.lists(st.integers(0, 9), min_size=_CELLS, max_size=_CELLS), share=st.floats(0.3, 1))
def test_no_pattern_of_kept_rows_delivers_more_and_a_mixture_delivers_as_much(
    asked: list[WindowsQuery], rows: list[int], share: float
) -> None:
    """Of all mixtures of all patterns, by linear programming; rows come as unevenly as they like."""
    total = max(1, sum(rows))
    possible = [
        (float(np.dot(pattern, rows)) / total, found)
        for pattern in itertools.product((0, 1), repeat=_CELLS)
        if (found := of_pattern(asked, pattern)) is not None
    ]
    needed, gained = np.array(possible).T
    best = linprog(-gained, A_ub=[needed], b_ub=[share], A_eq=[np.ones(len(gained))], b_eq=[1.0], bounds=(0, 1))
    if best.fun is not None and min(needed) < 0.99 * share:
        assert most_delivered(asked, rows, share) == pytest.approx(-best.fun, abs=2e-3)


def test_windows_of_few_rows_come_cheaply() -> None:
    """A fifth of the rows is all of every other window: whoever drops only dear ones delivers more than that."""
    one = WindowsQuery(name="q", size=5, slide=5, gap_windows=10)
    assert most_delivered([one], [1.0, 4.0] * 50, 0.2) == pytest.approx(0.5, abs=1e-3)
    assert most_delivered([one], [1.0] * 100, 0.2) == pytest.approx(0.2, abs=1e-3)


def test_what_recordings_are_asked_cannot_be_delivered_as_rows_are_given() -> None:
    """Every window costs rows that others do not need, and gaps must not be too long."""
    assert 0.3 < most_delivered(MIXED, EVEN, 0.35) < 0.35


@pytest.mark.parametrize(("rows", "expected"), [(0.2, 0.0), (0.4, 0.2), (0.6, 0.3), (2 / 3, 0.5)])
def test_of_too_few_rows_for_all_bounds_some_queries_deliver_nothing(rows: float, expected: float) -> None:
    """Windows that overlap by a half, one in three of which is kept, need two thirds of the rows, others a third."""
    alone = WindowsQuery(name="alone", size=1, slide=1, gap_windows=2)
    overlapping = WindowsQuery(name="overlapping", size=2, slide=1, gap_windows=2)
    assert most_delivered([alone, overlapping], EVEN, rows) == pytest.approx(expected, abs=0.01)
