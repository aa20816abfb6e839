"""What Spark has written into its checkpoint about a micro-batch before it runs. The layout is Spark's internal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from streamshed.spark.partition_offsets import PartitionOffsets, partition_offsets, rows_by_partition
from streamshed.spark.storage import Storage


@dataclass(frozen=True)
class SourceFiles:
    """The files of one file source in one micro-batch, as URIs."""

    source_index: int
    paths: tuple[str, ...]


def query_id(checkpoint: Storage) -> str:
    """Return the id that Spark gave the query when the checkpoint was made, and keeps over restarts."""
    text = checkpoint.read_text("metadata")
    return "" if text is None else str(json.loads(text)["id"])


def is_written(checkpoint: Storage, micro_batch_id: int) -> bool:
    """Whether it is written down what a micro-batch reads, which comes before it runs."""
    return checkpoint.read_text(f"offsets/{micro_batch_id}") is not None


def watermark_milliseconds(checkpoint: Storage, micro_batch_id: int) -> int:
    """Return the watermark with which a micro-batch was planned, 0 for one that is not there.

    Groups that ended by it were emitted in that micro-batch, and rows for them are late in the next one.
    """
    text = checkpoint.read_text(f"offsets/{micro_batch_id}")
    return 0 if text is None else int(_header(text).get("batchWatermarkMs", 0))


def last_committed(checkpoint: Storage) -> int | None:
    """Return the micro-batch that finished last; None: none has."""
    return max((int(name) for name in checkpoint.below("commits").names() if name.isdigit()), default=None)


def next_watermark_milliseconds(checkpoint: Storage, micro_batch_id: int) -> int:
    """Return the watermark after a micro-batch that has finished, 0 for one that has not."""
    text = checkpoint.read_text(f"commits/{micro_batch_id}")
    return 0 if text is None else int(_header(text).get("nextBatchWatermarkMs", 0))


def files_of(checkpoint: Storage, micro_batch_id: int) -> tuple[SourceFiles, ...]:
    """Return the files that each file source contributes to a micro-batch; sources without are left out.

    A file source numbers the entries of its own log, which gets none from a micro-batch without new files; the
    offsets of a micro-batch say up to which entry it reads.
    """
    until = _log_offsets(checkpoint, micro_batch_id)
    since = _log_offsets(checkpoint, micro_batch_id - 1)
    found = []
    for index, last in until.items():
        entries = range(since.get(index, -1) + 1, last + 1)
        log = checkpoint.below(f"sources/{index}")
        paths = tuple(path for entry in entries for path in _paths(log, entry))
        if paths:
            found.append(SourceFiles(index, paths))
    return tuple(found)


def rows_by_offsets(checkpoint: Storage, micro_batch_id: int) -> tuple[int, ...]:
    """Return how many rows each source that counts its offsets by partition (Kafka) contributes, in order.

    Such an offset is {topic: {partition: next offset}}; sources of other kinds are left out.
    """
    until = _offsets(checkpoint, micro_batch_id)
    since = _offsets(checkpoint, micro_batch_id - 1)
    if len(until) != len(since):
        return ()
    return tuple(sum(rows_by_partition(before, after)) for before, after in zip(since, until, strict=True))


def _header(text: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(text.splitlines()[1])
    return header


def _log_offsets(checkpoint: Storage, micro_batch_id: int) -> dict[int, int]:
    """The latest entry that each file source reads in a micro-batch, by the source's index."""
    lines = (checkpoint.read_text(f"offsets/{micro_batch_id}") or "").splitlines()[2:]
    offsets = {index: _parsed(line) for index, line in enumerate(lines)}
    return {
        index: int(offset["logOffset"])
        for index, offset in offsets.items()
        if isinstance(offset, dict) and "logOffset" in offset
    }


def _paths(log: Storage, entry: int) -> tuple[str, ...]:
    """The files of an entry, from its own file, or from one that Spark has put all entries so far together in."""
    text = log.read_text(str(entry)) or log.read_text(f"{entry}.compact") or ""
    files = [json.loads(line) for line in text.splitlines()[1:] if line]
    return tuple(file["path"] for file in files if file["batchId"] == entry)


def _offsets(checkpoint: Storage, micro_batch_id: int) -> list[PartitionOffsets]:
    lines = (checkpoint.read_text(f"offsets/{micro_batch_id}") or "").splitlines()[2:]
    return [offset for line in lines if (offset := partition_offsets(_parsed(line))) is not None]


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
