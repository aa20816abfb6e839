"""Whether a task may read the rows of a stream itself, from Parquet files or lines of text, in the place of Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from streamshed.columnar.csv_rows import CsvFiles
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.network.words.columns import Column
from streamshed.sharing.stream_work import StreamWork

OF_LISTING = frozenset(
    {
        "cleansource",
        "filenameonly",
        "latestfirst",
        "maxbytespertrigger",
        "maxcachedfiles",
        "maxfileage",
        "maxfilespertrigger",
        "modifiedafter",
        "modifiedbefore",
        "pathglobfilter",
        "recursivefilelookup",
        "sourcearchivedir",
    }
)
"""Options that say which files are read: Spark finds them. All others may change what is read of a file."""
_HASHED = frozenset({"tinyint", "smallint", "int", "bigint", "string", "binary"})
"""Types of what identifies a row whose hash is the same here as in Spark."""


def check_files(work: StreamWork, *, samples: bool, drops: bool) -> None:
    """See that a task may read the rows of a stream itself.

    Args:
        work: What is done with them.
        samples: Whether rows may be sampled.
        drops: Whether rows may be left out by their times.

    Raises:
        Untranslatable: It may not; why.
    """
    stream, source = work.stream, work.stream.source
    if isinstance(source, FolderSource) and source.format is FileFormat.CSV:
        raise Untranslatable("an option of their files lets a row be something else than a line")
    if not isinstance(source, FolderSource) or source.format is not FileFormat.PARQUET:
        raise Untranslatable("they are neither texts of JSON or CSV nor in Parquet files")
    if "://" in source.path:
        raise Untranslatable("their files are not on a disk of this machine")
    if others := [name for name, _ in source.options if name.lower() not in OF_LISTING]:
        raise Untranslatable(f'the option "{others[0]}" of their files is for Spark')
    if stream.identity.kind is IdentityKind.NONE:
        raise Untranslatable("nothing identifies a row")
    check_shedding(stream, stream.schema, samples=samples, drops=drops)


def check_shedding(stream: Stream, columns: Iterable[Column], *, samples: bool, drops: bool) -> None:
    """See that a task may decide of a stream's rows, before they are parsed, which are shed.

    Args:
        stream: The stream.
        columns: What its source delivers.
        samples: Whether rows may be sampled.
        drops: Whether rows may be left out by their times.

    Raises:
        Untranslatable: It may not; why.
    """
    types = {column.name.lower(): column.type for column in columns}
    for name in stream.identity.columns if samples else ():
        if types.get(name.lower()) not in _HASHED:
            raise Untranslatable(f'the column "{name}", which identifies a row, is hashed by Spark')
    if drops and not (stream.is_numbered or stream.attribute.column):
        raise Untranslatable("windows may be dropped by a time that is computed")


def check_csv_files(stream: Stream, *, samples: bool, drops: bool) -> None:
    """See that tasks may read the rows of a stream, lines of CSV, themselves; arguments as for `check_files`.

    Raises:
        Untranslatable: They may not; why.
    """
    if not are_in_files_here(stream):
        raise Untranslatable("their files are not on a disk of this machine")
    csv_files(stream)
    if name := _folder_of_a_value(stream):
        raise Untranslatable(f'the folder "{name}" tells a column, and lines of CSV have one less')
    if samples and stream.identity.kind is IdentityKind.COLUMNS:
        raise Untranslatable("what identifies a row is in its text")
    if drops:
        raise Untranslatable("windows may be dropped by what is in the text: the event time, or keys")


def csv_files(stream: Stream) -> CsvFiles:
    """Return what is in the CSV files of a stream beside rows.

    Raises:
        Untranslatable: An option lets Spark read files in its own way.
    """
    source = stream.source
    if not isinstance(source, FolderSource):
        raise TypeError(f"{source} has no files")
    options = {name: value for name, value in source.options if name.lower() not in OF_LISTING}
    return CsvFiles.of(options, tuple(column.name for column in source.columns))


def _folder_of_a_value(stream: Stream) -> str | None:
    """The name of a folder that tells a column's value, if there is one by now."""
    source = stream.source
    if not isinstance(source, FolderSource) or not source.names_tell_columns:
        return None
    # Of a pattern, which batch mode takes, all that is below what stands before it.
    [below, *_] = re.split(r"/[^/]*[*?\[{]", str(Path(source.path).absolute()))
    names = (name for _, folders, _ in os.walk(below) for name in folders)
    return next((name for name in names if "=" in name), None)


def are_in_files_here(stream: Stream) -> bool:
    """Return whether the rows of a stream are lines of JSON or CSV, or in Parquet files, on a disk of this machine."""
    source = stream.source
    if not isinstance(source, FolderSource) or "://" in source.path:
        return False
    return source.format is FileFormat.PARQUET or is_of_lines(stream)


def is_of_lines(stream: Stream) -> bool:
    """Return whether the rows of a stream are lines of JSON or CSV in files."""
    return stream.parse is None and stream.lines is not None
