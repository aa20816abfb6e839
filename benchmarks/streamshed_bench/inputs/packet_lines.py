"""Packets as lines of JSON: the same rows as those that are staged with types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamshed.traces.json_text import joined, json_members
from streamshed.traces.packets import PACKET_SCHEMA


def written_as_lines(
    files: Sequence[Path], folder: Path, *, progress: Callable[[float], None] = lambda _share: None
) -> tuple[Path, ...]:
    """Write packets once more, each as a line of JSON with the members of `PACKET_SCHEMA`.

    Args:
        files: Parquet files of typed packets.
        folder: A new folder.
        progress: Told the share that is done.

    Returns:
        A file with the ending `.json` for each, in the same order.
    """
    folder.mkdir(parents=True)
    written = []
    for number, file in enumerate(files, 1):
        path = folder / f"{file.stem}.json"
        path.write_text(lines_of(pq.read_table(file, columns=PACKET_SCHEMA.names)), encoding="utf-8")
        written.append(path)
        progress(number / len(files))
    return tuple(written)


def lines_of(rows: pa.Table) -> str:
    r"""Write rows as lines of JSON, times as ISO-8601 in UTC.

    Example:
        >>> lines_of(pa.table({"src_host": ["a", "b"], "size": [40, None]}))
        '{"src_host":"a","size":40}\n{"src_host":"b","size":null}\n'
    """
    objects = (joined("{", members, "}\n") for members in json_members(rows).chunks)
    return "".join(text for part in objects for text in part.to_pylist())
