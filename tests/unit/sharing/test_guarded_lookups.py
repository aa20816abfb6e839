"""A lookup is made for the rows that all who ask for it have in common, after what tells which these are."""

from __future__ import annotations

import pytest

import streamshed as ss
from streamshed.network.model.rows import Rows
from streamshed.sharing.instructions import Match, Test
from streamshed.sharing.layers import layers
from streamshed.sharing.resolution import resolve_stream

HOSTS = ss.relation("hosts", "hosts.csv", schema="host string")
SUBNETS = ss.relation("subnets", "subnets.csv", schema="host string")


@pytest.fixture
def packets() -> Rows:
    files = ss.folder("packets", "parquet", schema="ts timestamp, host string, proto int, size int")
    return ss.stream("packets", files, time="ts")


def found(packets: Rows, *nodes: Rows) -> tuple[dict[str, Match], dict[str, str]]:
    """The lookups by the name of their relation, and the tests' SQL by their column."""
    instructions = resolve_stream(packets.stream, [node.node for node in nodes]).instructions
    matches = {one.relation.name: one for one in instructions if isinstance(one, Match)}
    return matches, {one.column: one.sql for one in instructions if isinstance(one, Test)}


def guards(packets: Rows, relation: str, *nodes: Rows) -> list[str]:
    matches, tests = found(packets, *nodes)
    return [tests.get(condition, "a lookup").replace("`", "") for condition in matches[relation].guard]


def test_what_one_query_has_passed(packets: Rows) -> None:
    tcp = packets.filter("proto = 6")
    assert guards(packets, "hosts", tcp.semijoin(HOSTS, on={"host": "host"})) == ["proto = 6"]


def test_what_all_queries_have_passed(packets: Rows) -> None:
    tcp = packets.filter("proto = 6")
    large = packets.filter("size > 999").filter("proto = 6")
    both = (tcp.semijoin(HOSTS, on={"host": "host"}), large.semijoin(HOSTS, on={"host": "host"}))
    assert guards(packets, "hosts", *both) == ["proto = 6"]
    assert guards(packets, "hosts", *reversed(both)) == ["proto = 6"]


def test_nothing_where_one_asks_for_all_rows(packets: Rows) -> None:
    tcp = packets.filter("proto = 6").semijoin(HOSTS, on={"host": "host"})
    unknown = packets.semijoin(HOSTS, on={"host": "host"}, negate=True)
    assert guards(packets, "hosts", tcp, unknown) == []


def test_lookups_in_either_order_do_not_wait_for_each_other(packets: Rows) -> None:
    one = packets.semijoin(HOSTS, on={"host": "host"}).semijoin(SUBNETS, on={"host": "host"})
    other = packets.semijoin(SUBNETS, on={"host": "host"}).semijoin(HOSTS, on={"host": "host"})
    assert guards(packets, "subnets", one) == ["a lookup"]
    assert guards(packets, "subnets", one, other) == []
    assert guards(packets, "hosts", one, other) == []


@pytest.mark.parametrize("is_inlined", [False, True])
def test_a_lookup_comes_after_what_guards_it(packets: Rows, is_inlined: bool) -> None:
    known = packets.filter("proto = 6").semijoin(HOSTS, on={"host": "host"})
    instructions = resolve_stream(packets.stream, [known.node]).instructions
    test = next(one.column for one in instructions if isinstance(one, Test))
    laid_out = layers(instructions, frozenset({test} if is_inlined else ()))
    assert [[m.relation.name for m in layer.matches] for layer in laid_out] == [[], ["hosts"]]
    assert [[one.column for one in layer.columns] for layer in laid_out] == [[test], []]
