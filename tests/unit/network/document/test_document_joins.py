"""Joins in documents: they say the same as Python, and are written so that they load again."""

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.network.terms.join_condition import EqualColumns, JoinKey, inner_product, overlap, pairs_where

HOME = "/flows"
SCHEMAS = {
    "flows": "ts timestamp, src string, port int, tags array<string>, w map<string,double>",
    "alerts": "ts timestamp, host string, port bigint, labels array<string>, w map<string,double>, severity int",
}
STREAMS = "streamshed: 1\nstreams:\n" + "".join(
    f'  {name}: {{source: {{folder: {name}, format: json, schema: "{schema}"}}, time: ts, watermark: 2 seconds}}\n'
    for name, schema in SCHEMAS.items()
)
FLOWS, ALERTS = (
    stream(name, folder(f"{HOME}/{name}", "json", schema=schema), time="ts", watermark="2 seconds")
    for name, schema in SCHEMAS.items()
)


def _loaded(pairs: str) -> QueryNetwork:
    return parse_network(
        f"{STREAMS}operators:\n  pairs: {{{pairs}}}\nqueries: {{q: {{from: pairs}}}}", folder=HOME
    ).network


def _again(known: QueryNetwork) -> QueryNetwork:
    return parse_network(network_to_document(known), folder="/elsewhere").network


@pytest.mark.parametrize(
    ("written", "on"),
    [
        ("on: port", "port"),
        ("on: [port]", ["port"]),
        ("on: {src: host, port: port}", {"src": "host", "port": "port"}),
        ("overlap: {left: tags, right: labels, at_least: 2}", overlap("tags", "labels", at_least=2)),
        ("inner_product: {left: w, at_least: 0.5}", inner_product("w", at_least=0.5)),
        ("pairs_where: 'json:dumps'", pairs_where("json:dumps")),
    ],
)
def test_every_condition_says_the_same_as_in_python_and_is_written_as_it_loads(written: str, on: JoinKey) -> None:
    loaded = _loaded(f"from: flows, join: alerts, {written}, within: 30 seconds")
    assert loaded == network(FLOWS.join(ALERTS, on=on, within="30 seconds", name="pairs").query("q"))
    assert _again(loaded) == loaded


@pytest.mark.parametrize(("written", "stated"), [("", None), (", basic_window: 1500 ms", "1500 ms")])
def test_the_size_of_basic_windows_is_stated_or_chooses_itself(written: str, stated: str | None) -> None:
    """A size that is stated is not chosen, even where it is that which is chosen from."""
    loaded = _loaded(f"from: flows, join: alerts, on: port, within: 30 seconds{written}")
    join = loaded.streams[0].joined
    assert join is not None
    assert (join.basic_microseconds, join.chooses_basic) == (1_500_000, stated is None)
    assert _again(loaded) == loaded
    assert ("basic_window" in network_to_document(loaded)) == (stated is not None)
    said = (
        "cells of 1 second 500 milliseconds, or of a multiple that finds more"
        if stated is None
        else "cells of 1 second 500 milliseconds, 0.1"
    )
    assert said in str(loaded.explain())


def test_all_else_of_a_join_says_the_same_as_in_python() -> None:
    loaded = _loaded(
        "from: flows, join: alerts, on: port, within: [30 seconds, 0 s], basic_window: 500 ms, prefixes: [a_, b_],"
        " time: at, policy: direction, weight: b_severity * 2, memory: 512 MB, sampling: 0.25"
    )
    joined = FLOWS.join(
        ALERTS,
        on="port",
        within=("30 seconds", "0 s"),
        name="pairs",
        basic_window="500 ms",
        prefixes=("a_", "b_"),
        time="at",
        policy="direction",
        weight="b_severity * 2",
        memory="512 MB",
        sampling=0.25,
    )
    assert loaded == network(joined.query("q"))
    assert _again(loaded) == loaded


@pytest.mark.parametrize("mode", ["exact", "subset", "sample"])
def test_every_mode(mode: str) -> None:
    loaded = _loaded(f"from: flows, join: alerts, on: port, within: 30 seconds, mode: {mode}")
    assert loaded == network(FLOWS.join(ALERTS, on="port", within="30 seconds", name="pairs", mode=mode).query("q"))
    assert _again(loaded) == loaded


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_sample_of_either_side(side: str) -> None:
    said = f"within: 1 s, mode: sample, sampled_side: {side}"
    loaded = _loaded(f"from: flows, join: alerts, overlap: {{left: tags, right: labels, at_least: 2}}, {said}")
    joined = FLOWS.join(
        ALERTS, on=overlap("tags", "labels", at_least=2), within="1 s", name="pairs", mode="sample", sampled_side=side
    )
    assert loaded == network(joined.query("q"))
    assert _again(loaded) == loaded


OPERATORS = """
operators: # in any order
  late: {from: pairs, filter: alerts_severity > 2}
  pairs: {from: busy, join: severe, on: {src: who}, within: 30 seconds}
  severe: {from: named, filter: severity > 1}
  named: {from: alerts, map: {who: upper(host)}}
  busy: {from: flows, filter: port > 3}
  twins: {from: busy, join: flows, on: port, within: 1 second, prefixes: [a_, b_]}
queries:
  per_host: {from: late, window: {size: 1 minute}, by: [flows_src], aggregates: {n: count(*)}}
  largest:
    from: counted
    window: {size: 10 minutes}
    aggregates: {most: max(n)}
  twins: {from: twins, where: a_src = b_src}
  flows_alone: {from: busy, window: {size: 1 minute}, aggregates: {n: count(*)}}
"""
COUNTED = "  counted: {from: late, window: {size: 1 minute}, by: [flows_src], aggregates: {n: count(*)}}\n"


def test_operators_before_and_after_joins_nested_aggregates_and_several_joins() -> None:
    loaded = parse_network(STREAMS + OPERATORS.replace("queries:", f"{COUNTED}queries:"), folder=HOME).network
    busy = FLOWS.filter("port > 3")
    severe = ALERTS.map(who="upper(host)").filter("severity > 1")
    late = busy.join(severe, on={"src": "who"}, within="30 s", name="pairs").filter("alerts_severity > 2")
    counted = late.window("1 minute").by("flows_src").agg(n="count(*)")
    twins = busy.join(FLOWS, on="port", within="1 s", prefixes=("a_", "b_"), name="twins")
    assert loaded == network(
        counted.query("per_host"),
        counted.window("10 minutes").agg(most="max(n)").query("largest"),
        twins.filter("a_src = b_src").query("twins"),
        busy.window("1 minute").agg(n="count(*)").query("flows_alone"),
    )
    assert _again(loaded) == loaded


def test_operators_on_both_ways_have_names_of_their_own() -> None:
    taken = stream("flows_filter_1", folder(f"{HOME}/taken", "json", schema=SCHEMAS["flows"]), time="ts")
    joined: Rows = FLOWS.filter("port > 3").join(taken, on="port", within="1 s", name="flows_filter_2")
    known = network(joined.filter("flows_port > 4").query("q"), FLOWS.filter("port > 5").query("r"))
    assert _again(known) == known


def test_what_no_document_can_say_is_refused_with_the_reason() -> None:
    local = FLOWS.join(ALERTS, on=pairs_where(lambda left, _: left), within="1 s", name="local")
    several = FLOWS.join(ALERTS, on=EqualColumns((("src", "host"), ("src", "HOST"))), within="1 s", name="same")
    assert _again(network(several.query("q"))) == network(several.query("q"))
    twice = FLOWS.map(who="src", whom="src").join(
        ALERTS.map(a="host", b="host"), on=EqualColumns((("who", "a"), ("who", "b"))), within="1 s", name="twice"
    )
    with pytest.raises(InvalidNetworkError) as raised:
        network_to_document(network(local.query("a"), twice.query("b")))
    assert [problem.partition(":")[0] for problem in raised.value.problems] == [
        'stream "local"',
        'stream "twice" compares one column of its left side with several',
    ]
