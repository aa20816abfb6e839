"""What Spark has written into its checkpoint about a micro-batch before it runs.

Rests on Spark's internals: tests/spark/contracts/test_checkpoint_files.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from streamshed.spark.checkpoint.partition_offsets import (
    PLACE,
    PartitionOffsets,
    partition_offsets,
    rows_by_partition,
)
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage


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


def looked_by_seconds(checkpoint: Storage, micro_batch_id: int) -> float:
    """Return when Spark had looked for what a micro-batch reads, seconds since the epoch; 0: it is not there.

    For what later ones read it looks after that.
    """
    text = checkpoint.read_text(f"offsets/{micro_batch_id}")
    return 0.0 if text is None else int(_header(text).get("batchTimestampMs", 0)) / 1e3


def idle_sources(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> frozenset[int]:
    """Return the sources of which a micro-batch reads nothing, by number."""
    since, until = (_offsets(checkpoint, number, places) for number in (micro_batch_id - 1, micro_batch_id))
    return frozenset(source for source, offset in until.items() if offset == since.get(source))


def sources_read(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> frozenset[int]:
    """Return the sources of which rows may have been read by the end of a micro-batch, by number."""
    offsets = _offsets(checkpoint, micro_batch_id, places)
    return frozenset(
        source for source, offset in offsets.items() if offset and offset != first_offsets(checkpoint, source)
    )


def read_alike(checkpoint: Storage, micro_batch_id: int, other_id: int) -> bool:
    """Whether all sources have been read as far by the end of a micro-batch as by that of another one."""
    texts = [checkpoint.read_text(f"offsets/{number}") for number in (micro_batch_id, other_id)]
    of_sources = [None if text is None else text.splitlines()[2:] for text in texts]
    return of_sources[0] is not None and of_sources[0] == of_sources[1]


def limited_sources(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> frozenset[int]:
    """Return the sources that a micro-batch may have left something for later: those over files, and over brokers."""
    offsets = _offsets(checkpoint, micro_batch_id, places)
    of_files = _log_offsets(offsets).keys()
    return frozenset(of_files | {source for source, offset in offsets.items() if partition_offsets(offset) is not None})


def last_committed(checkpoint: Storage) -> int | None:
    """Return the micro-batch that finished last; None: none has."""
    return max((int(name) for name in checkpoint.below("commits").names() if name.isdigit()), default=None)


def last_begun(checkpoint: Storage) -> int | None:
    """Return the micro-batch that began last; None: none has."""
    return max((int(name) for name in checkpoint.below("offsets").names() if name.isdigit()), default=None)


def settings_of_micro_batch(checkpoint: Storage, micro_batch_id: int) -> dict[str, str]:
    """Return the settings of Spark that a micro-batch runs under whatever the session says; none: it is not there."""
    text = checkpoint.read_text(f"offsets/{micro_batch_id}")
    return {} if text is None else dict(_header(text).get("conf", {}))


def partitions_of_micro_batch(checkpoint: Storage, micro_batch_id: int) -> int | None:
    """Return how many partitions the state of a micro-batch has; None: it is not there."""
    partitions = settings_of_micro_batch(checkpoint, micro_batch_id).get("spark.sql.shuffle.partitions")
    return None if partitions is None else int(partitions)


def interrupted_repartitioning(checkpoint: Storage, partitions: int) -> int | None:
    """Return to how many partitions state was being moved when that was interrupted; None: it was not.

    Args:
        checkpoint: Spark's.
        partitions: As the manifest has them, which is written last.
    """
    begun = last_begun(checkpoint)
    in_spark = None if begun is None else partitions_of_micro_batch(checkpoint, begun)
    return None if in_spark == partitions else in_spark


def next_watermark_milliseconds(checkpoint: Storage, micro_batch_id: int) -> int:
    """Return the watermark after a micro-batch that has finished, 0 for one that has not."""
    text = checkpoint.read_text(f"commits/{micro_batch_id}")
    return 0 if text is None else int(_header(text).get("nextBatchWatermarkMs", 0))


def checkpoint_format(checkpoint: Storage) -> str:
    """Return the format of Spark's checkpoint, "1" or "2"; empty: no micro-batch has finished.

    Spark cannot go on in another one.
    """
    last = last_committed(checkpoint)
    text = None if last is None else checkpoint.read_text(f"commits/{last}")
    return "" if text is None else text.partition("\n")[0].removeprefix("v")


def state_ids(checkpoint: Storage, micro_batch_id: int) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the ids of the files in which a finished micro-batch left state, by stage and partition; none in format 1.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
    """
    text = checkpoint.read_text(f"commits/{micro_batch_id}")
    return {} if text is None else dict(_header(text).get("stateUniqueIds", {}))


def files_of(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> dict[int, tuple[str, ...]]:
    """Return the files that each file source contributes to a micro-batch, as URIs; sources without are left out.

    A file source numbers the entries of its own log, which gets none from a micro-batch without new files; the
    offsets of a micro-batch say up to which entry it reads.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        places: Of the sources, by whose numbers files are returned.
    """
    files = {}
    for source, (since, last) in log_entries(checkpoint, micro_batch_id, places).items():
        log = checkpoint.below(f"sources/{source}")
        if paths := tuple(path for entry in range(since + 1, last + 1) for path in _paths(log, entry)):
            files[source] = paths
    return files


def log_entries(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> dict[int, tuple[int, int]]:
    """Return the entries of its log after which, and up to which, each file source is read in a micro-batch.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        places: Of the sources, by whose numbers entries are returned.
    """
    since, until = (
        _log_offsets(_offsets(checkpoint, number, places)) for number in (micro_batch_id - 1, micro_batch_id)
    )
    return {source: (since.get(source, -1), last) for source, last in until.items()}


def rows_by_offsets(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> dict[int, int]:
    """Return how many rows each source that counts its offsets by partition (Kafka) contributes to a micro-batch.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        places: Of the sources, by whose numbers rows are returned.
    """
    ranges = offset_ranges(checkpoint, micro_batch_id, places)
    return {source: sum(rows_by_partition(before, after)) for source, (before, after) in ranges.items()}


def offset_ranges(
    checkpoint: Storage, micro_batch_id: int, places: SourcePlaces
) -> dict[int, tuple[PartitionOffsets, PartitionOffsets]]:
    """Return from where, and up to where, each source that counts its offsets by partition is read in a micro-batch.

    Such an offset is {topic: {partition: next offset}}; sources of other kinds, and those of which the offset before is
    not there, are left out. Sources of ours begin where nothing is read.

    Args:
        checkpoint: Spark's.
        micro_batch_id: Which.
        places: Of the sources, by whose numbers offsets are returned.
    """
    since = _offsets(checkpoint, micro_batch_id - 1, places)
    ranges = {}
    for source, offset in _offsets(checkpoint, micro_batch_id, places).items():
        after = partition_offsets(offset)
        before = partition_offsets(since.get(source)) if micro_batch_id else first_offsets(checkpoint, source)
        if before is None and after is not None and not micro_batch_id and PLACE in offset:
            before = {}
        if before is not None and after is not None:
            ranges[source] = before, after
    return ranges


def first_offsets(checkpoint: Storage, source: int) -> PartitionOffsets | None:
    """Return where a source over Kafka began, which it writes down before its first micro-batch; None: not yet.

    Args:
        checkpoint: Spark's.
        source: Its number.
    """
    text = checkpoint.read_text(f"sources/{source}/0")
    return None if text is None else partition_offsets(_parsed(text.rpartition("\n")[2]))


def _header(text: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(text.splitlines()[1])
    return header


def _offsets(checkpoint: Storage, micro_batch_id: int, places: SourcePlaces) -> dict[int, Any]:
    """What is written of each source's offset; nothing of a micro-batch that is not there."""
    text = checkpoint.read_text(f"offsets/{micro_batch_id}")
    return {} if text is None else places.by_source(list(map(_parsed, text.splitlines()[2:])))


def _log_offsets(offsets: Mapping[int, Any]) -> dict[int, int]:
    """The latest entry of its log that each file source reads."""
    return {
        source: int(offset["logOffset"])
        for source, offset in offsets.items()
        if isinstance(offset, dict) and "logOffset" in offset
    }


def _paths(log: Storage, entry: int) -> tuple[str, ...]:
    """The files of an entry, from its own file, or from one that Spark has put all entries so far together in."""
    text = log.read_text(str(entry)) or log.read_text(f"{entry}.compact") or ""
    is_of_entry = re.compile(rf'"batchId":\s*{entry}\b')  # a log may have a million entries
    files = [json.loads(line) for line in text.splitlines()[1:] if is_of_entry.search(line)]
    return tuple(file["path"] for file in files if file["batchId"] == entry)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def watermark_so_far(checkpoint: Storage) -> int:
    """Return the watermark after the last micro-batch that finished, microseconds; 0: there is none."""
    last = last_committed(checkpoint)
    return 0 if last is None else next_watermark_milliseconds(checkpoint, last) * 1000
