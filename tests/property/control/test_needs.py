"""What networks tell each other: nothing is lost on the way, and only what nobody needs is left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.known_needs import known_needs
from streamshed.control.needs import Interval, NetworkNeeds, StreamNeeds, common_intervals
from streamshed.network.run.feed import Feed

RATES = st.one_of(st.none(), st.floats(0, 1e12))


@st.composite
def intervals(draw: st.DrawFn) -> tuple[Interval, ...]:
    bounds = sorted(draw(st.sets(st.integers(-50, 50), max_size=8)))
    return tuple(zip(bounds[::2], bounds[1::2], strict=False))


def streams() -> st.SearchStrategy[StreamNeeds]:
    shares = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1), max_size=2)
    return st.builds(StreamNeeds, rows_per_second=RATES, kept_shares=shares, unneeded=intervals())


def told() -> st.SearchStrategy[NetworkNeeds]:
    return st.builds(
        NetworkNeeds,
        told_at_seconds=st.floats(0, 2e9),
        lifetime_seconds=st.floats(1e-3, 1e6),
        streams=st.dictionaries(st.text(min_size=1, max_size=4), streams(), max_size=3),
    )


def holds(some: tuple[Interval, ...], instant: int) -> bool:
    return any(start <= instant < end for start, end in some)


@given(told())
def test_everything_is_read_as_it_was_written(needs: NetworkNeeds) -> None:
    assert NetworkNeeds.from_json(needs.to_json()) == needs


@given(st.lists(intervals(), min_size=1, max_size=4))
def test_an_instant_is_common_where_it_is_in_all(of_each: list[tuple[Interval, ...]]) -> None:
    common = common_intervals(of_each)
    for instant in range(-51, 52):
        assert holds(common, instant) == all(holds(some, instant) for some in of_each)


@given(st.lists(streams(), min_size=1, max_size=3), st.booleans())
def test_whatever_one_reader_needs_is_needed(readers: list[StreamNeeds], same_time: bool) -> None:
    places = [f"{number}" for number in range(len(readers))]
    published = {
        place: NetworkNeeds(told_at_seconds=0.0, lifetime_seconds=9.0, streams={"s": needs})
        for place, needs in zip(places, readers, strict=True)
    }
    feeds = [Feed(query="q", needs=place, stream="s", same_time=same_time) for place in places]
    found = known_needs(feeds, published, 5.0)
    assert found.ignored == ()
    rates = [needs.rows_per_second for needs in readers]
    known = [rate for rate in rates if rate is not None]
    assert found.rows_per_second == ({"q": max(known)} if len(known) == len(rates) else {})
    for instant in range(-51, 52):
        if holds(found.unneeded.get("q", ()), instant):
            assert same_time
            assert all(holds(needs.unneeded, instant) for needs in readers)


@given(st.lists(st.tuples(streams(), st.floats(0, 100)), min_size=1, max_size=3), st.floats(0, 100))
def test_what_is_older_than_its_lifetime_does_not_count(
    readers: list[tuple[StreamNeeds, float]], now_seconds: float
) -> None:
    published = {
        str(number): NetworkNeeds(told_at_seconds=at, lifetime_seconds=9.0, streams={"s": needs})
        for number, (needs, at) in enumerate(readers)
    }
    feeds = [Feed(query="q", needs=place, stream="s", same_time=True) for place in published]
    found = known_needs(feeds, published, now_seconds)
    stale = [place for place, needs in published.items() if abs(now_seconds - needs.told_at_seconds) > 9.0]
    assert len(found.ignored) == len(stale)
    if stale:
        assert (found.rows_per_second, found.unneeded) == ({}, {})
