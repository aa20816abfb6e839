"""Passwords, keys and tokens are shown nowhere: not by objects, not in messages, not in what a run writes down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import streamshed as ss
from streamshed.errors import StreamshedError
from streamshed.network.document.document import parse_network
from streamshed.network.run.run_settings import SinkSettings
from streamshed.network.run.settings import Settings
from streamshed.network.words.schema_registry import SchemaRegistry
from streamshed.spark import kafka_sink
from streamshed.spark.checkpoint.description import DOCUMENT_FILE, describe
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_server import PlanServer

SECRET = "s3cr3t"
OPTIONS = {
    "kafka.sasl.jaas.config": f"ScramLoginModule required password={SECRET};",
    "kafka.ssl.keystore.key": SECRET,
    "kafka.ssl.truststore.password": SECRET,
    "kafka.sasl.oauthbearer.client.credentials.client.secret": SECRET,
}
FILES = {"fs.s3a.secret.key": SECRET, "fs.s3a.session.token": SECRET, "fs.azure.account.key.x": SECRET}

SOURCES: dict[str, Any] = {
    "kafka": ss.kafka("packets", "host:9092", options=OPTIONS),
    "delta": ss.delta("fares", schema="timestamp timestamp, size int", options=FILES),
    "folder": ss.folder("in", format="csv", schema="timestamp timestamp, size int", options=FILES),
}
SHOWN: dict[str, Any] = {
    **SOURCES,
    "kafka_sink": kafka_sink("answers", "host:9092", options=OPTIONS),
    "sink settings": SinkSettings("kafka", "answers", "host:9092", tuple(OPTIONS.items())),
    "parse": ss.parse_json("value", "size int", options=FILES),
    "registry": ss.parse_avro("value", registry="http://registry", options={"basic.auth.user.info": f"a:{SECRET}"}),
    "registry itself": SchemaRegistry("http://registry", (("bearer.auth.token", SECRET),)),
    "client": PlanClient("http://127.0.0.1:1/time/0", SECRET),
}


def network_over(source: Any) -> ss.QueryNetwork:
    return ss.network(
        ss.stream("packets", source, time="timestamp").window("1 second").agg(n="count(*)").query("counted")
    )


def texts_of(shown: Any) -> list[str]:
    """All that an object says of itself."""
    ways = [getattr(shown, name)() for name in ("_repr_html_", "_repr_markdown_") if hasattr(shown, name)]
    return [repr(shown), str(shown), f"{[shown]}", *filter(None, ways)]


@pytest.mark.parametrize("name", SHOWN)
def test_an_object_does_not_show_it(name: str) -> None:
    assert SECRET not in "".join(texts_of(SHOWN[name]))


def test_neither_does_the_client_of_a_server() -> None:
    with PlanServer() as server:
        assert server.token not in "".join(texts_of(server.client("time")) + texts_of(server))


@pytest.mark.parametrize("name", SOURCES)
def test_neither_does_a_network_over_a_source(name: str) -> None:
    network = network_over(SOURCES[name])
    texts = [*texts_of(network), *texts_of(network.query("counted")), network.render(), network.render("json")]
    assert SECRET not in "".join([*texts, network.render("mermaid"), str(network.explain(load=2.0))])


def test_neither_does_a_network_or_a_checkpoint_that_reads_by_a_registry(tmp_path: Path) -> None:
    instant = {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    schema = {"type": "record", "name": "Packet", "fields": [instant]}
    who = {"basic.auth.user.info": f"streams:{SECRET}"}
    parse = ss.parse_avro("value", schema, registry="http://registry:8081", options=who)
    packets = ss.stream("packets", ss.kafka("packets", "host:9092"), time="ts", parse=parse)
    network = ss.network(packets.window("1 second").agg(n="count(*)").query("counted"))
    describe(Storage.at(str(tmp_path)), network, Settings())
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    assert "http://registry:8081" in written
    assert SECRET not in "".join([*texts_of(network), network.render("json"), written])


@pytest.mark.parametrize("name", SOURCES)
def test_neither_does_a_checkpoint(name: str, tmp_path: Path) -> None:
    describe(Storage.at(str(tmp_path)), network_over(SOURCES[name]), Settings())
    assert (tmp_path / DOCUMENT_FILE).exists()
    assert SECRET not in "".join(path.read_text() for path in tmp_path.iterdir())


_DOCUMENT = """
streamshed: 1
streams:
  packets: {source: {kafka: packets, servers: "host:1", OPTIONS}, time: timestamp}
queries:
  counted: {from: packets, window: {size: 1 minute}, aggregates: {n: count(nothing)}}
run: {sink: {kafka: answers, servers: "host:1", OPTIONS}}
"""
_SQL = """
CREATE STREAM packets WATERMARK FOR timestamp AS timestamp
  WITH (kafka = 'packets', servers = 'host:1', OPTIONS);
CREATE QUERY counted AS SELECT count(nothing) FROM packets;
"""
MISTAKES: dict[str, Callable[[], object]] = {
    "value": lambda: ss.kafka("a", "host:1", options={"kafka.ssl.key.password": [SECRET]}),  # type: ignore[dict-item]
    "options": lambda: ss.kafka("a", "host:1", options=SECRET),  # type: ignore[arg-type]
    "name": lambda: kafka_sink("a", "host:1", options={5: SECRET}),  # type: ignore[dict-item]
    "refused": lambda: ss.kafka("a", "host:1", options={"assign": SECRET}),
    "lookup": lambda: ss.stream("a", ss.rate(1), time="timestamp").lookup(SOURCES["kafka"], on="value"),
    **{
        f"document {options}": partial(parse_network, _DOCUMENT.replace("OPTIONS", options))
        for options in (
            f"options: {{kafka.ssl.key.password: {SECRET}, assign: 5}}",
            f"options: {{kafka.ssl.key.password: [{SECRET}]}}",
            f"options: {{kafka.ssl.key.password: {{a: {SECRET}}}}}",
            f"options: {{password: [{SECRET}]}}",
            f"option: {{kafka.ssl.key.password: {SECRET}}}",
            f"options: {SECRET}",
        )
    },
    **{
        f"SQL {options}": partial(ss.sql, _SQL.replace("OPTIONS", options))
        for options in (
            f"options = ('kafka.ssl.key.password' = '{SECRET}', assign = 5)",
            f"options = ('kafka.ssl.key.password' = ('{SECRET}', 'b'))",
            f"option = ('kafka.ssl.key.password' = '{SECRET}')",
            f"options = '{SECRET}'",
        )
    },
}


@pytest.mark.parametrize("name", MISTAKES)
def test_neither_does_the_message_of_a_mistake(name: str) -> None:
    with pytest.raises((StreamshedError, TypeError)) as refused:
        MISTAKES[name]()
    assert SECRET not in str(refused.value)
