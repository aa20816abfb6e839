"""Schemas of Avro, records of them, and their bytes, written by fastavro."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any
from zlib import crc32

import fastavro
from hypothesis import strategies as st

PLAIN: Mapping[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
}
_INSTANTS = st.datetimes(
    datetime(1600, 1, 1, tzinfo=UTC).replace(tzinfo=None), datetime(9000, 1, 1, tzinfo=UTC).replace(tzinfo=None)
)
_MILLIS = _INSTANTS.map(lambda instant: instant.replace(microsecond=instant.microsecond // 1000 * 1000))
LOGICAL: Mapping[tuple[str, str], st.SearchStrategy[Any]] = {
    ("int", "date"): st.dates(date(1600, 1, 1)),
    ("long", "timestamp-millis"): _MILLIS.map(lambda instant: instant.replace(tzinfo=UTC)),
    ("long", "timestamp-micros"): _INSTANTS.map(lambda instant: instant.replace(tzinfo=UTC)),
    ("long", "local-timestamp-millis"): _MILLIS,
    ("long", "local-timestamp-micros"): _INSTANTS,
}
Written = tuple[Any, st.SearchStrategy[Any]]
"""A type, and the values of it."""


def encoded(schema: Any, value: Any, *, number: int | None = None) -> bytes:
    """The bytes of a value; with a number, in Confluent's wire format."""
    stream = BytesIO(b"" if number is None else b"\0" + number.to_bytes(4, "big"))
    stream.seek(0, 2)
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return stream.getvalue()


def read_by_fastavro(value: bytes, schema: Any, reader: Any = None) -> Any:
    """What fastavro's own reader makes of bytes."""
    stream = BytesIO(value)
    record = fastavro.schemaless_reader(stream, *(json.loads(json.dumps(each)) for each in (schema, reader)))
    assert stream.tell() == len(value)
    return record


def without_maps(value: Any) -> Any:
    """A value as Python has it: Arrow gives maps as lists of pairs."""
    match value:
        case dict():
            return {key: without_maps(each) for key, each in value.items()}
        case [(str(), _), *_] if all(isinstance(each, tuple) for each in value):
            return {key: without_maps(each) for key, each in value}
        case list():
            return [without_maps(each) for each in value]
        case _:
            return value


def _decimals() -> st.SearchStrategy[Written]:
    def of(sizes: tuple[int, int]) -> Written:
        digits, scale = max(sizes), min(sizes)
        most = 10**digits - 1
        schema = {"type": "bytes", "logicalType": "decimal", "precision": digits, "scale": scale}
        return schema, st.integers(-most, most).map(lambda number: Decimal(number).scaleb(-scale))

    return st.tuples(st.integers(1, 18), st.integers(0, 18)).map(of)


def _atoms() -> st.SearchStrategy[Written]:
    logical = [({"type": kind, "logicalType": name}, values) for (kind, name), values in LOGICAL.items()]
    return st.sampled_from([*PLAIN.items(), *logical]) | _decimals()


def _containers(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    nullable = inner.map(lambda each: (["null", each[0]], st.none() | each[1]))
    inside = inner | nullable
    return (
        inside.map(lambda each: ({"type": "array", "items": each[0]}, st.lists(each[1], max_size=3)))
        | inside.map(
            lambda each: (
                {"type": "map", "values": each[0]},
                st.dictionaries(st.text(max_size=3), each[1], min_size=1, max_size=3),
            )
        )
        | st.lists(inside, min_size=1, max_size=3).map(record_of)
    )


def record_of(types: list[Written]) -> Written:
    """A record whose fields are of some types; its name tells it from those inside it."""
    fields = [{"name": f"f{place}", "type": kind} for place, (kind, _) in enumerate(types)]
    name = f"R{crc32(json.dumps(fields).encode())}"
    values = {f"f{place}": each for place, (_, each) in enumerate(types)}
    return {"type": "record", "name": name, "fields": fields}, st.fixed_dictionaries(values)


def types() -> st.SearchStrategy[Written]:
    """Types that columns can hold, nested."""
    inside = st.recursive(_atoms(), _containers, max_leaves=5)
    return inside | inside.filter(lambda each: not isinstance(each[0], list)).map(
        lambda each: (["null", each[0]], st.none() | each[1])
    )
