import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.feed import Feed, feed_problems, refuse_bad_feeds
from streamshed.network.source.sources import rate


def ticks() -> QueryNetwork:
    rows = stream("ticks", rate(1), time="timestamp")
    return network(
        rows.query("rows"),
        rows.filter("value > 1").query("all_rows", mode="exact"),
        rows.window("1 second").agg(n="count(*)").query("counts"),
        rows.window("1 second").agg(top="max(value)").query("largest", mode="subset", max_gap=5),
    )


def feed(query: str, *, same_time: bool = False) -> Feed:
    return Feed(query=query, needs="needs.json", stream="s", same_time=same_time)


def test_a_query_for_rows_may_feed_others() -> None:
    assert feed_problems([feed("rows")], ticks()) == []
    refuse_bad_feeds([feed("rows")], ticks())


def test_an_aggregate_that_may_miss_windows_may_feed_others() -> None:
    assert feed_problems([feed("largest", same_time=True)], ticks()) == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("row", 'there is no query "row" (did you mean "rows"?)'),
        ("counts", "aggregates, and fewer rows make no fewer answers"),
        ("largest", "known where event times are the starts of windows (same_time)"),
        ("all_rows", "in mode exact, of which no row may be shed"),
    ],
)
def test_others_may_not(query: str, problem: str) -> None:
    [found] = feed_problems([feed(query)], ticks())
    assert problem in found


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidNetworkError, match="2 problems"):
        refuse_bad_feeds([feed("counts"), feed("row")], ticks())
