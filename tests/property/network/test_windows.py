import math

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.duration import format_duration, parse_duration
from tests.oracles.windows_of_a_row import windows_containing


@st.composite
def windows(draw: st.DrawFn) -> WindowSpecification:
    slide = draw(st.integers(1, 40))
    return WindowSpecification(draw(st.integers(slide, 120)), slide, draw(st.integers(-50, 50)))


@given(window=windows(), time=st.integers(-500, 500))
def test_a_row_is_in_the_windows_that_contain_its_time(window: WindowSpecification, time: int) -> None:
    size, slide, offset = window.size_microseconds, window.slide_microseconds, window.offset_microseconds
    starts = [offset + index * slide for index in range(-800, 801)]
    assert list(windows_containing(window, time)) == [start for start in starts if start <= time < start + size]


@given(window=windows(), time=st.integers(-500, 500))
def test_each_row_is_in_size_over_slide_windows(window: WindowSpecification, time: int) -> None:
    ratio = window.size_microseconds / window.slide_microseconds
    assert len(windows_containing(window, time)) in {math.floor(ratio), math.ceil(ratio)}


@given(window=windows(), time=st.integers(-500, 500))
def test_windows_change_at_edges_only(window: WindowSpecification, time: int) -> None:
    is_edge = any((time - edge.phase_microseconds) % edge.period_microseconds == 0 for edge in window.edges)
    before, now = set(windows_containing(window, time - 1)), set(windows_containing(window, time))
    assert is_edge == (before != now)


@given(microseconds=st.integers(0, 10**15))
def test_durations_are_read_as_they_are_written(microseconds: int) -> None:
    assert parse_duration(format_duration(microseconds)) == microseconds
