"""The files that a stored relation consists of, wherever PyArrow can reach them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from streamshed.errors import SourceUnavailableError

_LINE_END = "\n"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class RelationFile:
    """One file; unequal to what it was when it has changed.

    Attributes:
        path: Where it is in its file system.
        size_bytes: How long it is.
        changed_at_nanoseconds: When it was changed.
        partition: Columns, and their values as text, that the names of its folders (`day=1`) add to its rows.
    """

    path: str
    size_bytes: int
    changed_at_nanoseconds: int
    partition: tuple[tuple[str, str | None], ...] = ()


def file_system(location: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path in it.

    Raises:
        SourceUnavailableError: A scheme that PyArrow does not know, or a file system that it cannot reach.
    """
    if "://" not in location:
        return fs.LocalFileSystem(), os.path.abspath(location)
    try:
        system_and_path: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
    except (pa.ArrowException, OSError, ValueError) as error:
        scheme = location.partition("://")[0]
        question = f' (did you mean "s3{location[len(scheme) :]}"?)' if scheme in {"s3a", "s3n"} else ""
        raise SourceUnavailableError(
            f'PyArrow, which reads relations, cannot reach "{location}": {str(error).partition(_LINE_END)[0]}{question}'
        ) from error
    return system_and_path


def relation_files(location: str) -> tuple[RelationFile, ...]:
    """List the files of a relation: a file, or all in a folder that are not hidden (`_name`, `.name`), by name.

    Raises:
        SourceUnavailableError: There are none, or they cannot be listed.
    """
    system, root = file_system(location)
    try:
        (info,) = system.get_file_info([root])
        if info.type is fs.FileType.NotFound:
            raise SourceUnavailableError(f'"{location}" does not exist')
        if info.type is not fs.FileType.Directory:
            return (RelationFile(root, info.size, info.mtime_ns or 0),)
        inside = system.get_file_info(fs.FileSelector(root, recursive=True))
    except OSError as error:
        raise SourceUnavailableError(f'cannot read "{location}": {error}') from error
    if any(info.path.rstrip("/").endswith("/_delta_log") for info in inside if info.type is fs.FileType.Directory):
        raise SourceUnavailableError(
            f'"{location}" is a table of Delta Lake, which has removed some of its files: name it by delta, not by path'
        )
    files = tuple(sorted(_files(inside, root.rstrip("/")), key=lambda file: file.path))
    if not files:
        raise SourceUnavailableError(f'the folder "{location}" holds no file')
    return files


def _files(inside: list[fs.FileInfo], root: str) -> Iterator[RelationFile]:
    for info in inside:
        *folders, name = info.path[len(root) + 1 :].split("/")
        if info.type is fs.FileType.File and not any(part.startswith(("_", ".")) for part in (*folders, name)):
            partition = tuple(_partition(folder, root) for folder in folders)
            yield RelationFile(info.path, info.size, info.mtime_ns or 0, partition)


def _partition(folder: str, root: str) -> tuple[str, str | None]:
    column, equals, value = folder.partition("=")
    if not equals or not column:
        raise SourceUnavailableError(
            f'"{root}" holds the folder "{folder}": a relation\'s folder holds files, and folders of partitions such as'
            ' "day=1"'
        )
    return unquote(column), None if value == _NO_VALUE else unquote(value)
