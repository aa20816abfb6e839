"""Values of Avro in documents and SQL: as Python says them, and refused at the key that is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamshed.api import to_sql
from streamshed.errors import InvalidDocumentError, InvalidNetworkError, SourceUnavailableError
from streamshed.network.document.document import network_to_document, parse_network, sql
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import KafkaSource, kafka
from streamshed.network.source.registered_schema import require_registered
from streamshed.network.source.sources import folder
from streamshed.network.terms.parsing import parse_avro
from streamshed.network.words.columns import Column
from tests.registry_server import Registered, register, running_registry
from tests.unit.network.examples import FakeFrame

INSTANT = {"type": "long", "logicalType": "timestamp-micros"}
PACKET = {
    "type": "record",
    "name": "Packet",
    "fields": [{"name": "ts", "type": INSTANT}, {"name": "size", "type": ["null", "int"], "default": None}],
}
WIDER = {**PACKET, "fields": [*PACKET["fields"], {"name": "host", "type": "string", "default": ""}]}
COLUMNS = (Column("ts", "timestamp"), Column("size", "int"))
SECRET = "s3cr3t"
DOCUMENT = """
streamshed: 1
streams:
  packets:
    source: {{kafka: packets, servers: "a:1"}}
    parse: {parse}
    time: ts
queries: {{all: {{from: packets}}}}
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_registry(Registered(basic=f"streams:{SECRET}")) as address:
        for schema in (PACKET, WIDER):
            register(address, "packets-value", schema)
        register(address, "other", PACKET)
        yield address


@pytest.fixture
def who() -> dict[str, str]:
    return {"basic.auth.user.info": f"streams:{SECRET}"}


def stream_of(parse: object, tmp_path: Path = Path()) -> Stream:
    text = DOCUMENT.format(parse=json.dumps(parse))
    (query,) = parse_network(text, folder=tmp_path).network.queries
    return query.stream


def problems_of(parse: object, tmp_path: Path = Path()) -> dict[str, str]:
    with pytest.raises(InvalidDocumentError) as raised:
        stream_of(parse, tmp_path)
    assert SECRET not in str(raised.value)
    return {problem.path.removeprefix("streams.packets."): str(problem.message) for problem in raised.value.problems}


def source() -> KafkaSource:
    return kafka("packets", "a:1")


def test_a_schema_is_written_out_or_a_text_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "packet.avsc").write_text(json.dumps(PACKET, indent=2))
    expected = parse_avro("value", PACKET)
    assert expected.schema == COLUMNS
    for said in ({"schema": PACKET}, {"schema": json.dumps(PACKET, indent=1)}, {"schema_file": "packet.avsc"}):
        assert stream_of({"avro": "value", **said}, tmp_path).parse == expected
    assert parse_avro("value", tmp_path / "packet.avsc") == expected == parse_avro("value", json.dumps(PACKET))


def test_bytes_give_way_to_the_columns_of_the_record() -> None:
    packets = stream("packets", source(), time="ts", parse=parse_avro("value", PACKET))
    assert [*packets.columns][-3:] == ["timestamp", "ts", "size"]
    assert "value" not in packets.columns


def test_the_registry_has_the_schema_of_the_topic(url: str, who: dict[str, str]) -> None:
    (packets, said), latest = (
        (
            stream("packets", source(), time="ts", parse=parse_avro("value", registry=url, options=who)),
            stream_of({"avro": "value", "registry": url, "options": who}),
        ),
        parse_avro("value", WIDER, registry=url, subject="packets-value", options=who),
    )
    assert packets.stream.parse == said.parse == latest
    other = stream(
        "packets", source(), time="ts", parse=parse_avro("value", registry=url, subject="other", options=who)
    )
    assert other.stream.parse == parse_avro("value", PACKET, registry=url, subject="other", options=who)


def test_a_schema_that_is_given_is_not_looked_up() -> None:
    parse = parse_avro("value", PACKET, registry="http://127.0.0.1:1")
    packets = stream("packets", source(), time="ts", parse=parse)
    assert packets.stream.parse is not None
    assert (packets.stream.parse.subject, packets.stream.parse.schema) == ("packets-value", COLUMNS)


def test_what_is_written_is_read_as_the_same(url: str, who: dict[str, str]) -> None:
    for parse in (
        parse_avro("value", PACKET),
        parse_avro("value", PACKET, registry=url, subject="other", options=who),
        parse_avro("value", registry=url, options=who),
    ):
        packets = stream("packets", source(), time="ts", parse=parse)
        written = network(packets.window("1 minute").agg(total="sum(size)").query("totals"))
        assert parse_network(network_to_document(written)).network == written
        assert sql(to_sql(written)) == written


def test_sql_says_what_python_says(url: str, tmp_path: Path, who: dict[str, str]) -> None:
    (tmp_path / "packet.avsc").write_text(json.dumps(PACKET))
    said = f"registry = '{url}', options = ('basic.auth.user.info' = 'streams:{SECRET}')"
    for values, parse in (
        (f"schema_file = '{tmp_path / 'packet.avsc'}'", parse_avro("value", PACKET)),
        (said, parse_avro("value", WIDER, registry=url, subject="packets-value", options=who)),
    ):
        read = sql(
            f"CREATE STREAM packets PARSE value AS AVRO WITH ({values}) WATERMARK FOR ts AS ts"
            " WITH (kafka = 'packets', servers = 'a:1');"
            " CREATE QUERY totals AS SELECT sum(size) AS total FROM packets GROUP BY window(ts, '1 minute');"
        )
        assert [each.parse for each in read.streams] == [parse]


@pytest.mark.parametrize(
    ("parse", "key", "told"),
    [
        ({}, "parse", 'values of Avro in "value" need a schema, or a registry that has it'),
        ({"schema": PACKET, "subject": "a"}, "parse.subject", "subject is of a registry, and there is none"),
        ({"schema": PACKET, "options": {"bearer.auth.token": SECRET}}, "parse.options", "options is of a registry"),
        ({"schema": "{"}, "parse.schema", "an Avro schema is JSON such as"),
        ({"schema": "ts timestamp"}, "parse.schema", "an Avro schema is JSON such as"),
        ({"schema": {"type": "map", "values": "int"}}, "parse.schema", "the values of a stream are records"),
        ({"schema_file": "nowhere.avsc"}, "parse.schema_file", "the file of the Avro schema cannot be read"),
        ({"schema_file": __file__}, "parse.schema_file", "an Avro schema is JSON such as"),
        ({"schema": PACKET, "schema_file": __file__}, "parse.schema_file", "either schema or schema_file says"),
        ({"registry": "registry:8081"}, "parse.registry", "a registry is an address such as"),
        ({"registry": f"http://a:{SECRET}@registry"}, "parse.registry", "its address holds who asks"),
        ({"registry": "http://127.0.0.1:1"}, "parse.registry", "does not answer"),
        (
            {"registry": "http://127.0.0.1:1", "options": {"basic.auth.user.name": SECRET}},
            "parse.options",
            'unknown option "basic.auth.user.name" of a registry',
        ),
        ({"schema": PACKET, "registri": "http://a"}, "parse.registri", "unknown key"),
    ],
)
def test_problems_are_told_at_their_keys(parse: dict[str, object], key: str, told: str) -> None:
    problems = problems_of({"avro": "value", **parse})
    assert told in problems[key]


@pytest.mark.parametrize("option", ["basic.auth.user.info", "basic.auth", "bearer.auth.token", "bearer.token"])
def test_sql_that_is_wrong_does_not_show_who_asks(option: str) -> None:
    with pytest.raises(InvalidDocumentError) as raised:
        sql(f"CREATE STREAM a PARSE value AS AVRO WITH (registri = 'x', options = ('{option}' = '{SECRET}')) WATERMARK")
    assert SECRET not in str(raised.value)
    assert option in str(raised.value)


def test_a_field_that_no_column_holds_is_told(url: str, who: dict[str, str]) -> None:
    register(url, "odd", {**PACKET, "fields": [{"name": "ts", "type": ["int", "string"]}]})
    problems = problems_of({"avro": "value", "registry": url, "subject": "odd", "options": who})
    assert problems == {"parse.registry": 'the field "ts" is a union of int and string: a column has one type'}


def test_without_one_topic_the_subject_has_to_be_said(url: str) -> None:
    for several in (kafka(["a", "b"], "a:1"), kafka("a.*", "a:1", pattern=True), FakeFrame([("value", "binary")])):
        with pytest.raises(InvalidNetworkError, match='say it by a subject, such as "packets-value"'):
            stream("packets", several, time="ts", parse=parse_avro("value", registry=url))


def test_only_bytes_can_be_records() -> None:
    lines = folder("in", "text")
    with pytest.raises(InvalidNetworkError, match='only bytes can be records of Avro, "value" is a string'):
        stream("packets", lines, time="ts", parse=parse_avro("value", PACKET))


def test_before_a_run_the_registry_is_asked_whether_it_has_the_subject(url: str, who: dict[str, str]) -> None:
    require_registered(None)
    require_registered(parse_avro("value", PACKET))
    require_registered(parse_avro("value", PACKET, registry=url, subject="packets-value", options=who))
    with pytest.raises(SourceUnavailableError, match='no subject "packet-value"'):
        require_registered(parse_avro("value", PACKET, registry=url, subject="packet-value", options=who))
    with pytest.raises(SourceUnavailableError, match="credentials are missing"):
        require_registered(parse_avro("value", PACKET, registry=url, subject="packets-value"))
    millis = {**PACKET, "fields": [{"name": "ts", "type": {**INSTANT, "logicalType": "timestamp-millis"}}]}
    with pytest.raises(SourceUnavailableError, match='"ts" is timestamp-micros where it was written'):
        require_registered(parse_avro("value", millis, registry=url, subject="packets-value", options=who))
