import sys
from types import ModuleType

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import TimeDomain, network
from streamshed.network.model.node import Node
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import rate
from streamshed.network.sql.sql_syntax import read_sql
from tests.unit.network.examples import HOSTS_FRAME, PACKET_COLUMNS, FakeFrame, hosts, packets


def count(node: Rows, name: str) -> Query:
    return node.window("1 minute").agg(n="count(*)").query(name)


def ticks(name: str, clock: str = "time") -> Rows:
    return stream(name, rate(1), time="timestamp", clock=clock)


def test_equal_operators_written_separately_are_shared() -> None:
    shared = network(
        count(packets().filter("proto = 6"), "one"),
        count(packets().filter("PROTO=6").filter("size > 3"), "two"),
        packets().filter("(proto = 6)").query("three"),
    )
    assert [str(node) for node in shared.nodes] == [
        *("packets", "filter proto = 6", "n = count(*) over 1 minute"),
        *("filter size > 3", "n = count(*) over 1 minute"),
    ]


def test_nodes_come_after_their_inputs() -> None:
    mixed = network(*(count(packets().filter(f"size > {n}").map(a="size"), f"q{n}") for n in range(5)))
    seen: set[Node | Aggregate] = set()
    for node in mixed.nodes:
        if not isinstance(node, Stream):
            above = node.input if isinstance(node, Aggregate) else node.path[-2]
            assert above in seen
        seen.add(node)


def test_streams_and_relations_are_sorted_by_name() -> None:
    on = {"src_host": "host"}
    both = network(
        count(packets("zebra").semijoin(hosts("servers"), on=on), "a"),
        count(packets("ant").semijoin(hosts("clients"), on=on), "b"),
    )
    assert [stream.name for stream in both.streams] == ["ant", "zebra"]
    assert [relation.name for relation in both.relations] == ["clients", "servers"]


def test_streams_of_one_clock_are_one_domain() -> None:
    a, b, c = ticks("a"), ticks("b", clock="blocks"), ticks("c")
    domains = network(count(c, "c"), count(b, "b"), count(a, "a")).time_domains
    assert domains == (TimeDomain("blocks", (b.stream,)), TimeDomain("time", (a.stream, c.stream)))


def test_queries_are_found_by_name() -> None:
    query = count(packets(), "one")
    assert network(query).query("one") is query
    with pytest.raises(KeyError):
        network(query).query("two")


def test_equal_networks_are_equal() -> None:
    assert network(count(packets(), "a")) == network(count(packets(), "a"))
    assert hash(network(count(packets(), "a"))) == hash(network(count(packets(), "a")))
    assert network(count(packets(), "a")) != network(count(packets(), "a"), max_depth=2)


def test_all_that_is_wrong_is_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        network(
            count(packets(), "one"),
            count(packets(), "one"),
            count(packets(frame=FakeFrame(PACKET_COLUMNS), watermark="2 s"), "ONE"),
            count(packets().semijoin(hosts(), on={"src_host": "host"}), "two"),
            count(
                packets().semijoin(hosts(frame=FakeFrame(HOSTS_FRAME.dtypes)), on={"src_host": "host"}),
                "three",
            ),
            max_depth=0,
        )
    once = " (was it meant to be declared once?)"
    assert caught.value.problems == (
        "max_depth must be a whole number of at least 1, got 0",
        'two queries are named "one" and "one", the same to Spark',
        'two queries are named "one" and "ONE", the same to Spark',
        f'two different streams are named "packets": they differ in source, watermark_microseconds{once}',
        f'two different relations are named "hosts": they differ in source{once}',
    )


def test_a_network_needs_queries() -> None:
    with pytest.raises(InvalidNetworkError, match="a network needs at least one query"):
        network()
    with pytest.raises(InvalidNetworkError, match=r'got Rows: filter proto = 6 \(is .query\("name"\) missing'):
        network(packets().filter("proto = 6"))  # type: ignore[arg-type]


def test_an_sql_text_is_read_once_however_often_it_is_written() -> None:
    before = read_sql.cache_info().misses
    queries = [
        count(packets().filter(f"size > {n % 10} and proto = 6").map(kb="size / 1024"), f"q{n}") for n in range(700)
    ]
    assert len(network(*queries).nodes) == 1 + 10 * 3
    assert read_sql.cache_info().misses - before <= 50


def test_running_is_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ModuleType("streamshed.spark")
    engine.start = lambda *arguments, **settings: ("started", arguments, settings)  # type: ignore[attr-defined]
    engine.answers = lambda *arguments, **settings: ("answered", arguments, settings)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "streamshed.spark", engine)
    asked = network(count(packets(), "a"))
    assert asked.start("session", trigger="1 s") == ("started", (asked, "session"), {"trigger": "1 s"})
    assert asked.answers("session") == ("answered", (asked, "session"), {})


def test_names_that_differ_in_case_only_are_one_to_spark() -> None:
    events = count(packets("p"), "a")
    known = count(packets("p").semijoin(hosts("h"), on={"src_host": "host"}), "b")
    unknown = count(packets("P").semijoin(hosts("H"), on={"src_host": "host"}), "c")
    with pytest.raises(InvalidNetworkError) as caught:
        network(events, known, unknown)
    assert caught.value.problems == (
        'two streams are named "P" and "p", the same to Spark',
        'two relations are named "H" and "h", the same to Spark',
    )
