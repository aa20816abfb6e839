"""Schemas of Avro: their types, and the columns that records of them have, with Spark's types.

It loads PyArrow. Modules of `streamshed.network` import this one where they use it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.avro_references import full_name
from streamshed.network.words.columns import Column, duplicate_names
from streamshed.network.words.footer import spark_type
from streamshed.network.words.given import is_whole_number

_UTC = "UTC"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "fixed": pa.binary(),
    "enum": pa.string(),
}
_LOGICAL: Mapping[tuple[str, str], pa.DataType] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz=_UTC),
    ("long", "timestamp-micros"): pa.timestamp("us", tz=_UTC),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
_DECIMAL = "decimal"
_MOST_DIGITS = 38
_NULL = "null"
_WIDER: Mapping[frozenset[str], str] = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
_NESTED = frozenset({"record", "error", "array", "map", "enum", "fixed"})
_KINDS = frozenset({*_PLAIN, *_NESTED, _NULL})


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record: its name, then its aliases; and its type."""

    names: tuple[str, ...]
    type: AvroType


@dataclass(frozen=True, slots=True)
class AvroType:
    """A type of Avro, with all that its names stand for in place.

    Attributes:
        kind: What Avro calls it, such as "long" or "record"; "union" for a union.
        logical: The logical type, with the scale of a decimal; empty: there is none that a column shows.
        fields: Those of a record.
        inner: The type of the items of an array or of the values of a map, or the branches of a union.
        stored: As which type Arrow holds it, where it is neither nested nor null.
    """

    kind: str
    logical: tuple[str | int, ...] = ()
    fields: tuple[AvroField, ...] = ()
    inner: tuple[AvroType, ...] = ()
    stored: pa.DataType | None = None

    @property
    def branches(self) -> tuple[AvroType, ...]:
        """What a value can be but null."""
        types = self.inner if self.kind == "union" else (self,)
        return tuple(each for each in types if each.kind != _NULL)


def read_schema(text: str) -> Any:
    """Read the text of a schema.

    Raises:
        InvalidNetworkError: It is no JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        says = 'an Avro schema is JSON such as {"type": "record", "name": ..., "fields": [...]}'
        raise InvalidNetworkError(Problem(says, "schema", got=f"what is none ({error})")) from error


def avro_type(schema: Any) -> AvroType:
    """Return the type that a schema describes.

    Args:
        schema: As JSON gives it.

    Raises:
        InvalidNetworkError: It is none, or it refers to itself: values without end could be of it.

    Example:
        >>> packet = {"type": "record", "name": "P", "fields": [{"name": "size", "type": ["null", "int"]}]}
        >>> (field,) = avro_type(packet).fields
        >>> field.names, [branch.kind for branch in field.type.branches]
        (('size',), ['int'])
    """
    return _typed(schema, {}, "", "the schema")


def avro_columns(text: str) -> tuple[Column, ...]:
    """Return the columns that records of a schema have, with the types that Spark gives them.

    Raises:
        InvalidNetworkError: It is no schema of a record; or naming every field that no column can hold.

    Example:
        >>> instant = '{"type": "long", "logicalType": "timestamp-millis"}'
        >>> avro_columns('{"type": "record", "name": "P", "fields": [{"name": "ts", "type": %s}]}' % instant)
        (Column(name='ts', type='timestamp'),)
    """
    return tuple(Column(field.name, spark_type(field.type)) for field in stored_type(avro_type(read_schema(text))))


def stored_type(record: AvroType) -> pa.StructType:
    """Return the type as which Arrow holds records; instants are in the unit in which Avro has them.

    Raises:
        InvalidNetworkError: Naming every field that no column can hold.
    """
    if record.kind != "record":
        raise InvalidNetworkError(
            Problem("the values of a stream are records", "schema", got=f"a schema of {record.kind}")
        )
    problems = [Problem(says, "schema") for says in _unheld(record, "")]
    if problems:
        raise InvalidNetworkError(*problems)
    return _stored(record)


def differing_meaning(writer: AvroType, reader: AvroType, where: str = "") -> str | None:
    """Tell a place where two schemas take the same bytes for different things; None: there is none.

    Whether types fit is found out with each value. What Avro calls logical types are numbers or bytes to that: read
    as another logical type, a value would be another one.

    Args:
        writer: The type that values were written with.
        reader: The type as which they are read.
        where: The way to both, for the answer.

    Example:
        >>> millis, micros = (
        ...     avro_type({"type": "long", "logicalType": f"timestamp-{unit}"}) for unit in ("millis", "micros")
        ... )
        >>> print(differing_meaning(millis, micros, "ts"))
        "ts" is timestamp-millis where it was written, and timestamp-micros to the stream
    """
    for written in writer.branches:
        for wanted in reader.branches:
            if written.logical and wanted.logical and written.logical != wanted.logical:
                before, now = (" ".join(map(str, each.logical)) for each in (written, wanted))
                return f'"{where}" is {before} where it was written, and {now} to the stream'
            if written.kind != wanted.kind:
                continue
            if (difference := next(_differing_parts(written, wanted, where), None)) is not None:
                return difference
    return None


def without_logical_types(schema: Any) -> Any:
    """Return a schema that takes values for the numbers and bytes as which Avro writes them."""
    if isinstance(schema, list):
        return [without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept_as_said = ("default", "symbols", "aliases", "doc")
    return {
        key: value if key in kept_as_said else without_logical_types(value)
        for key, value in schema.items()
        if key != "logicalType"
    }


def _typed(schema: Any, named: dict[str, AvroType | None], space: str, where: str) -> AvroType:
    if isinstance(schema, list):
        inner = tuple(_typed(each, named, space, where) for each in schema)
        if any(each.kind == "union" for each in inner):
            raise InvalidNetworkError(Problem(f"{where} is a union in a union", "schema", got=repr(schema)))
        return AvroType("union", inner=inner)
    if isinstance(schema, str):
        return _plain(schema) if schema in _KINDS - _NESTED else _meant(schema, named, space, where)
    if not isinstance(schema, dict) or "type" not in schema:
        raise InvalidNetworkError(Problem(f"{where} is no type of Avro", "schema", got=repr(schema)))
    kind = schema["type"]
    if kind not in ("array", "map"):
        return _typed_otherwise(schema, kind, named, space, where)
    item = _typed(schema.get("items" if kind == "array" else "values"), named, space, where)
    if kind == "array" and _is_empty(item):
        raise InvalidNetworkError(
            Problem(f"{where} has items that take no bytes: a few could claim any number", "schema")
        )
    return AvroType(kind, inner=(item,))


def _typed_otherwise(
    schema: Mapping[str, Any], kind: Any, named: dict[str, AvroType | None], space: str, where: str
) -> AvroType:
    if not isinstance(kind, str):
        return _typed(kind, named, space, where)
    if kind not in _KINDS:
        return _meant(kind, named, space, where)
    if kind not in _NESTED:
        return _plain(kind, schema)
    full = full_name(str(schema.get("name", "")), schema.get("namespace", space))
    if full in named:
        raise InvalidNetworkError(Problem(f'the name "{full}" is defined twice', "schema"))
    named[full] = None
    if kind == "fixed" and not is_whole_number(schema.get("size"), at_least=1):
        raise InvalidNetworkError(
            Problem(f'"{full}" is fixed, and has no size', "schema", got=repr(schema.get("size")))
        )
    fields = tuple(_fields(schema, named, full.rpartition(".")[0])) if kind in ("record", "error") else ()
    typed = AvroType("record", fields=fields) if kind in ("record", "error") else _plain(kind, schema)
    named[full] = typed
    return typed


def _fields(schema: Mapping[str, Any], named: dict[str, AvroType | None], space: str) -> Iterator[AvroField]:
    fields = schema.get("fields")
    for field in fields if isinstance(fields, list) else [None]:
        if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
            says = f'the record "{schema.get("name")}" needs fields such as {{"name": "size", "type": "int"}}'
            raise InvalidNetworkError(Problem(says, "schema", got=repr(field)))
        name, aliases = field["name"], field.get("aliases")
        if not _NAME.fullmatch(name):
            says = f'a field of the record "{schema.get("name")}" has a name that is none in Avro'
            raise InvalidNetworkError(Problem(says, "schema", got=repr(name)))
        names = (
            (name, *(alias for alias in aliases if isinstance(alias, str))) if isinstance(aliases, list) else (name,)
        )
        yield AvroField(names, _typed(field["type"], named, space, f'"{name}"'))


def _meant(name: str, named: Mapping[str, AvroType | None], space: str, where: str) -> AvroType:
    """The type that a name stands for."""
    full = next((each for each in (full_name(name, space), name) if each in named), None)
    if full is None:
        raise InvalidNetworkError(Problem(f'{where} is of the type "{name}", which is defined nowhere', "schema"))
    typed = named[full]
    if typed is None:
        raise InvalidNetworkError(
            Problem(f'{where} is part of the record "{name}" that it holds: a column ends somewhere', "schema")
        )
    return typed


def _plain(kind: str, schema: Mapping[str, Any] | None = None) -> AvroType:
    logical = (schema or {}).get("logicalType")
    if logical == _DECIMAL and kind in ("bytes", "fixed"):
        precision, scale = (schema or {}).get("precision"), (schema or {}).get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= _most_digits(schema):
            stored = pa.decimal128(precision, scale) if 0 < precision <= _MOST_DIGITS else None
            return AvroType(kind, (_DECIMAL, scale), stored=stored)
    elif isinstance(logical, str) and (instant := _LOGICAL.get((kind, logical))) is not None:
        return AvroType(kind, (logical,), stored=instant)
    return AvroType(kind, stored=_PLAIN.get(kind))


def _most_digits(schema: Mapping[str, Any] | None) -> float:
    """How many digits a decimal may have: bytes hold any number, what is fixed those that fit."""
    size = (schema or {}).get("size")
    return len(str(2 ** (8 * size - 1) - 1)) - 1 if isinstance(size, int) else math.inf


def _is_empty(each: AvroType) -> bool:
    """Whether values of a type take no bytes."""
    return each.kind == _NULL or (each.kind == "record" and all(_is_empty(field.type) for field in each.fields))


def _unheld(each: AvroType, where: str) -> Iterator[str]:
    """Tell what of a type no column can hold."""
    branches = each.branches
    if len(branches) != 1 and frozenset(branch.kind for branch in branches) not in _WIDER:
        what = f"a union of {' and '.join(branch.kind for branch in branches)}" if branches else "always null"
        yield f'the field "{where}" is {what}: a column has one type'
        return
    held = branches[0]
    if held.logical and held.stored is None:
        yield f'the field "{where}" is a decimal of more than {_MOST_DIGITS} digits, which Spark does not have'
    if held.kind == "record" and not held.fields:
        yield f"{f'the field {chr(34)}{where}{chr(34)} is' if where else 'it describes'} a record without fields"
    yield from duplicate_names(field.names[0] for field in held.fields)
    for field in held.fields:
        yield from _unheld(field.type, f"{where}.{field.names[0]}" if where else field.names[0])
    for inner in held.inner:
        yield from _unheld(inner, where)


def _stored(each: AvroType) -> pa.DataType:
    branches = each.branches
    if len(branches) > 1:
        return _PLAIN[_WIDER[frozenset(branch.kind for branch in branches)]]
    held = branches[0]
    if held.kind == "record":
        return pa.struct([pa.field(field.names[0], _stored(field.type)) for field in held.fields])
    if held.kind == "array":
        return pa.list_(_stored(held.inner[0]))
    if held.kind == "map":
        return pa.map_(pa.string(), _stored(held.inner[0]))
    return held.stored


def _differing_parts(written: AvroType, wanted: AvroType, where: str) -> Iterator[str]:
    pairs = [(*pair, where) for pair in zip(written.inner, wanted.inner, strict=False)]
    by_name = {field.names[0]: field.type for field in written.fields}
    for field in wanted.fields:
        source = next((by_name[name] for name in field.names if name in by_name), None)
        if source is not None:
            pairs.append((source, field.type, f"{where}.{field.names[0]}" if where else field.names[0]))
    for writer, reader, place in pairs:
        if (difference := differing_meaning(writer, reader, place)) is not None:
            yield difference
