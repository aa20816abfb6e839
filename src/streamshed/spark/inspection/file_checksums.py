"""Checksums that Hadoop writes beside files on local disks: of each piece of a file, a CRC-32."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping

from streamshed.spark.checkpoint.storage import Storage

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4sI")


def damaged_files(folder: Storage, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the files that differ from their checksums; those without are passed over.

    Args:
        folder: A folder.
        sizes: Of its files, by their names relative to it.
    """
    for name in sizes:
        parent, slash, base = name.rpartition("/")
        checksums_name = f"{parent}{slash}.{base}.crc"
        if checksums_name in sizes and not _fits(folder, name, checksums_name):
            yield name


def _fits(folder: Storage, name: str, checksums_name: str) -> bool:
    checksums = folder.read_bytes(checksums_name) or b""
    if not checksums.startswith(_MAGIC):
        return True  # of another kind
    return checksums == written_checksums(folder.read_bytes(name) or b"", _HEADER.unpack_from(checksums)[1])


def written_checksums(content: bytes, piece_bytes: int = 512) -> bytes:
    """Return what Hadoop writes beside a file.

    Args:
        content: Of the file.
        piece_bytes: Size of a piece.

    Example:
        >>> written_checksums(b"a" * 513).hex(" ", 4)
        '63726300 00000200 f9517051 e8b7be43'
    """
    pieces = (content[start : start + piece_bytes] for start in range(0, len(content), piece_bytes))
    return _HEADER.pack(_MAGIC, piece_bytes) + b"".join(struct.pack(">I", zlib.crc32(piece)) for piece in pieces)
