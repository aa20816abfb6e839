"""Recorded files cut into pieces, so that they are read in several micro-batches, one after the other."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

from streamshed.network.source.sources import FileFormat

PIECES = 12
"""So many show how event time goes on, and what of it is a micro-batch's and what a row's."""

SHARES = (1, 3)
"""How large neighboring pieces are: of micro-batches that are all alike nobody can tell what of them is fixed."""

_WHOLE = {FileFormat.ORC, FileFormat.AVRO}
"""Files that neither have lines nor are taken apart here."""

_PACKED = {".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz"}


def recorded_files(folder: Path) -> list[Path]:
    """Return the files that Spark would read in a folder, in the order in which it does: the oldest first."""
    files = (
        [path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._"] if folder.is_dir() else []
    )
    return sorted(files, key=lambda path: (path.stat().st_mtime_ns, path.name))


def cut(files: list[Path], file_format: FileFormat, *, has_header: bool, target: Path) -> bool:
    """Write the rows of few files into more of them, in the same order; every other piece has three times the rows.

    Args:
        files: The files.
        file_format: What they are.
        has_header: Whether the first line of each is no row.
        target: Folder for the pieces, which is made.

    Returns:
        Whether it was done: not where files are packed, begin with a header, or are ORC or Avro.
    """
    if has_header or any(file.suffix in _PACKED for file in files) or not files or file_format in _WHOLE:
        return False
    target.mkdir(parents=True)
    parts = _tables(files, target) if file_format is FileFormat.PARQUET else _lines(files, file_format, target)
    for number, piece in enumerate(parts):
        os.utime(piece, (number, number))
    return True


def _tables(files: list[Path], target: Path) -> Iterator[Path]:
    share = _share(sum(parquet.read_metadata(file).num_rows for file in files))
    sizes, numbers = itertools.cycle(SHARES), itertools.count()
    for file in files:
        with parquet.ParquetFile(file) as opened:
            batches = opened.iter_batches(batch_size=share)
            while some := list(itertools.islice(batches, next(sizes))):
                piece = target / f"{next(numbers):06d}.parquet"
                with parquet.ParquetWriter(piece, opened.schema_arrow) as writer:
                    for record_batch in some:
                        writer.write_batch(record_batch)
                yield piece


def _lines(files: list[Path], file_format: FileFormat, target: Path) -> Iterator[Path]:
    share = _share(sum(file.stat().st_size for file in files))
    sizes, numbers = itertools.cycle(SHARES), itertools.count()
    for file in files:
        with file.open("rb") as opened:
            while lines := opened.readlines(next(sizes) * share):
                piece = target / f"{next(numbers):06d}.{file_format}"
                piece.write_bytes(b"".join(lines))
                yield piece


def _share(total: int) -> int:
    """What is left of all of it for the smallest of about so many pieces."""
    return max(1, -(-total * len(SHARES) // (PIECES * sum(SHARES))))
