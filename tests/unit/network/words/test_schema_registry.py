"""A registry is asked as it answers: by a server that speaks the protocol, and by one that others wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from streamshed.errors import InvalidNetworkError, ServerUnavailableError, SourceUnavailableError
from streamshed.network.words.schema_registry import BASIC, BEARER, SchemaRegistry, registry_problems
from tests.apicurio import running_apicurio
from tests.programs import free_port
from tests.registry_server import Registered, register, running_registry
from tests.thoroughness import thorough

HOST = {"type": "record", "name": "Host", "namespace": "net", "fields": [{"name": "name", "type": "string"}]}
PACKET = {
    "type": "record",
    "name": "Packet",
    "fields": [
        {"name": "source", "type": "net.Host"},
        {"name": "target", "type": ["null", "net.Host"], "default": None},
    ],
}
SECRET = "s3cr3t"


@pytest.fixture(scope="module", params=["protocol", pytest.param("apicurio", marks=thorough)])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    is_real = request.param == "apicurio"
    with (
        running_apicurio(tmp_path_factory.mktemp("registry")) if is_real else running_registry(Registered()) as address
    ):
        yield address


def test_the_latest_schema_of_a_subject_and_that_of_an_id_are_what_was_registered(url: str) -> None:
    first = register(url, "flows-value", HOST)
    wider = {**HOST, "fields": [*HOST["fields"], {"name": "port", "type": "int", "default": 0}]}
    second = register(url, "flows-value", wider)
    registry = SchemaRegistry(f"{url}/")
    assert json.loads(registry.latest("flows-value")) == wider
    assert [json.loads(registry.schema(number) or "") for number in (first, second)] == [HOST, wider]


def test_an_id_that_it_does_not_have_has_no_schema(url: str) -> None:
    assert SchemaRegistry(url).schema(2**31 - 1) is None


def test_a_schema_comes_with_those_that_it_refers_to(url: str) -> None:
    register(url, "host", HOST)
    register(url, "packets-value", PACKET, references=[{"name": "net.Host", "subject": "host", "version": 1}])
    latest = json.loads(SchemaRegistry(url).latest("packets-value"))
    assert [field["type"] for field in latest["fields"]] == [HOST, ["null", "net.Host"]]


def test_a_subject_that_is_not_there_is_told_with_the_nearest_one(url: str) -> None:
    register(url, "hosts-value", HOST)
    with pytest.raises(SourceUnavailableError, match=r'there is no subject "host-value" \(did you mean "hosts-value"'):
        SchemaRegistry(url).latest("host-value")
    with pytest.raises(SourceUnavailableError, match='no subject "unlike": has anything been written to the topic'):
        SchemaRegistry(url).latest("unlike")


def test_a_schema_of_another_kind_is_told(url: str) -> None:
    written = 'syntax = "proto3"; message Packet { int32 size = 1; }'
    number = register(url, "protobuf-value", written, schemaType="PROTOBUF")
    with pytest.raises(
        SourceUnavailableError, match='subject "protobuf-value": the schema is not of Avro, got PROTOBUF'
    ):
        SchemaRegistry(url).latest("protobuf-value")
    with pytest.raises(InvalidNetworkError, match="not of Avro"):
        SchemaRegistry(url).schema(number)


def test_another_address_is_told(url: str) -> None:
    with pytest.raises(SourceUnavailableError, match="has the status 404: is that the address of a registry"):
        SchemaRegistry(f"{url}/elsewhere").latest("flows-value")


def test_a_registry_that_does_not_answer_may_do_so_later() -> None:
    with pytest.raises(ServerUnavailableError, match=r"does not answer .*: is it there"):
        SchemaRegistry(f"http://127.0.0.1:{free_port()}").latest("flows-value")


@pytest.mark.parametrize(
    ("options", "told"),
    [((), "credentials are missing"), (((BASIC, f"streams:{SECRET}x"),), "credentials are refused")],
)
def test_whoever_is_refused_is_told_without_the_secret(options: tuple[tuple[str, str], ...], told: str) -> None:
    with running_registry(Registered(basic=f"streams:{SECRET}")) as url:
        with pytest.raises(SourceUnavailableError, match=told) as raised:
            SchemaRegistry(url, options).latest("flows-value")
        assert SECRET not in str(raised.value)
        assert not isinstance(raised.value, ServerUnavailableError)


def test_whoever_may_ask_gets_an_answer() -> None:
    with running_registry(Registered(basic=f"streams:{SECRET}")) as url:
        register(url, "flows-value", HOST)
        registry = SchemaRegistry(url, ((BASIC, f"streams:{SECRET}"),))
        assert json.loads(registry.latest("flows-value")) == HOST
        assert SECRET not in repr(registry)


def test_a_subject_may_have_any_name() -> None:
    registered = Registered()
    with running_registry(registered) as url:
        registered.register("a/b c?-value", {"schema": json.dumps(HOST)})
        assert json.loads(SchemaRegistry(url).latest("a/b c?-value")) == HOST


@pytest.mark.parametrize(
    ("url", "options", "told"),
    [
        ("registry:8081", (), "a registry is an address such as"),
        ("ftp://registry", (), "a registry is an address such as"),
        ("http://registry:port", (), "a registry is an address such as"),
        ("http://registry/a b", (), "a registry is an address such as"),
        (5, (), "a registry is an address such as"),
        (f"http://streams:{SECRET}@registry", (), f"its address holds who asks: say that by the option {BASIC}"),
        (
            "http://registry",
            (("basic.auth.user", SECRET),),
            f'unknown option "basic.auth.user" .* did you mean "{BASIC}"',
        ),
        ("http://registry", ((BASIC, "a:b"), (BEARER, SECRET)), f"either {BASIC} or {BEARER} says who asks"),
        ("http://registry", ((BEARER, f"{SECRET}\r\nX: y"),), "a text of one line"),
    ],
)
def test_what_cannot_be_asked_is_told(url: object, options: tuple[tuple[str, str], ...], told: str) -> None:
    (problem,) = registry_problems(url, options)
    assert SECRET not in problem
    with pytest.raises(InvalidNetworkError, match=told):
        raise InvalidNetworkError(problem.replace(" (did", " , did"))
