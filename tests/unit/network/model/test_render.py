import json

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.render import snapshot, to_dot, to_json, to_mermaid, to_text
from tests.unit.network.examples import hosts, packets


def monitor() -> QueryNetwork:
    tcp = packets().filter("proto = 6")
    web = tcp.filter("dest_port in (80, 443)").lookup(hosts(), on={"src_host": "host"}, columns=["subnet"])
    return network(
        tcp.window("5 minutes", every="10 seconds").agg(bytes="sum(size)").query("tcp_bytes", weight=2.5),
        web.window("1 minute").by("subnet").agg(n="count(*)").query("web", priority=1, mode="exact"),
        tcp.filter("src_host like '\"a\\\\b\"' and size > 3").query("raw"),
    )


def test_the_text_is_a_tree() -> None:
    assert to_text(snapshot(monitor())).splitlines() == [
        "packets (time ts, watermark 1 second)",
        "└─ filter proto = 6",
        "   ├─ bytes = sum(size) over 5 minutes every 10 seconds",
        "   │  └─ query tcp_bytes (weight 2.5)",
        "   ├─ filter dest_port in (80, 443)",
        "   │  └─ lookup hosts on src_host = host",
        "   │     └─ n = count(*) over 1 minute by subnet",
        "   │        └─ query web (priority 1, exact)",
        "   └─ filter src_host like '\"a\\\\b\"' and size > 3",
        "      └─ query raw",
    ]


def test_a_network_draws_itself_in_each_form() -> None:
    picture = snapshot(monitor())
    forms = {"text": to_text, "mermaid": to_mermaid, "dot": to_dot, "json": to_json}
    assert {form: monitor().render(form) for form in forms} == {form: draw(picture) for form, draw in forms.items()}
    assert monitor().render() == to_text(picture)
    with pytest.raises(InvalidNetworkError, match=r'got "mermiad" \(did you mean "mermaid"\?\)'):
        monitor().render("mermiad")


def test_every_stream_is_a_tree_of_its_own() -> None:
    both = network(packets("b").query("x"), packets("a").query("y"))
    assert to_text(snapshot(both)).splitlines()[::2] == [
        "b (time ts, watermark 1 second)",
        "a (time ts, watermark 1 second)",
    ]


def test_mermaid_escapes_what_it_would_take_for_its_own() -> None:
    lines = to_mermaid(snapshot(monitor())).splitlines()
    assert lines[:2] == ["flowchart TD", '  n0[("packets (time ts, watermark 1 second)")]']
    assert "  n6[\"filter src_host like '#quot;a\\\\b#quot;' and size #gt; 3\"]" in lines
    assert '  n2 --> q0(["tcp_bytes (weight 2.5)"])' in lines
    assert "  n1 --> n6" in lines


def test_dot_escapes_quotes_and_backslashes() -> None:
    lines = to_dot(snapshot(monitor())).splitlines()
    assert lines[0] == "digraph network {"
    assert lines[-1] == "}"
    assert '  n6 [label="filter src_host like \'\\"a\\\\\\\\b\\"\' and size > 3"];' in lines
    assert "  n1 -> n6;" in lines


def test_json_holds_all_of_the_snapshot() -> None:
    picture = snapshot(monitor())
    written = json.loads(to_json(picture))
    assert [node["id"] for node in written["nodes"]] == [node.id for node in picture.nodes]
    assert written["nodes"][1] == {
        "id": "n1",
        "kind": "filter",
        "label": "filter proto = 6",
        "input": "n0",
        "columns": dict(packets().columns),
        "joins": [],
        "address": "packets > filter proto = 6",
    }
    assert written["queries"][0]["definition_id"] == monitor().queries[0].definition_id
