"""Gaps by group: every cohort keeps the promises of a query, all of them together are even, and no row is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.terms.cohorts import COHORTS, part_name
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.open_windows import EventTimes, QueryDrops
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.retained_rows import places_of, retained_rows
from tests.oracles.intakes import intake_count
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of

SECOND = 1_000_000
Steps = list[tuple[int, float]]


@st.composite
def asked(draw: st.DrawFn) -> QueryNetwork:
    """Queries over one stream, by window, by group, and by groups of another kind."""
    queries: list[Query] = []
    for number in range(draw(st.integers(1, 4))):
        slide = draw(st.integers(1, 6))
        windowed = rows_of("packets").window(f"{slide + draw(st.integers(0, 9))} s", every=f"{slide} s")
        keys = draw(st.sampled_from([("value",), ("value",), ("value", "timestamp"), ()]))
        queries.append(
            windowed.by(*keys)
            .agg(n="count(*)")
            .query(
                f"q{number}",
                mode="subset",
                max_gap=draw(st.integers(1, 9)),
                gaps_by=draw(st.sampled_from(["group", "window"])) if keys else "window",
            )
        )
    return network(*queries)


steps = st.lists(st.tuples(st.integers(2, 40), st.floats(0.05, 1.0)), min_size=1, max_size=5)


def droppable(queries: QueryNetwork) -> dict[str, DroppableQuery]:
    return {one.query: one for one in droppable_queries(queries)}


def decided(one: dict[str, DroppableQuery], told: Steps) -> list[WindowDrops]:
    drops, first, found = WindowDrops(queries={}), 0, []
    for seconds, share in told:
        times = EventTimes(
            opened=first * SECOND, carried_since=0, first=first * SECOND, last=(first + seconds) * SECOND - 1
        )
        upcoming = UpcomingWindows(event_times={"packets": times}, drops=drops)
        drops = advanced_drops(one, dict.fromkeys(one, share), upcoming)
        found.append(drops)
        first += seconds
    return found


@examples(100)
@given(asked(), steps)
def test_no_cohort_has_a_gap_that_is_too_long(queries: QueryNetwork, told: Steps) -> None:
    found = decided(droppable(queries), told)
    for one in droppable(queries).values():
        for name in one.parts:
            dropped = set[int]().union(*(drops.queries[name].numbers() for drops in found))
            gap = 0
            for number in range(found[-1].queries[name].coin.next_window):
                gap = gap + 1 if number in dropped else 0
                assert gap <= one.gap_windows


@given(st.integers(2, 9), st.floats(0.0, 0.5), st.integers(1, 60))
def test_of_the_cohorts_as_many_drop_in_each_epoch(batch: int, drop_share: float, epochs: int) -> None:
    """Where every epoch is one window, and no gap comes to its bound: p of them, to the next whole number."""
    rows = rows_of("packets").window("1 s").by("value").agg(n="count(*)")
    one = droppable(network(rows.query("q", mode="subset", max_gap=batch, gaps_by="group")))["q"]
    told = [part.coin.through(epochs, drop_share=drop_share)[1] for part in one.parts.values()]
    assert len(told) == COHORTS
    for number in range(epochs):
        assert abs(sum(number in dropped for dropped in told) - drop_share * COHORTS) < 1 + 1e-9


@examples(60)
@given(asked(), steps)
def test_a_row_is_kept_iff_a_window_that_is_kept_for_its_groups_needs_it(queries: QueryNetwork, told: Steps) -> None:
    drops = decided(droppable(queries), told)[-1]
    work = stream_work(rows_of("packets").stream, queries.queries)
    found = retained_rows(work.gating, [0] * intake_count(work.gating), drops)
    if found is None:
        assert not any(one.unneeded for one in drops.queries.values())
        return
    places = places_of(work.gating)
    for slot in range(len(found.rates) // len(places)):
        start = found.base + slot * found.step
        for cohort in range(COHORTS):
            passed = any(
                found.rates[slot * len(places) + place] > 0
                for place, (_, of_place) in enumerate(places)
                if len(places) == 1 or of_place == cohort
            )
            assert passed == any(
                _needs(drops.queries[one.part_beside(cohort)], start) for one in droppable(queries).values()
            )


def _needs(one: QueryDrops, instant: int) -> bool:
    """Whether a window that is kept, or not decided on, holds an instant."""
    window = one.coin.window
    last = (instant - window.offset_microseconds) // window.slide_microseconds
    first = (instant - window.offset_microseconds - window.size_microseconds) // window.slide_microseconds + 1
    return any(not one.is_dropped(number) for number in range(first, last + 1))


@given(steps)
def test_a_query_that_goes_over_to_gaps_by_group_keeps_its_promise(told: Steps) -> None:
    """And back: what was decided stays, and no gap becomes too long by it."""
    rows = rows_of("packets").window("2 s", every="1 s").by("value").agg(n="count(*)")
    ways = [
        droppable(network(rows.query("q", mode="subset", max_gap=4, gaps_by=way))) for way in ("window", "group") * 3
    ]
    drops, first, missing = WindowDrops(queries={}), 0, [set[int]() for _ in range(COHORTS)]
    for (seconds, share), one in zip(told, ways, strict=False):
        opened = max(0, first - 2) * SECOND
        times = EventTimes(opened=opened, carried_since=0, first=first * SECOND, last=(first + seconds) * SECOND - 1)
        upcoming = UpcomingWindows(event_times={"packets": times}, drops=drops)
        drops = advanced_drops(one, {"q": share}, upcoming)
        for cohort in range(COHORTS):
            for name in (part_name(one["q"].definition_id, None), part_name(one["q"].definition_id, cohort)):
                missing[cohort] |= set(drops.queries[name].numbers()) if name in drops.queries else set()
        first += seconds
    for numbers in missing:
        gap = 0
        for number in range(first):
            gap = gap + 1 if number in numbers else 0
            assert gap <= 4
