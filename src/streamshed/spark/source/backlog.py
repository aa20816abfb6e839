"""What waits: rows that have come and that a micro-batch does not take, since its source may only bring so many."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamshed.network.source.sources import FolderSource
from streamshed.spark.checkpoint.partition_offsets import partition_offsets, rows_by_partition


@dataclass(frozen=True)
class Waiting:
    """Files of a folder that wait for a later micro-batch.

    Attributes:
        rows: About how many rows are in them.
        youngest: The one that was modified last; None: none waits.
    """

    rows: int = 0
    youngest: str | None = None


def waiting_files(source: FolderSource, taken: Sequence[str], rows: int, most_bytes: int | None = None) -> Waiting:
    """Return which files of a folder wait for a later micro-batch.

    Only a folder of which a micro-batch takes so many files or bytes at most can keep any waiting: of files when it
    took so many, of bytes when one more file would have been too much. Files that came after Spark had looked do not
    wait. Spark takes files by age, so those that wait are younger than all that were taken. They are taken to hold as
    many rows each as those of the micro-batch do.

    Args:
        source: The folder, in this machine's file system.
        taken: Paths of the micro-batch's files.
        rows: Rows in them.
        most_bytes: How many bytes it takes at most; None: nobody has said so.
    """
    most = source.max_files_per_micro_batch if most_bytes is None else 1
    takes_youngest = dict(source.options).get("latestFirst", "false").lower() == "true"
    if most is None or len(taken) < most or takes_youngest:
        return Waiting()
    youngest = max(map(_modified_at, taken))
    waiting = [file for file in _modified(source.path) if file[0] > youngest] if youngest else []
    if not waiting or (most_bytes is not None and sum(map(_size, (*taken, min(waiting)[1]))) <= most_bytes):
        return Waiting()
    return Waiting(round(len(waiting) * rows / len(taken)), max(waiting)[1])


def _size(path: str) -> int:
    """How many bytes a file has; 0 if it is gone."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def _modified_at(path: str) -> int:
    """When a file was modified, nanoseconds; 0 if it is gone."""
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _modified(folder: str) -> Iterator[tuple[int, str]]:
    """When the files of a folder that Spark would read were modified, nanoseconds, and their paths."""
    for entry in os.scandir(folder):
        if entry.name.startswith(("_", ".")):
            continue
        with contextlib.suppress(FileNotFoundError):  # it may be gone by now
            if entry.is_dir():
                yield from list(_modified(entry.path))
            else:
                yield entry.stat().st_mtime_ns, entry.path


def rows_left(source: Mapping[str, Any]) -> int | None:
    """Return how many rows a broker had beyond those that a micro-batch took; None: the source does not tell.

    Args:
        source: What Spark reports of a source.

    Example:
        >>> rows_left({"endOffset": {"t": {"0": 5, "1": 7}}, "latestOffset": {"t": {"0": 9, "1": 7}}})
        4
        >>> rows_left({"endOffset": {"logOffset": 3}, "latestOffset": None}) is None
        True
    """
    latest, end = (partition_offsets(source.get(name)) for name in ("latestOffset", "endOffset"))
    if latest is None or end is None:
        return None
    return sum(max(0, rows) for rows in rows_by_partition(end, latest))
