"""Records of Avro as columns, many at once; those that cannot be read are told one by one.

fastavro reads the numbers and bytes of a record; Arrow makes columns of them. Logical types are left to Arrow: an
instant that Python's `datetime` cannot hold is one to Spark.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from io import BytesIO
from typing import Any

import pyarrow as pa

from streamshed.errors import InvalidNetworkError, MissingExtraError, Problem
from streamshed.network.words.avro_schema import (
    AvroType,
    avro_type,
    differing_meaning,
    read_schema,
    stored_type,
    without_logical_types,
)
from streamshed.network.words.schema_registry import SchemaRegistry

NO_AVRO = "value cannot be parsed as Avro"
NO_FRAME = "value does not begin with the id of a schema"
UNKNOWN_SCHEMA = "the registry has no schema of its id"
OTHER_SCHEMA = "its schema cannot be resolved to the stream's"

FRAME_BYTES = 5
"""Confluent's wire format: a byte 0, then the id in four bytes, the highest first."""

_MOST_SCHEMAS = 10_000
_ABSENT_SECONDS = 60
"""How long an id is taken for one that the registry does not have."""


class AvroValues:
    """Reads records of Avro as a stream has them.

    Args:
        schema: The text of the schema as which they are read.
        registry: Has the schemas with which they were written; None: they were written with that one, and have no ids.
        clock: Seconds that pass.

    Raises:
        MissingExtraError: The extra `avro` is not installed.
        InvalidNetworkError: The schema breaks a rule of Avro.
    """

    def __init__(
        self, schema: str, registry: SchemaRegistry | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._library = fastavro_library()
        self._registry, self._clock = registry, clock
        self._type, self._schema = parsed_schema(schema)
        self._stored: pa.StructType = stored_type(self._type)
        self.columns: pa.StructType = in_microseconds(self._stored)
        """What records are read as."""
        self._plain = plain_values(self._stored)
        self._written: dict[int, Any] = {}
        self._absent: dict[int, float] = {}

    def read(self, values: pa.Array) -> tuple[pa.StructArray, pa.StringArray]:
        """Read values.

        Args:
            values: Bytes; null where there are none.

        Returns:
            The records, null where a value cannot be read or is null; and why, null where it can or is null.

        Raises:
            ServerUnavailableError: The registry is needed, and does not answer.
            SourceUnavailableError: It refuses.
        """
        records = [None if value is None else self._record(value) for value in values.to_pylist()]
        reasons = [record if isinstance(record, str) else None for record in records]
        readable = [None if isinstance(record, str) else record for record in records]
        try:
            column = self._column(readable)
        except _NOT_OF_TYPE:
            # Some integer, decimal or instant is larger than its type holds.
            for row, record in enumerate(readable):
                if record is not None and not self._is_of_type(record):
                    readable[row], reasons[row] = None, NO_AVRO
            column = self._column(readable)
        return column, pa.array(reasons, pa.string())

    def _record(self, value: bytes) -> Any:
        """A record as Arrow takes it; or why it cannot be read, which is a text."""
        # Whoever reads into the byte behind it was to read more: what is skipped is not missed by fastavro.
        stream, schema = BytesIO(value + b"\0"), None
        if self._registry is not None:
            if len(value) < FRAME_BYTES or value[0] != 0:
                return NO_FRAME
            schema = self._schema_of(int.from_bytes(value[1:FRAME_BYTES], "big"))
            if isinstance(schema, str):
                return schema
            stream.seek(FRAME_BYTES)
        try:
            if schema is None:
                record = self._library.schemaless_reader(stream, self._schema, None)
            else:
                record = self._library.schemaless_reader(stream, schema, self._schema)
        except Exception:  # noqa: BLE001 - bytes may lead it anywhere, and one value may not end a run
            return NO_AVRO
        if stream.tell() != len(value):
            return NO_AVRO
        return record if self._plain is None else self._plain(record)

    def _schema_of(self, number: int) -> Any:
        """The schema of an id; or why its values cannot be read."""
        if (there := self._written.get(number)) is not None:
            return there
        if self._clock() < self._absent.get(number, -math.inf):
            return UNKNOWN_SCHEMA
        for seen in (self._written, self._absent):
            if len(seen) >= _MOST_SCHEMAS:
                seen.clear()
        schema = self._fetched(number)
        if schema is None:
            self._absent[number] = self._clock() + _ABSENT_SECONDS
            return UNKNOWN_SCHEMA
        self._written[number] = schema
        return schema

    def _fetched(self, number: int) -> Any:
        """What the registry says of an id: a schema, that it does not fit, or None."""
        registry = self._registry
        try:
            text = None if registry is None else registry.schema(number)
            written, schema = (None, None) if text is None else parsed_schema(text)
        except InvalidNetworkError:
            return OTHER_SCHEMA
        is_other = written is not None and (
            written.kind not in ("record", "union") or differing_meaning(written, self._type) is not None
        )
        return OTHER_SCHEMA if is_other else schema

    def _column(self, records: Sequence[Any]) -> pa.StructArray:
        return pa.array(records, self._stored).cast(self.columns)

    def _is_of_type(self, record: Any) -> bool:
        try:
            self._column([record])
        except _NOT_OF_TYPE:
            return False
        return True


_NOT_OF_TYPE = (pa.ArrowException, OverflowError, TypeError, ValueError)


@lru_cache(maxsize=64)
def avro_values(schema: str, registry: SchemaRegistry | None) -> AvroValues:
    """Return what reads such records, the same for all tasks of this process: it remembers schemas."""
    return AvroValues(schema, registry)


def in_microseconds(kind: pa.DataType) -> pa.DataType:
    """Return a type with instants as Spark has them.

    Example:
        >>> print(in_microseconds(pa.struct([("ts", pa.list_(pa.timestamp("ms", tz="UTC")))])))
        struct<ts: list<item: timestamp[us, tz=UTC]>>
    """
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, in_microseconds(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(in_microseconds(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, in_microseconds(kind.item_type))
    return kind


def fastavro_library() -> Any:
    """Import fastavro.

    Raises:
        MissingExtraError: The extra `avro` is not installed.
    """
    try:
        import fastavro
    except ImportError as error:
        raise MissingExtraError("values of Avro need a package more: pip install 'streamshed[avro]'") from error
    return fastavro


def parsed_schema(text: str) -> tuple[AvroType, Any]:
    """Return a schema as we understand it, and as fastavro does.

    Raises:
        InvalidNetworkError: It breaks a rule of Avro.
        MissingExtraError: The extra `avro` is not installed.
    """
    library, schema = fastavro_library(), read_schema(text)
    understood = avro_type(schema)
    try:
        return understood, library.parse_schema(without_logical_types(schema))
    except (AttributeError, KeyError, TypeError, ValueError, library.schema.SchemaParseException) as error:
        raise InvalidNetworkError(Problem(f"the Avro schema breaks a rule of Avro: {error}", "schema")) from error


def plain_values(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return what makes values as fastavro has them such as Arrow takes; None: they are."""
    if pa.types.is_decimal(kind):
        return _null_safe(lambda value: _decimal(_bytes(value), kind.scale))
    if pa.types.is_binary(kind):
        return _null_safe(_bytes)
    if pa.types.is_struct(kind):
        inner = {field.name: plain for field in kind if (plain := plain_values(field.type)) is not None}
        return _null_safe(lambda value: _with_plain_fields(value, inner)) if inner else None
    if pa.types.is_list(kind) and (item := plain_values(kind.value_type)) is not None:
        return _null_safe(lambda value: [item(each) for each in value])
    if pa.types.is_map(kind):
        of_value = plain_values(kind.item_type) or _unchanged
        return _null_safe(lambda value: [(key, of_value(each)) for key, each in value.items()])
    return None


def _unchanged(value: Any) -> Any:
    return value


def _null_safe(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else plain(value)


def _with_plain_fields(record: Mapping[str, Any], plain: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    return {**record, **{name: make(record[name]) for name, make in plain.items()}}


def _bytes(value: bytes | str) -> bytes:
    """Bytes; a default of them is a text in the schema, with a letter for each byte."""
    return value.encode("latin-1") if isinstance(value, str) else value


def _decimal(value: bytes, scale: int) -> Decimal:
    """A decimal of the bytes of its digits; exact, whatever Python's context says."""
    digits = int.from_bytes(value, "big", signed=True)
    return Decimal((digits < 0, tuple(map(int, str(abs(digits)))), -scale))
