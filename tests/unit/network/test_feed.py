import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.feed import Feed, feed_problems, refuse_bad_feeds
from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import rate
from streamshed.network.stream import stream


def ticks() -> QueryNetwork:
    rows = stream("ticks", rate(1), time="timestamp")
    return network(
        rows.query("rows"),
        rows.filter("value > 1").query("all_rows", mode="exact"),
        rows.window("1 second").agg(n="count(*)").query("counts"),
    )


def feed(query: str) -> Feed:
    return Feed(query=query, needs="needs.json", stream="s")


def test_a_query_for_rows_may_feed_others() -> None:
    assert feed_problems([feed("rows")], ticks()) == []
    refuse_bad_feeds([feed("rows")], ticks())


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("row", 'there is no query "row" (did you mean "rows"?)'),
        ("counts", "aggregates, and fewer rows make no fewer answers"),
        ("all_rows", "in mode exact, of which no row may be shed"),
    ],
)
def test_others_may_not(query: str, problem: str) -> None:
    [found] = feed_problems([feed(query)], ticks())
    assert problem in found


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidNetworkError, match="2 problems"):
        refuse_bad_feeds([feed("counts"), feed("row")], ticks())
