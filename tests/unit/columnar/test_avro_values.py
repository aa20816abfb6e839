"""Values of Avro: what is read, and what is set aside and why, value by value."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamshed.columnar.avro_values import NO_AVRO, NO_FRAME, OTHER_SCHEMA, UNKNOWN_SCHEMA, AvroValues, avro_values
from streamshed.errors import InvalidNetworkError, MissingExtraError, ServerUnavailableError, SourceUnavailableError
from streamshed.network.words.schema_registry import BASIC, SchemaRegistry
from tests.avro_samples import encoded
from tests.programs import free_port
from tests.registry_server import Registered, running_registry


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


def read(schema: Any, *values: bytes | None, registry: SchemaRegistry | None = None) -> tuple[list[Any], list[Any]]:
    records, reasons = AvroValues(json.dumps(schema), registry).read(pa.array(values, pa.binary()))
    return records.to_pylist(), reasons.to_pylist()


SIZE = record(("size", "int"))
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.fixture(scope="module")
def registered() -> Registered:
    return Registered()


@pytest.fixture(scope="module")
def registry(registered: Registered) -> Iterator[SchemaRegistry]:
    with running_registry(registered) as url:
        yield SchemaRegistry(url)


def test_a_null_value_is_neither_read_nor_told() -> None:
    assert read(SIZE, None, encoded(SIZE, {"size": 7})) == ([None, {"size": 7}], [None, None])


@pytest.mark.parametrize("broken", [b"", b"\xff" * 20, encoded(SIZE, {"size": 7}) + b"\0"])
def test_one_broken_value_leaves_the_others_as_they_are(broken: bytes) -> None:
    whole = encoded(SIZE, {"size": 7})
    assert read(SIZE, whole, broken, whole) == ([{"size": 7}, None, {"size": 7}], [None, NO_AVRO, None])


@pytest.mark.parametrize(
    ("kind", "wider", "value"),
    [
        ("int", "long", 2**31),
        (MILLIS, "long", 2**62),
        ({"type": "int", "logicalType": "date"}, "long", 2**31),
        (PRICE, "bytes", (10**4).to_bytes(2, "big")),
        ("string", "bytes", b"\xff"),
    ],
)
def test_a_value_that_its_type_does_not_hold_is_set_aside(kind: Any, wider: str, value: Any) -> None:
    written = encoded(record(("a", wider)), {"a": value})
    assert read(record(("a", kind)), written, written) == ([None, None], [NO_AVRO, NO_AVRO])


def test_instants_and_decimals_beyond_those_of_python_are_read() -> None:
    schema = record(("ts", MILLIS), ("price", {**PRICE, "precision": 38, "scale": 10}))
    most = 10**38 - 1
    value = encoded(
        record(("ts", "long"), ("price", "bytes")), {"ts": 2**53, "price": (-most).to_bytes(16, "big", signed=True)}
    )
    records, reasons = AvroValues(json.dumps(schema), None).read(pa.array([value], pa.binary()))
    assert reasons.null_count == 1
    assert pc.struct_field(records, "ts").cast(pa.int64()).to_pylist() == [2**53 * 1000]
    assert pc.struct_field(records, "price").to_pylist() == [Decimal((1, (9,) * 38, -10))]


def test_logical_types_are_what_was_written() -> None:
    schema = record(("ts", MILLIS), ("day", {"type": "int", "logicalType": "date"}), ("price", ["null", PRICE]))
    value = {"ts": datetime(2026, 1, 1, 1, 2, 3, 4000, UTC), "day": date(1969, 12, 31), "price": Decimal("-12.34")}
    assert read(schema, encoded(schema, value), encoded(schema, {**value, "price": None})) == (
        [value, {**value, "price": None}],
        [None, None],
    )


def test_a_value_is_read_by_the_schema_of_its_id(registered: Registered, registry: SchemaRegistry) -> None:
    old, new = record(("size", "int"), ("gone", "string")), record(("size", "long"), ("host", ["null", "string"]))
    numbers = [registered.register("a", {"schema": json.dumps(schema)}) for schema in (old, new)]
    wanted = record(("size", "double"), ("host", ["null", "string"]))
    wanted["fields"][1]["default"] = None
    assert read(
        wanted,
        encoded(old, {"size": 1, "gone": "x"}, number=numbers[0]),
        encoded(new, {"size": 2, "host": "a"}, number=numbers[1]),
        registry=registry,
    ) == ([{"size": 1.0, "host": None}, {"size": 2.0, "host": "a"}], [None, None])


def test_a_default_of_bytes_is_a_letter_for_each(registered: Registered, registry: SchemaRegistry) -> None:
    number = registered.register("bytes", {"schema": json.dumps(SIZE)})
    wanted = record(("size", "int"), ("mark", "bytes"), ("price", PRICE))
    wanted["fields"][1]["default"], wanted["fields"][2]["default"] = "\u00ff\u0001", "\u0001\u0000"
    records, reasons = read(wanted, encoded(SIZE, {"size": 1}, number=number), registry=registry)
    assert (records, reasons) == ([{"size": 1, "mark": b"\xff\x01", "price": Decimal("2.56")}], [None])


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\0\0\0", b"\x01\0\0\0\x01\x0e", b'{"size": 7}'])
def test_what_does_not_begin_as_the_wire_format_does_is_told(value: bytes, registry: SchemaRegistry) -> None:
    assert read(SIZE, value, registry=registry) == ([None], [NO_FRAME])


def test_ids_are_looked_up_once_and_unknown_ones_again_after_a_minute() -> None:
    registered, instant = Registered(), 100.0
    with running_registry(registered) as url:
        number = registered.register("a", {"schema": json.dumps(SIZE)})
        reader = AvroValues(json.dumps(SIZE), SchemaRegistry(url), lambda: instant)
        values = [encoded(SIZE, {"size": 1}, number=each) for each in (number, number + 1)]
        for instant, reason in ((100.0, UNKNOWN_SCHEMA), (159.0, UNKNOWN_SCHEMA), (161.0, None)):  # noqa: B007 - the clock
            assert reader.read(pa.array(values * 3, pa.binary()))[1].to_pylist() == [None, reason] * 3
            registered.register(
                "b", {"schema": json.dumps(record(("size", "int"), name="Other") | {"name": "R"}) + " "}
            )
    assert registered.requests == [f"/schemas/ids/{each}" for each in (number, number + 1, number + 1)]


@pytest.mark.parametrize(
    "written",
    [
        {"schema": json.dumps(record(("size", MILLIS)))},
        {"schema": '"int"'},
        {"schema": "nothing"},
        {"schema": json.dumps(record(("next", ["null", "R"]), ("size", "int")))},
        {"schema": json.dumps(record(("size", "int"), ("many", {"type": "array", "items": "null"})))},
        {"schema": "message", "schemaType": "PROTOBUF"},
        {"schema": json.dumps(SIZE), "references": [{"name": "x", "subject": "nowhere", "version": 1}]},
    ],
)
def test_a_schema_that_means_something_else_or_is_none_sets_its_values_aside(
    written: dict[str, Any], registered: Registered, registry: SchemaRegistry
) -> None:
    number = registered.register("other", written)
    wanted = record(("size", {"type": "long", "logicalType": "timestamp-micros"}))
    value = b"\0" + number.to_bytes(4, "big") + b"\x02"
    assert read(wanted, value, registry=registry) == ([None], [OTHER_SCHEMA])


@pytest.mark.parametrize("kind", ["string", "bytes", "double", "long", {"type": "array", "items": "string"}])
def test_a_value_that_is_cut_off_in_a_field_that_nobody_reads_is_set_aside(
    kind: Any, registered: Registered, registry: SchemaRegistry
) -> None:
    written = record(("size", "int"), ("gone", kind))
    number = registered.register("gone", {"schema": json.dumps(written)})
    gone = {"string": "abc", "bytes": b"abc", "double": 0.5, "long": 2**40}.get(str(kind), ["abc", "d"])
    value = encoded(written, {"size": 7, "gone": gone}, number=number)
    cut_off = [value[:end] for end in range(6, len(value))]
    assert read(SIZE, value, *cut_off, registry=registry) == (
        [{"size": 7}, *[None] * len(cut_off)],
        [None, *[NO_AVRO] * len(cut_off)],
    )


def test_a_value_that_does_not_fit_is_set_aside(registered: Registered, registry: SchemaRegistry) -> None:
    text = record(("size", "string"))
    number = registered.register("text", {"schema": json.dumps(text)})
    assert read(SIZE, encoded(text, {"size": "7"}, number=number), registry=registry) == ([None], [NO_AVRO])


def test_a_registry_that_is_away_ends_it_for_now_and_sets_nothing_aside() -> None:
    registry = SchemaRegistry(f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ServerUnavailableError, match="does not answer"):
        read(SIZE, encoded(SIZE, {"size": 7}, number=1), registry=registry)


def test_a_registry_that_refuses_ends_it() -> None:
    with running_registry(Registered(basic="a:b")) as url, pytest.raises(SourceUnavailableError, match="are refused"):
        read(SIZE, encoded(SIZE, {"size": 7}, number=1), registry=SchemaRegistry(url, ((BASIC, "a:c"),)))


@pytest.mark.parametrize(
    "schema",
    [
        {**SIZE, "fields": [{"name": "size", "type": "int", "default": "x"}]},
        record(("a", {"type": "enum", "name": "E"})),
    ],
)
def test_a_schema_that_breaks_a_rule_of_avro_is_told(schema: Any) -> None:
    with pytest.raises(InvalidNetworkError, match="the Avro schema breaks a rule of Avro"):
        AvroValues(json.dumps(schema), None)


def test_without_the_package_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'streamshed\[avro\]'"):
        AvroValues(json.dumps(SIZE), None)


def test_tasks_of_a_process_share_what_was_looked_up() -> None:
    registry = SchemaRegistry("http://127.0.0.1:1", ((BASIC, "a:b"),))
    assert avro_values(json.dumps(SIZE), registry) is avro_values(json.dumps(SIZE), registry)
