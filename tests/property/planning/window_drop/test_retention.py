"""A row is dropped early iff no kept window needs it: the table beside all windows tried one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.retention import RetentionTable, retention_table, unneeded_times
from streamshed.planning.window_drop.windows.provenance import NeededRows, needed_rows

WINDOWS = range(-4, 24)
DROPPED = st.frozensets(st.integers(0, 12), max_size=13)


@st.composite
def chains(draw: st.DrawFn) -> list[WindowSpecification]:
    chain = []
    for _ in range(draw(st.integers(1, 3))):
        slide = draw(st.integers(1, 9))
        chain.append(WindowSpecification(draw(st.integers(slide, 20)), slide, draw(st.integers(0, 8))))
    return chain


def is_needed(chain: list[WindowSpecification], dropped: frozenset[int], time: int) -> bool:
    """Whether a window that is not dropped is made of a row, all windows tried; far from the dropped ones all are."""
    outermost = chain[-1]
    around = range(-40, 60)
    kept = (number for number in around if number not in dropped)
    for number in kept:
        found = needed_rows(chain, outermost.offset_microseconds + number * outermost.slide_microseconds)
        if found is not None and found.start <= time < found.end:
            return True
    return False


def may_need(table: RetentionTable, time: int, query: int) -> bool:
    """Whether a query may need a row, as the table says."""
    slot = (time - table.base) // table.step
    return table.needed[slot][query] if 0 <= slot < len(table.needed) else True


@given(chains(), DROPPED)
def test_times_that_nobody_needs_are_those_of_dropped_windows_only(
    chain: list[WindowSpecification], dropped: frozenset[int]
) -> None:
    unneeded = unneeded_times(chain, dropped)
    assert all(one.start < one.end for one in unneeded)
    assert unneeded == sorted(unneeded, key=lambda one: one.start)
    slide = chain[-1].slide_microseconds
    dropped_early = {time for one in unneeded for time in range(one.start, one.end)}
    for time in range(13 * slide):
        if time in dropped_early:
            assert not is_needed(chain, dropped, time)
        elif len(chain) == 1:
            assert is_needed(chain, dropped, time)


@given(st.lists(st.tuples(chains(), DROPPED), min_size=1, max_size=4), st.integers(1, 5))
def test_queries_with_different_windows_share_one_table(
    queries: list[tuple[list[WindowSpecification], frozenset[int]]], unit: int
) -> None:
    unneeded = [
        [NeededRows(one.start * unit, one.end * unit) for one in unneeded_times(chain, dropped)]
        for chain, dropped in queries
    ]
    table = retention_table(unneeded)
    for query, intervals in enumerate(unneeded):
        early = {time for one in intervals for time in range(one.start, one.end)}
        for time in range(-50, 300):
            assert may_need(table, time, query) is (time not in early)


@given(st.lists(st.integers(0, 1000), min_size=4, max_size=12, unique=True), st.integers(2, 40))
def test_a_table_that_were_too_long_drops_no_row_that_is_needed(bounds: list[int], most: int) -> None:
    ordered = sorted(bounds)
    intervals = [NeededRows(a, b) for a, b in zip(ordered[::2], ordered[1::2], strict=False)]
    table = retention_table([intervals], most)
    assert len(table.needed) <= most
    for time in range(1000):
        if not may_need(table, time, 0):
            assert any(one.start <= time < one.end for one in intervals)
