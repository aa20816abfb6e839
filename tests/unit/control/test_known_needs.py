import pytest

from streamshed.control.known_needs import KnownNeeds, Published, known_needs, unneeded_by_definition
from streamshed.control.needs import InvalidNeedsError, NetworkNeeds, StreamNeeds
from streamshed.network.model.declared_stream import stream
from streamshed.network.run.feed import Feed
from streamshed.network.source.sources import rate

NOW = 110.0


def told(rate_per_second: float | None = None, unneeded: tuple[tuple[int, int], ...] = ()) -> NetworkNeeds:
    needs = StreamNeeds(rows_per_second=rate_per_second, unneeded=unneeded)
    return NetworkNeeds(told_at_seconds=100.0, lifetime_seconds=30.0, streams={"alerts": needs})


def known(*found: Published, same_time: bool = True) -> KnownNeeds:
    places = [f"{number}.json" for number in range(len(found))]
    feeds = [Feed(query="q", needs=place, stream="alerts", same_time=same_time) for place in places]
    return known_needs(feeds, dict(zip(places, found, strict=True)), NOW)


def test_the_largest_of_several_needs_counts_and_only_what_none_needs_is_unneeded() -> None:
    both = known(told(5.0, ((0, 10),)), told(8.0, ((5, 20),)))
    assert both == KnownNeeds(rows_per_second={"q": 8.0}, unneeded={"q": ((5, 10),)})


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (None, "q: nothing is published at 1.json yet"),
        (InvalidNeedsError("no JSON"), "q: what is published at 1.json cannot be read: no JSON"),
        (NetworkNeeds(told_at_seconds=10.0, lifetime_seconds=30.0, streams={}), "q: what 1.json says is 100 s old"),
        (
            NetworkNeeds(told_at_seconds=100.0, lifetime_seconds=30.0, streams={"alert": StreamNeeds()}),
            'q: 1.json tells of no stream "alerts" (did you mean "alert"?)',
        ),
    ],
)
def test_where_one_has_told_nothing_that_holds_all_rows_are_needed(other: Published, reason: str) -> None:
    found = known(told(5.0, ((0, 10),)), other)
    assert (found.rows_per_second, found.unneeded) == ({}, {})
    [ignored] = found.ignored
    assert ignored.startswith(reason)


def test_who_can_use_any_number_needs_all_rows() -> None:
    assert known(told(5.0), told(None)).rows_per_second == {}


def test_times_count_only_where_they_are_the_same() -> None:
    assert known(told(5.0, ((0, 10),)), same_time=False) == KnownNeeds(rows_per_second={"q": 5.0})


def test_queries_that_share_rows_need_what_any_of_them_needs() -> None:
    ticks = stream("ticks", rate(1), time="timestamp")
    fed, alike, other = ticks.query("fed"), ticks.query("alike"), ticks.filter("value > 1").query("other")
    unneeded = {"fed": ((0, 10),), "other": ((3, 4),)}
    assert unneeded_by_definition([fed, other], unneeded) == {
        fed.definition_id: ((0, 10),),
        other.definition_id: ((3, 4),),
    }
    assert unneeded_by_definition([fed, alike, other], unneeded) == {other.definition_id: ((3, 4),)}
    both = unneeded | {"alike": ((5, 20),)}
    assert unneeded_by_definition([fed, alike], both) == {fed.definition_id: ((5, 10),)}
