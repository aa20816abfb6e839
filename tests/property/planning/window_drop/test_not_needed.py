"""Windows whose answers nobody needs are dropped, and no gap becomes longer for it than it may."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.not_needed import unneeded_rows, without_unneeded
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.runs import numbers_in

Interval = tuple[int, int]
SHARES = st.one_of(st.just(0.0), st.floats(0, 1))


@st.composite
def windows(draw: st.DrawFn) -> WindowSpecification:
    slide = draw(st.integers(1, 8))
    return WindowSpecification(slide + draw(st.integers(0, 12)), slide, draw(st.integers(0, slide - 1)))


@st.composite
def intervals(draw: st.DrawFn) -> tuple[Interval, ...]:
    bounds = sorted(draw(st.sets(st.integers(0, 300), max_size=10)))
    return tuple(zip(bounds[::2], bounds[1::2], strict=False))


@st.composite
def queries(draw: st.DrawFn) -> DroppableQuery:
    batch = draw(st.integers(1, 8))
    window = draw(windows())
    epoch = draw(st.integers(1, batch)) * window.slide_microseconds
    return DroppableQuery(
        query="q",
        definition_id=1,
        stream="s",
        window=window,
        gap_windows=batch,
        epoch=epoch,
        weight=1.0,
        work=("s", ""),
    )


STEPS = st.lists(st.tuples(st.integers(1, 40), SHARES, intervals()), min_size=1, max_size=12)


def lies_in(instant: int, unneeded: tuple[Interval, ...]) -> bool:
    return any(start <= instant < end for start, end in unneeded)


def stepwise(query: DroppableQuery, steps: list[tuple[int, float, tuple[Interval, ...]]]) -> list[QueryDrops]:
    """What is decided, micro-batch after micro-batch; with each, what was decided before the unneeded were dropped."""
    (name, part), latest = next(iter(query.parts.items())), 0
    state = QueryDrops.starting(part.coin, EventTimes(opened=0, carried_since=0, first=0, last=0))
    assert state is not None
    found = []
    for advance, share, unneeded in steps:
        times = EventTimes(opened=max(0, latest - 3), carried_since=0, first=latest, last=latest + advance)
        before = state
        decided = before.advanced(times, drop_share=share)
        state = without_unneeded({name: part}, {name: decided}, {1: unneeded}, {"s": times})[name]
        more = set(state.numbers()) - set(decided.numbers())
        assert set(decided.numbers()) <= set(state.numbers())
        assert all(lies_in(_start(query, number), unneeded) for number in more)
        assert set(numbers_in(state.elsewhere)) <= set(state.numbers())
        assert more <= set(numbers_in(state.elsewhere))
        latest += advance
        found.append(state)
    return found


def _start(query: DroppableQuery, number: int) -> int:
    return query.window.offset_microseconds + number * query.window.slide_microseconds


@given(queries(), STEPS)
def test_no_gap_is_longer_than_it_may_be(
    query: DroppableQuery, steps: list[tuple[int, float, tuple[Interval, ...]]]
) -> None:
    dropped: set[int] = set()
    for state in stepwise(query, steps):
        dropped |= set(state.numbers())
    ordered = sorted(dropped)
    runs = [list(run) for _, run in itertools.groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])]
    assert max((len(run) for run in runs), default=0) <= query.gap_windows


@given(queries(), STEPS)
def test_what_is_decided_can_be_written_down(
    query: DroppableQuery, steps: list[tuple[int, float, tuple[Interval, ...]]]
) -> None:
    for state in stepwise(query, steps):
        drops = WindowDrops(queries={"1": state})
        assert WindowDrops.from_document(json.loads(json.dumps(drops.to_document()))) == drops


@given(queries(), st.integers(1, 60))
def test_where_nothing_is_needed_all_are_dropped_that_may_be(query: DroppableQuery, advance: int) -> None:
    """Of B + 1 windows one is kept, for others who have a use for the query."""
    [state] = stepwise(query, [(advance, 0.0, ((0, 10_000),))])
    decided = range(1, state.coin.next_window)
    kept = [number for number in decided if not state.is_dropped(number)]
    assert all(other - one <= query.gap_windows + 1 for one, other in itertools.pairwise(kept))
    assert len(kept) <= 1 + len(decided) // (query.gap_windows + 1) + 1


@given(queries(), intervals(), st.integers(0, 100), st.integers(0, 60))
def test_a_row_is_unneeded_that_belongs_only_to_windows_nobody_needs(
    query: DroppableQuery, unneeded: tuple[Interval, ...], first: int, length: int
) -> None:
    last = first + length
    rows = unneeded_rows(query, unneeded, EventTimes(opened=0, carried_since=0, first=first, last=last))
    window = query.window
    for instant in range(first, last + 1):
        numbers = range(
            (instant - window.size_microseconds - window.offset_microseconds) // window.slide_microseconds + 1,
            (instant - window.offset_microseconds) // window.slide_microseconds + 1,
        )
        nobody = all(lies_in(_start(query, number), unneeded) for number in numbers)
        told = any(one.start <= instant < one.end for one in rows)
        assert told == (nobody and len(numbers) > 0)


def test_a_query_that_is_shut_down_is_left_as_it_is() -> None:
    query = DroppableQuery(
        query="q", definition_id=1, stream="s", window=WindowSpecification(4, 4), gap_windows=3, epoch=4, weight=1.0
    )
    name, part = next(iter(query.parts.items()))
    times = EventTimes(opened=0, carried_since=0, first=0, last=100)
    starting = QueryDrops.starting(part.coin, replace(times, last=0))
    assert starting is not None
    shut = starting.shut_down(times)
    assert without_unneeded({name: part}, {name: shut}, {1: ((0, 100),)}, {"s": times}) == {name: shut}
