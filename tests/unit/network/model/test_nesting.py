"""Answers as rows: what can be asked of them, and what cannot."""

import re

import pytest

from streamshed.errors import InvalidDocumentError, InvalidNetworkError, UnsheddableQueryError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.foundation import Foundation, chains
from streamshed.network.model.network import network
from streamshed.network.model.rows import Answers, Rows
from streamshed.network.source.sources import rate
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.tree.scalability import check_scalable

SECOND = 1_000_000


def ticks() -> Rows:
    return stream("ticks", rate(10), time="timestamp")


def sums() -> Answers:
    return ticks().window("10 s").by(odd="value % 2").agg(total="sum(value)", n="count(*)")


def test_answers_have_the_columns_of_windows_keys_and_aggregates() -> None:
    columns = sums().filter("n > 3").columns
    assert dict(columns) == {
        "window_start": "timestamp",
        "window_end": "timestamp",
        "odd": None,
        "total": "bigint",
        "n": "bigint",
    }


def test_windows_of_all_levels_are_known() -> None:
    query = sums().window("1 minute", every="20 s").agg(most="max(total)").query("most", mode="exact")
    assert query.windows == (
        WindowSpecification(10 * SECOND, 10 * SECOND),
        WindowSpecification(60 * SECOND, 20 * SECOND),
    )
    assert network(query).depth == 2
    assert network(query, max_depth=4).depth == 4


def test_equal_nested_queries_have_one_definition_and_others_do_not() -> None:
    first = sums().filter("n > 3").window("1 minute").agg(most="max(total)")
    alike = sums().filter("(n  >  3)").window("1 minute").agg(largest="max( total )")
    asked = [aggregate.query("q", mode="exact") for aggregate in (first, alike)]
    assert asked[0].definition_id == asked[1].definition_id
    shorter = ticks().window("5 s").by(odd="value % 2").agg(total="sum(value)", n="count(*)")
    renamed = ticks().window("10 s").by(odd="value % 2").agg(n="sum(value)", total="count(*)")
    for other in (shorter, renamed):
        query = other.filter("n > 3").window("1 minute").agg(most="max(total)").query("q", mode="exact")
        assert query.definition_id != asked[0].definition_id


def test_aggregates_that_nobody_uses_do_not_matter() -> None:
    fewer = ticks().window("10 s").by(odd="value % 2").agg(total="sum(value)")
    asked = [one.window("1 minute").agg(most="max(total)").query("q", mode="exact") for one in (sums(), fewer)]
    assert asked[0].definition_id == asked[1].definition_id


def test_what_is_asked_of_the_stream_is_the_first_aggregate() -> None:
    nested = sums().window("1 minute").agg(most="max(total)")
    plain = sums().query("sums")
    whole = network(plain, nested.query("exactly", mode="exact"), nested.query("some", mode="subset", max_gap=3))
    foundation = whole.foundation
    assert [query.node for query in foundation.queries] == [sums().node] * 3
    assert len({query.definition_id for query in foundation.queries}) == 2
    assert {query.gap_windows for query in foundation.queries} == {0}
    assert foundation.foundation.queries == foundation.queries
    alone = network(plain, nested.query("some", mode="subset", max_gap=3)).foundation.query("some")
    assert isinstance(alone, Foundation)
    assert (alone.gap_windows, alone.asked_windows) == (3, nested.query("q", mode="exact").windows)
    assert alone.asked_definition_id == nested.query("q", mode="exact").definition_id


def test_what_is_asked_of_the_stream_is_the_same_whoever_tolerates_gaps() -> None:
    """State knows it by its definition: open windows go on when a query's mode changes, or one comes or goes."""
    nested = sums().window("1 minute").agg(most="max(total)")
    exactly, some = nested.query("exactly", mode="exact"), nested.query("some", mode="subset", max_gap=3)
    beside = sums().window("1 minute").agg(least="min(total)").query("beside", mode="subset", max_gap=2)
    networks = [
        network(exactly),
        network(some),
        network(exactly, some),
        network(some, beside),
        network(exactly, beside),
    ]
    found = {query.definition_id for asked in networks for query in asked.foundation.queries}
    assert len(found) == 1


def test_a_chain_ends_with_the_query() -> None:
    query = sums().window("1 minute").agg(most="max(total)").query("most", mode="exact")
    (chain,) = chains([query])
    assert chain[-1] is query
    assert len(chain) == 2


@pytest.mark.parametrize("call", ["median(value)", "approx_count_distinct(value)"])
def test_nothing_rests_on_estimates(call: str) -> None:
    middle = ticks().window("10 s").agg(middle=call)
    with pytest.raises(
        InvalidNetworkError, match=r'aggregates answers of "middle = .*estimate even when nothing is shed'
    ):
        middle.window("1 minute").agg(most="max(middle)").query("most", mode="exact")


def test_rows_that_are_answers_are_no_query() -> None:
    with pytest.raises(InvalidNetworkError, match="ask for that aggregate itself"):
        sums().filter("n > 3").query("rows")


def test_the_time_of_answers_cannot_be_replaced_but_that_of_the_stream_is_a_name_like_any() -> None:
    with pytest.raises(InvalidNetworkError, match='"window_start" is the time of the answers'):
        sums().map(window_start="window_end")
    assert "timestamp" in sums().map(timestamp="window_end").columns


def test_unknown_columns_of_answers_are_named() -> None:
    with pytest.raises(InvalidNetworkError, match=re.escape('unknown column "totl" (did you mean "total"?)')):
        sums().filter("totl > 3")


def test_approximate_answers_of_nested_aggregates_are_refused_with_the_ways_out() -> None:
    query = sums().window("1 minute").agg(most="sum(total)").query("most")
    with pytest.raises(UnsheddableQueryError, match=r'answers of another aggregate.*mode="exact".*mode="subset"'):
        check_scalable(network(query))


def test_documents_say_the_same() -> None:
    per_minute = sums().filter("n > 3").window("1 minute").by("odd").agg(most="max(total)")
    whole = network(
        sums().query("sums"),
        per_minute.query("largest", mode="subset", max_gap=5),
        per_minute.window("1 hour").agg(mean="avg(most)").query("hourly", mode="exact"),
        max_depth=4,
    )
    text = network_to_document(whole)
    assert parse_network(text).network == whole
    assert network_to_document(parse_network(text).network) == text


def test_an_aggregate_among_operators_is_checked_where_it_stands() -> None:
    text = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
operators:
  sums: {from: ticks, window: {size: 10 seconds}, aggregates: {total: smu(value)}}
  other: {from: ticks, window: {size: 10 seconds}, by: [nothing], aggregates: {total: sum(value)}}
queries:
  q: {from: ticks, window: {size: 1 minute}, aggregates: {n: count(*)}}
"""
    with pytest.raises(InvalidDocumentError) as refused:
        parse_network(text)
    assert "operators.sums.aggregates.total" in str(refused.value)
    assert "operators.other.by[0]" in str(refused.value)


def test_aggregates_of_ones_own_are_told_by_what_they_are_of() -> None:
    last = user_aggregate("stocks:Last", columns=["value"], returns="DOUBLE")
    assert str(last) == "stocks:Last(value)"
    first, alike, other = (
        ticks().window("10 s").agg(told=call).query("q", mode="exact").definition_id
        for call in (
            last,
            user_aggregate("stocks:Last", columns=["value"], returns="double"),
            user_aggregate("stocks:Last", columns=["value"], returns="float"),
        )
    )
    assert first == alike != other
    assert ticks().window("10 s").agg(told=last).columns["told"] == "double"


@pytest.mark.parametrize(
    ("columns", "says"), [([], "needs at least one column"), (["valu"], 'unknown column "valu" .did you mean "value"')]
)
def test_aggregates_of_ones_own_need_columns_that_there_are(columns: list[str], says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says):
        ticks().window("10 s").agg(told=user_aggregate("stocks:Last", columns=columns, returns="double"))


def test_documents_say_aggregates_of_ones_own() -> None:
    last = user_aggregate("stocks:Last", columns=["value", "timestamp"], returns="double")
    whole = network(ticks().window("10 s").agg(told=last, n="count(*)").query("q", mode="subset"))
    text = network_to_document(whole)
    assert "user: stocks:Last" in text
    assert parse_network(text).network == whole


def test_aggregates_of_ones_own_are_refused_where_they_would_be_sampled() -> None:
    last = user_aggregate("stocks:Last", columns=["value"], returns="double")
    with pytest.raises(UnsheddableQueryError, match="what it would have made of the rows dropped"):
        check_scalable(network(ticks().window("10 s").agg(told=last).query("q")))
