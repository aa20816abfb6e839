"""Recorded files cut into pieces, so that they are read in several micro-batches, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

from streamshed.network.sources import FileFormat

PIECES = 12
"""So many show how event time goes on, and what of it is a micro-batch's and what a row's."""

_PACKED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz"}


def recorded_files(folder: Path) -> list[Path]:
    """Return the files that Spark would read in a folder, in the order in which it does: the oldest first."""
    files = (
        [path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._"] if folder.is_dir() else []
    )
    return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))


def cut(files: list[Path], file_format: FileFormat, *, has_header: bool, target: Path) -> bool:
    """Write the rows of few files into more of them, in the same order.

    Args:
        files: The files.
        file_format: What they are.
        has_header: Whether the first line of each is no row.
        target: Folder for the pieces, which is made.

    Returns:
        Whether it was done: not where files are packed, or begin with a header.
    """
    if has_header or any(file.suffix in _PACKED for file in files) or not files:
        return False
    target.mkdir(parents=True)
    parts = _tables(files, target) if file_format is FileFormat.PARQUET else _lines(files, file_format, target)
    for number, piece in enumerate(parts):
        os.utime(piece, (number, number))
    return True


def _tables(files: list[Path], target: Path) -> Iterator[Path]:
    total = sum(parquet.read_metadata(file).num_rows for file in files)
    number = 0
    for file in files:
        with parquet.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=max(1, -(-total // PIECES))):
                piece = target / f"{number:06d}.parquet"
                with parquet.ParquetWriter(piece, opened.schema_arrow) as writer:
                    writer.write_batch(batch)
                number += 1
                yield piece


def _lines(files: list[Path], file_format: FileFormat, target: Path) -> Iterator[Path]:
    room = max(1, -(-sum(file.stat().st_size for file in files) // PIECES))
    number = 0
    for file in files:
        with file.open("rb") as opened:
            while lines := opened.readlines(room):
                piece = target / f"{number:06d}.{file_format}"
                piece.write_bytes(b"".join(lines))
                number += 1
                yield piece
