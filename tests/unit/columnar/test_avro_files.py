"""Files of Avro are read as fastavro's own reader reads them, and what is damaged is told."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from streamshed.columnar.avro_files import AvroFile

SCHEMA = {
    "type": "record",
    "name": "Host",
    "fields": [
        {"name": "host", "type": "string"},
        {"name": "seen", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}]},
        {"name": "ports", "type": {"type": "array", "items": "int"}},
        {"name": "either", "type": ["int", "string"]},
    ],
}
HELD = ["host", "seen", "price", "ports"]
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def rows(number: int) -> list[dict[str, Any]]:
    return [
        {
            "host": f"h{index}",
            "seen": BEGIN + timedelta(seconds=index),
            "price": Decimal(index) / 4 if index % 3 else None,
            "ports": list(range(index % 4)),
            "either": index if index % 2 else "x",
        }
        for index in range(number)
    ]


def written(number: int = 2000, *, schema: Any = None, codec: str = "null") -> bytes:
    """A file; 2,000 rows are several blocks."""
    file = BytesIO()
    fastavro.writer(file, fastavro.parse_schema(schema or SCHEMA), rows(number), codec=codec)
    return file.getvalue()


def repacked(content: bytes, codec: str, pack: Callable[[bytes], bytes]) -> bytes:
    """The same file with blocks that are packed otherwise, by a library that is not ours."""
    header = {
        "type": "record",
        "name": "Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
        ],
    }
    stream, packed = BytesIO(content), BytesIO()
    head: Any = fastavro.schemaless_reader(stream, header, None)
    head["meta"]["avro.codec"] = codec.encode()
    fastavro.schemaless_writer(packed, header, head)
    while stream.tell() < len(content):
        count, size = (fastavro.schemaless_reader(stream, {"type": "long"}, None) for _ in range(2))
        assert isinstance(size, int)
        block = pack(stream.read(size))
        for number in (count, len(block)):
            fastavro.schemaless_writer(packed, {"type": "long"}, number)
        packed.write(block + stream.read(16))
    return packed.getvalue()


def snappy(block: bytes) -> bytes:
    return bytes(pa.compress(block, codec="snappy", asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")


def of_fastavro(content: bytes) -> list[dict[str, Any]]:
    return [{name: row[name] for name in HELD} for row in fastavro.reader(BytesIO(content))]  # type: ignore[call-overload, index]


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_rows_are_those_that_fastavro_reads(codec: str) -> None:
    content = written(codec=codec)
    table = AvroFile(content).table(HELD)
    assert table.to_pylist() == of_fastavro(content)
    assert table.schema.field("seen").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("codec", "pack"), [("snappy", snappy), ("zstandard", lambda block: pa.compress(block, codec="zstd", asbytes=True))]
)
def test_what_spark_packs_needs_no_package_more(codec: str, pack: Callable[[bytes], bytes]) -> None:
    content = written()
    assert AvroFile(repacked(content, codec, pack)).table(HELD).to_pylist() == of_fastavro(content)


def test_a_file_without_rows_has_its_columns() -> None:
    table = AvroFile(written(0)).table(["host", "price"])
    assert table.schema == pa.schema([("host", pa.string()), ("price", pa.decimal128(6, 2))])
    assert table.num_rows == 0


def test_rows_are_counted_without_columns() -> None:
    assert AvroFile(written(7)).table([]).num_rows == 7


def test_a_field_of_several_types_is_in_the_way_only_where_it_is_wanted() -> None:
    content = AvroFile(written(3))
    assert content.names == (*HELD, "either")
    says = 'the field "either" is a union of int and string: a column has one type'
    with pytest.raises(ValueError, match=says):
        content.table(["either"])
    with pytest.raises(ValueError, match=says):
        _ = content.columns


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (b"host\na\n", "does not begin as files of Avro do"),
        (b"Obj\x01", "it is damaged"),
        (written()[:-5], "not written to its end"),
        (written(codec="deflate").replace(b"deflate", b"deflata"), 'packed by "deflata": write it with one of null,'),
        (repacked(written(), "snappy", lambda block: snappy(block)[:-1] + b"x"), "its checksum is another one"),
        (repacked(written(), "deflate", lambda block: block), "a block cannot be unpacked"),
        (repacked(written(), "null", lambda block: block + b"x"), "a block holds more than its records"),
    ],
)
def test_what_is_damaged_is_told(damaged: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AvroFile(damaged).table(["host"])


def test_values_that_are_no_records_are_told() -> None:
    file = BytesIO()
    fastavro.writer(file, json.loads('{"type": "long"}'), [1, 2])
    with pytest.raises(ValueError, match="its values are no records, but of the type long"):
        AvroFile(file.getvalue())
