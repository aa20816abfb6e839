"""Which SQL is tried, and whose work it is."""

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.sharing.dear_sql import DearSql, dear_sql
from streamshed.sharing.stream_work import stream_work

TICKS = stream("ticks", rate(10), time="timestamp")
FOLD = "aggregate(sequence(1, 1000), 0L, (s, x) -> s + x) > value"


def judge(values: object) -> object:
    return values


def tried(*queries: Query) -> tuple[DearSql, ...]:
    return dear_sql(stream_work(TICKS.stream, queries))


def test_what_only_compares_and_reckons_is_not_tried() -> None:
    cheap = TICKS.filter("value >= 0 AND value IN (1, 2) AND pmod(value, 3) = 1 AND hour(timestamp) < 9")
    cheap = cheap.map(half="CASE WHEN value > 3 THEN value / 2 END")
    asked = cheap.window("10 seconds").by("half").agg(total="sum(CAST(value AS DOUBLE) * 2)")
    assert tried(asked.query("cheap")) == ()


def test_conjuncts_of_a_filter_are_tried_behind_those_before_them_and_are_its_work() -> None:
    both = TICKS.filter(f"value > 3 AND {FOLD} AND md5(CAST(value AS STRING)) > '7'")
    found = tried(both.window("10 seconds").agg(n="count(*)").query("both"))
    first, second = sorted(found, key=lambda one: len(one.guard))
    assert "sequence" in first.sql
    assert (len(first.guard), len(second.guard)) == (1, 2)
    assert {first.works, second.works} == {((both.node.address, ()),)}


def test_keys_and_values_are_the_work_of_their_aggregate() -> None:
    large = TICKS.filter("value > 3")
    query = large.window("10 seconds").by(digest="md5(value)").agg(total="sum(length(bin(value)))").query("sums")
    assert query.aggregate is not None
    found = tried(query)
    assert {one.sql for one in found} == {"md5(`value`)", "length(bin(`value`))"}
    works = {work for one in found for work in one.works}
    assert {address for address, _ in works} == {query.aggregate.asked_address}
    assert {len(coming) for _, coming in works} == {1}, "rows that pass the filter"


def test_the_same_sql_in_two_places_is_tried_once_and_the_work_of_both() -> None:
    first, second = (TICKS.map(**{name: "md5(value)"}) for name in ("a", "b"))
    queries = [
        node.window("10 seconds").agg(n=f"max({name})").query(name) for node, name in ((first, "a"), (second, "b"))
    ]
    (one,) = tried(*queries)
    assert {address for address, _ in one.works} == {first.node.address, second.node.address}


def test_what_needs_a_user_function_is_not_tried_as_that_is_not_called_on_trial() -> None:
    judged = TICKS.apply(judge, columns=["value"], into="verdict", returns="bigint")
    behind = judged.filter("md5(verdict) > 'a'").map(digest="md5(value)")
    assert tried(behind.window("10 seconds").agg(n="max(digest)").query("behind")) == ()


def test_aggregates_with_keys_of_one_name_are_told_apart() -> None:
    dear, cheap = (
        TICKS.window("10 seconds").by(key=sql).agg(n="count(*)").query(name)
        for name, sql in (("dear", "md5(value)"), ("cheap", "value"))
    )
    assert dear.aggregate is not None
    assert cheap.aggregate is not None
    assert dear.aggregate.asked_address != cheap.aggregate.asked_address
