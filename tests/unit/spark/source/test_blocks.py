"""Blocks are left unread only where footers tell that no kept window has rows in them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.network import network
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.droppable import droppable_queries, tolerant_parts
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.gap_coin import GapCoin
from streamshed.planning.window_drop.windows.runs import runs_of
from streamshed.spark.source.blocks import read_in_part
from streamshed.spark.source.upcoming_rows import EventBounds, StreamRows
from tests.unit.planning.networks import rows_of

SHARES = {"packets": 0.25}
NUMBERS = range(-20, 60)


def drops_of(windows: Mapping[str, tuple[WindowSpecification, frozenset[int]]]) -> WindowDrops:
    return WindowDrops(
        queries={
            part: QueryDrops(coin=GapCoin(1, 4, window, window.slide_microseconds), dropped=runs_of(sorted(dropped)))
            for part, (window, dropped) in windows.items()
        }
    )


def read_of(
    drops: WindowDrops, events: EventBounds | None, parts: Mapping[str, frozenset[str]], opened: int = -100
) -> dict[str, float]:
    return read_in_part(SHARES, {"packets": StreamRows(rows=9, events=events)}, drops, parts, opened)


@st.composite
def windows(draw: st.DrawFn) -> tuple[WindowSpecification, frozenset[int]]:
    slide = draw(st.integers(1, 6))
    window = WindowSpecification(draw(st.integers(slide, 12)), slide, draw(st.integers(0, 5)))
    return window, draw(st.frozensets(st.integers(0, 9)) | st.integers(0, 9).map(lambda last: frozenset(range(last))))


@given(
    st.dictionaries(st.sampled_from(["1", "2.0", "2.1"]), windows(), min_size=1),
    st.integers(0, 40),
    st.integers(0, 12),
    st.integers(-12, 6),
)
def test_no_row_that_a_kept_window_needs_is_in_a_block_that_may_be_left_unread(
    chosen: dict[str, tuple[WindowSpecification, frozenset[int]]], first: int, length: int, ahead: int
) -> None:
    """Windows that end by the watermark need none."""
    last, opened = first + length, first + min(ahead, length)
    read = read_of(drops_of(chosen), EventBounds(first, last), {"packets": frozenset(chosen)}, opened)
    needed = [
        (part, number)
        for part, (window, dropped) in chosen.items()
        for number in NUMBERS
        if number not in dropped
        for start in [window.offset_microseconds + number * window.slide_microseconds]
        if start <= last and max(first, opened) < start + window.size_microseconds
    ]
    assert read == ({} if needed else SHARES)


def test_without_footers_everything_is_read_where_windows_may_be_dropped() -> None:
    window = WindowSpecification(5, 5)
    drops, parts = drops_of({"1": (window, frozenset(range(9)))}), {"packets": frozenset({"1"})}
    assert read_of(drops, None, parts) == {}
    assert read_of(drops, EventBounds(5, 9), parts) == SHARES
    assert read_of(drops, None, {}) == SHARES
    assert read_of(drops, EventBounds(5, 9), {"packets": frozenset({"1", "2"})}) == {}, "nothing is decided of it"


def test_rows_before_the_watermark_matter_only_to_windows_that_it_lies_in() -> None:
    window, parts = WindowSpecification(5, 5), {"packets": frozenset({"1"})}
    events = EventBounds(8, 14)
    assert read_of(drops_of({"1": (window, frozenset({2}))}), events, parts, opened=10) == SHARES
    assert read_of(drops_of({"1": (window, frozenset({2}))}), events, parts, opened=9) == {}
    assert read_of(drops_of({"1": (window, frozenset({2}))}), events, parts, opened=30) == SHARES
    assert read_of(drops_of({"1": (window, frozenset({6}))}), events, parts, opened=30) == {}


def test_of_a_query_that_drops_by_group_each_cohort_has_to_be_dropped() -> None:
    minutes = rows_of("packets").window("1 minute").by("value").agg(n="count(*)")
    by_group = minutes.query("by_group", mode="subset", max_gap=3, gaps_by="group")
    parts = tolerant_parts(droppable_queries(network(by_group)))
    window, dropped = WindowSpecification(60_000_000, 60_000_000), frozenset(range(9))
    all_dropped = dict.fromkeys(parts["packets"], (window, dropped))
    some, events = next(iter(parts["packets"])), EventBounds(0, 60_000_000)
    assert len(all_dropped) == 16
    assert read_of(drops_of(all_dropped), events, parts) == SHARES
    assert read_of(drops_of({**all_dropped, some: (window, frozenset({0}))}), events, parts) == {}
