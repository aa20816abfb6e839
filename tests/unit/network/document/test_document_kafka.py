from __future__ import annotations

from pathlib import Path

import pytest

from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import load_network, network_to_document, parse_network
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.run.run_settings import SinkSettings
from streamshed.network.source.kafka_source import KafkaSource, kafka
from streamshed.network.terms.parsing import parse_json

EXAMPLE = Path(__file__).parents[4] / "examples" / "kafka" / "network.yaml"
DOCUMENT = """
streamshed: 1
streams:
  packets:
    source: {{{source}}}
    parse: {{{parse}}}
    time: ts
queries: {{all: {{from: packets}}}}
"""
PARSE = 'json: value, schema: "ts timestamp"'


def source_of(source: str) -> KafkaSource:
    (query,) = parse_network(DOCUMENT.format(source=source, parse=PARSE)).network.queries
    assert isinstance(query.stream.source, KafkaSource)
    return query.stream.source


def problems_of(source: str, parse: str = PARSE) -> dict[str, str]:
    with pytest.raises(InvalidDocumentError) as raised:
        parse_network(DOCUMENT.format(source=source, parse=parse))
    return {problem.path: str(problem) for problem in raised.value.problems}


def test_a_document_says_what_python_says() -> None:
    everything = """kafka: [packets, flows], servers: "a:1,b:2", start: {packets: {"0": 17}}, headers: true, prefix: k_,
        max_rows_per_micro_batch: 500, options: {kafka.client.id: x, groupIdPrefix: y}"""
    assert source_of(everything) == kafka(
        ["packets", "flows"],
        "a:1,b:2",
        start={"packets": {0: 17}},
        headers=True,
        prefix="k_",
        max_rows_per_micro_batch=500,
        options={"kafka.client.id": "x", "groupIdPrefix": "y"},
    )
    assert source_of('kafka: packets, servers: "a:1"') == kafka("packets", "a:1")
    pattern = source_of('kafka: "packets|flows", servers: "a:1", pattern: true, start: earliest')
    assert pattern == kafka("packets|flows", "a:1", pattern=True, start="earliest")


def test_what_is_written_is_read_as_the_same() -> None:
    for source in (
        kafka("packets", "a:1", start="earliest"),
        kafka(["b", "a"], "a:1", start={"a": {"0": 1}}, headers=True, prefix="k_", options={"kafka.client.id": "x"}),
        kafka("p.*", "a:1", pattern=True, max_rows_per_micro_batch=7),
    ):
        packets = stream("packets", source, time="ts", parse=parse_json("value", "ts timestamp"))
        written = network(packets.query("all"))
        assert parse_network(network_to_document(written)).network == written


def test_problems_are_told_at_their_keys() -> None:
    problems = problems_of('kafka: "pack ets", servers: "a:1", start: earlyest, options: {subscribe: x}')
    assert problems.keys() == {f"streams.packets.source.{key}" for key in ("kafka", "start", "options")}
    assert problems_of("kafka: packets").keys() == {"streams.packets.source"}
    assert "servers" in problems_of("kafka: packets")["streams.packets.source"]


def test_the_example_reads_one_topic_and_answers_to_another() -> None:
    document = load_network(EXAMPLE)
    (packets,) = document.network.streams
    assert packets.source == kafka("packets", "127.0.0.1:19092", start="earliest")
    assert document.run.sink == SinkSettings("kafka", "answers", "127.0.0.1:19092")


def test_other_formats_of_values_are_refused() -> None:
    problems = problems_of('kafka: packets, servers: "a:1"', 'protobuf: value, schema: "ts timestamp"')
    assert "json, csv, avro" in problems["streams.packets.parse"]
