"""The window count function of [T06] Definition 1, beside its three cases and beside counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed_bench.windows.savings import early_share
from tests.oracles.window_count import may_be_dropped_early, window_count


@st.composite
def windows(draw: st.DrawFn) -> WindowSpecification:
    slide = draw(st.integers(1, 9))
    return WindowSpecification(draw(st.integers(slide, 30)), slide)


def of_definition(window: WindowSpecification, time: int, first: int) -> int:
    """The cases of Definition 1, as they are written there."""
    slide, size = window.slide_microseconds, window.size_microseconds
    m = size // slide
    i = (time - first) // slide
    if i < m:
        return i + 1
    return m + 1 if time <= first + (i - m) * slide + size - 1 else m


@given(windows(), st.integers(-50, 50), st.integers(0, 200))
def test_it_is_that_of_the_definition(window: WindowSpecification, first: int, since: int) -> None:
    time = first + since
    starts = range(first, time + 1, window.slide_microseconds)
    counted = sum(1 for start in starts if time < start + window.size_microseconds)
    assert window_count(window, time, first_start=first) == counted == of_definition(window, time, first)


def test_before_the_stream_there_are_no_windows() -> None:
    with pytest.raises(ValueError, match="the time 3 is before the first window, which starts at 4"):
        window_count(WindowSpecification(5, 2), 3, first_start=4)


@given(windows(), st.integers(0, 100), st.frozensets(st.integers(0, 120)))
def test_a_row_is_dropped_early_iff_no_kept_window_holds_it(
    window: WindowSpecification, time: int, dropped: frozenset[int]
) -> None:
    slide = window.slide_microseconds
    holding = {n for n in range(time // slide + 1) if n * slide <= time < n * slide + window.size_microseconds}
    assert may_be_dropped_early(window, time, first_start=0, dropped=dropped) is (holding <= dropped)


@given(windows(), st.integers(1, 20))
def test_the_model_of_early_drops_is_what_one_batch_does(window: WindowSpecification, batch: int) -> None:
    slide, size = window.slide_microseconds, window.size_microseconds
    first = 40
    dropped = frozenset(range(first, first + batch))
    times = range(first * slide, (first + batch - 1) * slide + size)
    early = [time for time in times if may_be_dropped_early(window, time, first_start=0, dropped=dropped)]
    assert early_share(window, batch) == pytest.approx(len(early) / len(times))
