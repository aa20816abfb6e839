"""What a window of nested aggregates is made of, beside all rows tried one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.windows.provenance import needed_rows
from tests.oracles.arrangement import DropWindows, fan_out, of_query, pipeline
from tests.property.window_specifications import short_windows


def reached(nested: list[WindowSpecification], start: int, time: int) -> bool:
    """Whether a row with a time is part of a window, through the answers of those below it."""
    *below, outermost = nested
    inside = range(start, start + outermost.size_microseconds)
    if not below:
        return time in inside
    inner = below[-1]
    stamps = (stamp for stamp in inside if (stamp - inner.offset_microseconds) % inner.slide_microseconds == 0)
    return any(reached(below, stamp, time) for stamp in stamps)


@given(st.lists(short_windows(), min_size=1, max_size=3), st.integers(-3, 3))
def test_it_is_all_that_matters_and_nothing_else(nested: list[WindowSpecification], number: int) -> None:
    outermost = nested[-1]
    start = outermost.offset_microseconds + number * outermost.slide_microseconds
    furthest = sum(window.size_microseconds for window in nested)
    times = [time for time in range(start - 5, start + furthest + 5) if reached(nested, start, time)]
    found = needed_rows(nested, start)
    if found is None:
        assert times == []
        return
    assert list(range(found.start, found.end)) == times


@given(st.lists(short_windows(), min_size=1, max_size=4), st.integers(-3, 3))
def test_the_rule_of_the_paper_is_an_upper_bound(nested: list[WindowSpecification], number: int) -> None:
    outermost = nested[-1]
    start = outermost.offset_microseconds + number * outermost.slide_microseconds
    common = of_query(outermost, 1)
    for window in reversed(nested[:-1]):
        common = pipeline(window, common)
    assert common.size == sum(window.size_microseconds for window in nested) - (len(nested) - 1)
    found = needed_rows(nested, start)
    if found is not None:
        assert start <= found.start < found.end <= start + common.size


@given(st.lists(short_windows(), min_size=1, max_size=4), st.lists(st.integers(1, 40), min_size=4, max_size=4))
def test_a_common_window_holds_those_of_all_that_begin_in_it(
    siblings: list[WindowSpecification], batches: list[int]
) -> None:
    aligned = [WindowSpecification(window.size_microseconds, window.slide_microseconds) for window in siblings]
    tolerated = list(zip(aligned, batches, strict=False))
    common = fan_out([of_query(window, batch) for window, batch in tolerated])
    for window, batch in tolerated:
        starts = range(0, common.slide, window.slide_microseconds)
        assert all(start + window.size_microseconds <= common.size for start in starts)
        assert common.gap_windows * len(starts) <= batch


@given(short_windows(), st.lists(short_windows(), min_size=1, max_size=3))
def test_both_ways_to_compose_the_rules_agree(first: WindowSpecification, siblings: list[WindowSpecification]) -> None:
    each = [of_query(window, 7) for window in siblings]
    before_the_split: DropWindows = pipeline(first, fan_out(each))
    assert fan_out([pipeline(first, one) for one in each]) == before_the_split
