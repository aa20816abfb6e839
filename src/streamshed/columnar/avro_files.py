"""Files of Avro as columns: blocks of records behind a header that has the schema with which they were written.

fastavro reads numbers and bytes, Arrow makes columns of them, and compressed blocks are unpacked here: fastavro would
need a package more for Snappy, with which Spark writes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from io import BytesIO
from typing import Any

import pyarrow as pa

from streamshed.columnar.avro_values import fastavro_library, in_microseconds, parsed_schema, plain_values
from streamshed.network.words.avro_schema import AvroType, stored_type

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_HEADER = {
    "type": "record",
    "name": "Header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": len(_MAGIC)}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": _SYNC_BYTES}},
    ],
}


class AvroFile:
    """A file of Avro.

    Args:
        content: All its bytes.

    Attributes:
        names: The fields of its records.

    Raises:
        ValueError: It is none, or its values are no records.
        MissingExtraError: The extra `avro` is not installed.

    Example:
        >>> import fastavro
        >>> schema = {"type": "record", "name": "P", "fields": [{"name": "host", "type": "string"}]}
        >>> fastavro.writer(file := BytesIO(), schema, [{"host": "a"}, {"host": "b"}], codec="deflate")
        >>> hosts = AvroFile(file.getvalue())
        >>> hosts.names, hosts.table(hosts.names).to_pydict()
        (('host',), {'host': ['a', 'b']})
    """

    def __init__(self, content: bytes) -> None:
        self._library = fastavro_library()
        if not content.startswith(_MAGIC):
            raise ValueError("it does not begin as files of Avro do")
        self._content, stream = content, BytesIO(content)
        header = self._value(stream, _HEADER)
        self._sync, self._first_block = header["sync"], stream.tell()
        text, codec = (header["meta"].get(f"avro.{key}", b"").decode() for key in ("schema", "codec"))
        self._type, self._schema = parsed_schema(text)
        if self._type.kind != "record":
            raise ValueError(f"its values are no records, but of the type {self._type.kind}")
        if codec and codec not in _CODECS:
            raise ValueError(f'its blocks are packed by "{codec}": write it with one of {", ".join(_CODECS)}')
        self._unpack = _CODECS[codec or "null"]
        self.names = tuple(field.names[0] for field in self._type.fields)

    @property
    def columns(self) -> pa.StructType:
        """The columns of its records.

        Raises:
            InvalidNetworkError: Naming every field that no column can hold.
        """
        return in_microseconds(stored_type(self._type))

    def table(self, names: Collection[str]) -> pa.Table:
        """Read fields of all records; without any, the table still has as many rows.

        Args:
            names: The fields, some of `names`.

        Raises:
            ValueError: A block is damaged, or no column can hold one of the fields.
        """
        record = AvroType("record", fields=tuple(field for field in self._type.fields if field.names[0] in names))
        stored = stored_type(record) if record.fields else pa.struct([])
        plain = plain_values(stored)
        chunks = []
        for block in self._blocks():
            try:
                chunk = pa.array(block if plain is None else [plain(each) for each in block], stored)
                chunks.append(chunk.cast(in_microseconds(stored)))
            except (ArithmeticError, TypeError) as error:
                raise ValueError(f"a value is not of its type: {error}") from error
        struct = pa.chunked_array(chunks, in_microseconds(stored))
        return pa.Table.from_struct_array(struct)

    def _blocks(self) -> Iterator[list[Any]]:
        stream = BytesIO(self._content)
        stream.seek(self._first_block)
        while stream.tell() < len(self._content):
            count, size = self._value(stream, "long"), self._value(stream, "long")
            packed, sync = stream.read(size), stream.read(_SYNC_BYTES)
            if sync != self._sync:
                raise ValueError("it is damaged, or not written to its end: a block does not end where it should")
            yield self._records(packed, count)

    def _records(self, packed: bytes, count: int) -> list[Any]:
        try:
            block = self._unpack(packed)
        except (OSError, EOFError, ValueError, IndexError, lzma.LZMAError, zlib.error, pa.ArrowException) as error:
            raise ValueError(f"it is damaged: a block cannot be unpacked ({error})") from error
        stream = BytesIO(block)
        records = [self._value(stream, self._schema) for _ in range(count)]
        if stream.tell() != len(block):
            raise ValueError("it is damaged: a block holds more than its records")
        return records

    def _value(self, stream: BytesIO, schema: Any) -> Any:
        try:
            return self._library.schemaless_reader(stream, schema, None)
        except Exception as error:
            raise ValueError(f"it is damaged ({type(error).__name__}: {error})") from error


def _snappy(packed: bytes) -> bytes:
    """Unpack a block of Snappy: its length as a varint is in front, a checksum of four bytes behind."""
    length = shift = 0
    for byte in packed:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if length > _MOST_BYTES:
        raise ValueError(f"it would take {length} bytes")
    block: bytes = pa.decompress(packed[:-4], decompressed_size=length, codec="snappy", asbytes=True)
    if zlib.crc32(block) != int.from_bytes(packed[-4:], "big"):
        raise ValueError("its checksum is another one")
    return block


def _zstandard(packed: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        block: bytes = stream.read()
        return block


_MOST_BYTES = 2**31
_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda packed: zlib.decompress(packed, -zlib.MAX_WBITS),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}
"""What unpacks a block, by what Avro calls the codec."""
