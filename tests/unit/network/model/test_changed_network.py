"""A network with other queries, or other goals."""

from __future__ import annotations

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate

TICKS = stream("ticks", rate(10), time="timestamp")


def count(name: str, **goals: object) -> Query:
    return TICKS.window("10 seconds").agg(n="count(*)").query(name, **goals)  # type: ignore[arg-type]


def test_queries_come_and_go_and_the_reserve_stays() -> None:
    before = network(count("a"), count("b"), max_depth=3)
    after = before.with_queries(count("c")).without_queries("a")
    assert [query.name for query in after.queries] == ["b", "c"]
    assert after.max_depth == 3


def test_other_goals_change_neither_what_is_asked_nor_its_place() -> None:
    before = network(count("a"), count("b"))
    after = before.with_goals("a", weight=2, priority=1, mode="subset", max_gap=3)
    assert [query.name for query in after.queries] == ["a", "b"]
    assert after.query("a") == count("a", weight=2, priority=1, mode="subset", max_gap=3)
    assert after.query("a").definition_id == before.query("a").definition_id


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda it: it.with_queries(count("a")), 'two queries are named "a"'),
        (lambda it: it.without_queries("aa"), r'unknown query "aa".*did you mean "a"'),
        (lambda it: it.without_queries("a"), "at least one query"),
        (lambda it: it.with_goals("b", weight=1), 'unknown query "b"'),
        (lambda it: it.with_goals("a", wieght=1), r'unknown goal "wieght".*did you mean "weight"'),
        (lambda it: it.with_goals("a", weight=-1), "weight must be"),
        (lambda it: it.with_goals("a", mode="exakt"), 'did you mean "exact"'),
    ],
)
def test_what_cannot_be_is_refused(change: object, says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says):
        change(network(count("a")))  # type: ignore[operator]
