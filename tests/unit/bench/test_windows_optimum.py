"""The most that any policy delivers, against all patterns of kept rows on small cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.bench.windows_optimum import most_delivered
from streamshed.bench.windows_queries import MIXED, WindowsQuery
from tests.thoroughness import examples

_CELLS = 12


@st.composite
def queries(draw: st.DrawFn) -> list[WindowsQuery]:
    found = []
    for number in range(draw(st.integers(1, 2))):
        slide = draw(st.sampled_from([1, 2, 3]))
        size = slide + draw(st.integers(0, 2))
        found.append(WindowsQuery(name=f"q{number}", size=size, slide=slide, batch=draw(st.integers(1, 3))))
    return found


def of_pattern(asked: Sequence[WindowsQuery], pattern: Sequence[bool]) -> tuple[float, float] | None:
    """Share of the rows, and of the windows, of a pattern that repeats; None: a gap is too long."""
    shares = []
    for one in asked:
        cells = math.lcm(len(pattern), one.slide)
        whole = [
            all(pattern[(start + cell) % len(pattern)] for cell in range(one.size))
            for start in range(0, cells, one.slide)
        ]
        twice = "".join("x" if delivered else "." for delivered in whole * 3)
        if max(map(len, twice.split("x"))) > one.batch:
            return None
        shares.append(sum(whole) / len(whole))
    return sum(pattern) / len(pattern), sum(shares) / len(shares)


@examples(12)
@given(queries())
def test_no_pattern_delivers_more_and_mixtures_of_some_deliver_as_much(asked: list[WindowsQuery]) -> None:
    patterns = itertools.product((False, True), repeat=_CELLS)
    possible = {found for pattern in patterns if (found := of_pattern(asked, pattern)) is not None}
    assert possible
    for rows, share in possible:
        if rows in {0.25, 0.5, 0.75, 1.0}:
            assert share <= most_delivered(asked, rows) + 1e-6
    assert most_delivered(asked, 1.0) == pytest.approx(1.0)
    bound, rows = most_delivered(asked, 0.5), 0.5
    mixed = max(
        (
            more + (fewer - more) * (high - rows) / (high - low) if high > low else more
            for low, fewer in possible
            for high, more in possible
            if low <= rows <= high
        ),
        default=bound,
    )
    assert mixed <= bound + 1e-6
    assert mixed >= bound - 0.1


def test_what_recordings_are_asked_cannot_be_delivered_as_rows_are_given() -> None:
    """Every window costs rows that others do not need, and gaps must not be too long."""
    assert 0.3 < most_delivered(MIXED, 0.35) < 0.35


@pytest.mark.parametrize(("rows", "expected"), [(0.2, 0.0), (0.4, 0.2), (0.6, 0.3), (2 / 3, 0.5)])
def test_of_too_few_rows_for_all_bounds_some_queries_deliver_nothing(rows: float, expected: float) -> None:
    """Windows that overlap by a half, one in three of which is kept, need two thirds of the rows, others a third."""
    alone = WindowsQuery(name="alone", size=1, slide=1, batch=2)
    overlapping = WindowsQuery(name="overlapping", size=2, slide=1, batch=2)
    assert most_delivered([alone, overlapping], rows) == pytest.approx(expected, abs=0.01)
