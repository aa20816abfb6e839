"""Windows that are kept as all their rows are needed anyway: no row more, no gap longer, none left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track import decisions
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.state_limit import Pressure
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from tests.thoroughness import examples

MOST_OVERLAP = 21
"""So many windows hold an instant at most."""


@st.composite
def queries(draw: st.DrawFn) -> dict[str, DroppableQuery]:
    """Some queries over the same rows, some over others, with epochs in common."""
    epoch = draw(st.integers(1, 40))
    found = {}
    for number in range(draw(st.integers(1, 4))):
        slide = draw(st.integers(1, 12))
        size = slide + draw(st.integers(0, 20))
        found[f"q{number}"] = DroppableQuery(
            query=f"q{number}",
            definition_id=number,
            stream="rows",
            window=WindowSpecification(size, slide, draw(st.integers(0, slide - 1))),
            gap_windows=draw(st.integers(1, 12)),
            epoch=epoch,
            weight=1.0,
            work=(draw(st.sampled_from(["all", "all", "some"])),),
        )
    return found


def times_until(last: int, first: int) -> EventTimes:
    return EventTimes(opened=first, carried_since=0, first=first, last=last)


def decided(asked: dict[str, DroppableQuery], steps: list[tuple[int, float]]) -> list[dict[str, QueryDrops]]:
    """What is decided micro-batch by micro-batch."""
    drops, first, found = WindowDrops(queries={}), 0, []
    for length, share in steps:
        upcoming = UpcomingWindows(event_times={"rows": times_until(first + length - 1, first)}, drops=drops)
        drops = advanced_drops(asked, dict.fromkeys(asked, share), upcoming)
        found.append(dict(drops.queries))
        first += length
    return found


def without_riders(asked: dict[str, DroppableQuery], length: int, share: float) -> dict[str, QueryDrops]:
    """What is decided before anybody rides."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "with_riders", lambda _queries, _before, decided: dict(decided))
        return decided(asked, [(length, share)])[0]


def needed(one: QueryDrops) -> set[int]:
    """The instants that the kept windows need; those that began before anything was decided are kept."""
    window, found = one.coin.window, set[int]()
    for number in range(-MOST_OVERLAP, one.coin.next_window):
        start = window.offset_microseconds + number * window.slide_microseconds
        if not one.is_dropped(number):
            found |= set(range(start, start + window.size_microseconds))
    return found


@examples(300)
@given(queries(), st.integers(5, 60), st.floats(0.1, 1.0))
def test_riders_need_no_row_that_nobody_else_needs_and_none_is_left_out(
    asked: dict[str, DroppableQuery], length: int, share: float
) -> None:
    together, apart = decided(asked, [(length, share)])[0], without_riders(asked, length, share)
    for work in {one.work for one in asked.values()}:
        alone = {str(one.definition_id): apart[str(one.definition_id)] for one in asked.values() if one.work == work}
        before, after = (set[int]().union(*(needed(found[name]) for name in alone)) for found in (alone, together))
        assert after == before
        for name, one in alone.items():
            window, dropped = one.coin.window, together[name].numbers()
            assert set(dropped) <= set(one.numbers())
            for number in dropped:
                start = window.offset_microseconds + number * window.slide_microseconds
                assert not set(range(start, start + window.size_microseconds)) <= after


@given(queries(), st.lists(st.tuples(st.integers(5, 60), st.floats(0.0, 1.0)), min_size=2, max_size=6))
def test_no_gap_is_too_long(asked: dict[str, DroppableQuery], steps: list[tuple[int, float]]) -> None:
    told = decided(asked, [(length, max(share, 1e-9)) for length, share in steps])
    for one in asked.values():
        name = str(one.definition_id)
        dropped = set[int]().union(*(drops[name].numbers() for drops in told))
        gap = 0
        for number in range(told[-1][name].coin.next_window):
            gap = gap + 1 if number in dropped else 0
            assert gap <= one.gap_windows


def test_nobody_rides_while_state_is_to_be_kept_small() -> None:
    asked = {
        name: DroppableQuery(
            query=name,
            definition_id=number,
            stream="rows",
            window=WindowSpecification(size, size),
            gap_windows=3,
            epoch=5,
            weight=1.0,
        )
        for number, (name, size) in enumerate((("short", 5), ("long", 20)))
    }

    def dropped(pressure: Pressure) -> int:
        upcoming = UpcomingWindows(
            event_times={"rows": times_until(199, 0)}, drops=WindowDrops(queries={}, pressure=pressure)
        )
        return len(advanced_drops(asked, {"short": 0.3, "long": 0.5}, upcoming).queries["0"].numbers())

    assert dropped(Pressure.TIGHT) > dropped(Pressure.NONE) > 0
