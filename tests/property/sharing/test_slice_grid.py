"""SliceGrid against a brute-force look at where windows start and end."""

import math

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.slice_grid import SliceGrid
from tests.oracles.windows_of_a_row import windows_containing


@st.composite
def windows(draw: st.DrawFn, longest: int = 40) -> WindowSpecification:
    size = draw(st.integers(1, longest))
    slide = draw(st.integers(1, size))
    return WindowSpecification(size, slide, draw(st.integers(-50, 50)))


@st.composite
def window_sets(draw: st.DrawFn) -> list[WindowSpecification]:
    """Some windows whose edges repeat soon enough to look at a whole period."""
    found = draw(st.lists(windows(longest=24), min_size=1, max_size=4))
    if math.lcm(*(window.slide_microseconds for window in found)) > 20_000:
        return found[:2]
    return found


def edges_until(found: list[WindowSpecification], first: int, last: int) -> list[int]:
    """The instants in [first, last] at which some window starts or ends, by trying every window."""
    instants = set()
    for window in found:
        size, slide = window.size_microseconds, window.slide_microseconds
        for k in range((first - size) // slide - 2, last // slide + 2):
            start = window.offset_microseconds + k * slide
            instants |= {start, start + size}
    return sorted(instant for instant in instants if first <= instant <= last)


@given(window_sets(), st.integers(-1000, 1000))
def test_a_slice_lies_between_neighboring_edges(found: list[WindowSpecification], instant: int) -> None:
    start, end = SliceGrid.of(found).slice_of(instant)
    longest = max(window.size_microseconds for window in found)
    edges = edges_until(found, instant - longest, instant + longest)
    assert start == max(edge for edge in edges if edge <= instant)
    assert end == min(edge for edge in edges if edge > instant)


@given(window_sets())
def test_every_window_is_a_whole_number_of_slices(found: list[WindowSpecification]) -> None:
    grid = SliceGrid.of(found)
    for window in found:
        for start in windows_containing(window, 0):
            end = start + window.size_microseconds
            reached = start
            assert grid.slice_of(reached)[0] == start
            while reached < end:
                reached = grid.slice_of(reached)[1]
            assert reached == end


@given(window_sets())
def test_no_edge_is_redundant(found: list[WindowSpecification]) -> None:
    grid = SliceGrid.of(found)
    period = math.lcm(*(edge.period_microseconds for edge in grid.edges))
    for edge in grid.edges:
        own = set(range(edge.phase_microseconds, edge.phase_microseconds + period, edge.period_microseconds))
        for other in grid.edges:
            if other != edge:
                assert not all((instant - other.phase_microseconds) % other.period_microseconds == 0 for instant in own)


@given(window_sets(), window_sets())
def test_a_merged_grid_is_that_of_both(left: list[WindowSpecification], right: list[WindowSpecification]) -> None:
    merged = SliceGrid.of(left).merged(SliceGrid.of(right))
    assert merged == SliceGrid.of([*left, *right]) == SliceGrid.of(right).merged(SliceGrid.of(left))
    assert merged.merged(SliceGrid.of(left)) == merged


@given(window_sets(), st.integers(-500, 500))
def test_the_figures_bound_what_they_bound(found: list[WindowSpecification], instant: int) -> None:
    grid = SliceGrid.of(found)
    start, end = grid.slice_of(instant)
    assert end - start <= grid.longest_slice_microseconds
    period = math.lcm(*(edge.period_microseconds for edge in grid.edges))
    slices = 0
    reached = grid.slice_of(0)[0]
    first = reached
    while reached < first + period:
        reached = grid.slice_of(reached)[1]
        slices += 1
    assert slices <= grid.slices_per_second * period / 1_000_000


@given(windows(), st.integers(-1000, 1000))
def test_one_sliding_window_has_at_most_two_slices_per_slide(window: WindowSpecification, instant: int) -> None:
    size, slide = window.size_microseconds, window.slide_microseconds
    start, end = SliceGrid.of([window]).slice_of(instant)
    rest = size % slide
    assert end - start in ({slide} if rest == 0 else {rest, slide - rest})
