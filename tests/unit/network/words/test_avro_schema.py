"""The columns of Avro's schemas: as Spark's `SchemaConverters` has them, or refused with the field's name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.words.avro_schema import avro_columns, avro_type, differing_meaning


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


def logical(kind: str, meaning: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": meaning, **more}


def type_of(kind: Any) -> str | None:
    (column,) = avro_columns(json.dumps(record(("a", kind))))
    return column.type


HOST = {"type": "enum", "name": "Host", "symbols": ["x"]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("string", "string"),
        ("bytes", "binary"),
        ({"type": "fixed", "name": "F", "size": 4}, "binary"),
        (HOST, "string"),
        ({"type": {"type": "string"}}, "string"),
        (["null", "int"], "int"),
        (["int", "null"], "int"),
        (["int"], "int"),
        (["null", "int", "long"], "bigint"),
        (["double", "float"], "double"),
        ({"type": "array", "items": ["null", "string"]}, "array<string>"),
        ({"type": "map", "values": "long"}, "map<string,bigint>"),
        (record(("b", "int"), ("c", {"type": "array", "items": "string"}), name="I"), "struct<b:int,c:array<string>>"),
        (logical("int", "date"), "date"),
        (logical("long", "timestamp-millis"), "timestamp"),
        (logical("long", "timestamp-micros"), "timestamp"),
        (logical("long", "local-timestamp-millis"), "timestamp_ntz"),
        (logical("long", "local-timestamp-micros"), "timestamp_ntz"),
        (logical("bytes", "decimal", precision=9, scale=2), "decimal(9,2)"),
        (logical("bytes", "decimal", precision=9), "decimal(9,0)"),
        (logical("fixed", "decimal", precision=9, scale=2, name="D", size=4), "decimal(9,2)"),
        # What Spark does not know, or what is wrong, is as if it were not said.
        (logical("fixed", "decimal", precision=10, scale=2, name="D", size=4), "binary"),
        (logical("bytes", "decimal", precision=2, scale=3), "binary"),
        (logical("int", "time-millis"), "int"),
        (logical("long", "timestamp-nanos"), "bigint"),
        (logical("string", "uuid"), "string"),
        (logical("string", "date"), "string"),
    ],
)
def test_a_type_has_the_column_that_spark_gives_it(kind: Any, expected: str) -> None:
    assert type_of(kind) == expected


def test_a_name_means_what_was_defined_before() -> None:
    host, inner = {**HOST, "namespace": "net"}, record(("h", "Host"), ("n", "net.Host"), name="net.Inner")
    columns = avro_columns(json.dumps(record(("a", host), ("b", inner), ("c", "net.Inner"))))
    assert [column.type for column in columns] == ["string", *["struct<h:string,n:string>"] * 2]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("null", 'the field "a" is always null: a column has one type'),
        (["null", "int", "string"], 'the field "a" is a union of int and string: a column has one type'),
        (record(("b", ["int", "bytes"]), name="I"), 'the field "a.b" is a union of int and bytes'),
        ({"type": "map", "values": {"type": "array", "items": ["int", "bytes"]}}, 'the field "a" is a union'),
        (logical("bytes", "decimal", precision=39, scale=2), 'the field "a" is a decimal of more than 38 digits'),
        (record(name="I"), 'the field "a" is a record without fields'),
        (record(("b", "int"), ("B", "int"), name="I"), 'the columns "b" and "B" have the same name for Spark'),
        ("Nobody", '"a" is of the type "Nobody", which is defined nowhere'),
        (record(("next", ["null", "I"]), name="I"), '"next" is part of the record "I" that it holds'),
        ({"type": "array", "items": "null"}, '"a" has items that take no bytes'),
        ({"type": "array", "items": record(("b", "null"), name="I")}, '"a" has items that take no bytes'),
        ({"type": "fixed", "name": "F", "size": 0}, '"F" is fixed, and has no size'),
        ({"items": "int"}, '"a" is no type of Avro'),
        ([["null", "int"]], '"a" is a union in a union'),
        ([{"type": ["null", "int"]}], '"a" is a union in a union'),
        ([], 'the field "a" is always null'),
        (record(("b-c", "int"), name="I"), "a field of the record \"I\" has a name that is none in Avro, got 'b-c'"),
        (None, '"a" is no type of Avro'),
        ({"type": "record", "name": "I", "fields": {}}, 'the record "I" needs fields such as'),
        ({"type": "record", "name": "R", "fields": []}, 'the name "R" is defined twice'),
    ],
)
def test_what_no_column_holds_is_refused_with_the_name_of_the_field(kind: Any, told: str) -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        type_of(kind)
    assert told in str(raised.value)


def test_all_fields_that_no_column_holds_are_told_at_once() -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        avro_columns(json.dumps(record(("a", "null"), ("b", "int"), ("c", ["int", "string"]))))
    assert ['"a"' in raised.value.problems[0], '"c"' in raised.value.problems[1]] == [True, True]


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '"int"', '["null", "int"]', '{"type": "map", "values": "int"}']
)
def test_a_stream_has_records(text: str) -> None:
    with pytest.raises(InvalidNetworkError, match=r"an Avro schema is JSON such as|the values of a stream are records"):
        avro_columns(text)


MILLIS, MICROS = (logical("long", f"timestamp-{unit}") for unit in ("millis", "micros"))
CENTS, MILLS = (logical("bytes", "decimal", precision=9, scale=scale) for scale in (2, 3))


@pytest.mark.parametrize(
    ("written", "wanted", "told"),
    [
        (MILLIS, MICROS, '"a" is timestamp-millis where it was written, and timestamp-micros to the stream'),
        (["null", MILLIS], [MICROS, "null"], '"a" is timestamp-millis'),
        (logical("int", "date"), MILLIS, '"a" is date'),
        (CENTS, MILLS, '"a" is decimal 2 where it was written, and decimal 3 to the stream'),
        ({"type": "array", "items": MILLIS}, {"type": "array", "items": MICROS}, '"a" is timestamp-millis'),
        (record(("b", MILLIS), name="I"), record(("b", MICROS), name="I"), '"a.b" is timestamp-millis'),
        (MILLIS, MILLIS, None),
        ("long", MICROS, None),
        (MILLIS, "long", None),
        (CENTS, logical("bytes", "decimal", precision=12, scale=2), None),
        ("string", MILLIS, None),
    ],
)
def test_bytes_that_would_mean_something_else_are_told(written: Any, wanted: Any, told: str | None) -> None:
    differs = differing_meaning(avro_type(record(("a", written))), avro_type(record(("a", wanted))))
    assert (differs is None) if told is None else (differs is not None and differs.startswith(told))


def test_fields_with_another_name_are_compared_too() -> None:
    wanted = record(("b", MICROS))
    wanted["fields"][0]["aliases"] = ["a"]
    assert differing_meaning(avro_type(record(("a", MILLIS))), avro_type(wanted)) is not None
    assert differing_meaning(avro_type(record(("c", MILLIS))), avro_type(wanted)) is None
