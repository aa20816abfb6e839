"""Where rows go that could not be read: Parquet beside the checkpoint, where a later look can find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.spark.checkpoint.checkpoint_reader import last_committed, query_id
from streamshed.spark.checkpoint.storage import Storage

_MICRO_BATCH = "micro_batch_id="


@dataclass(frozen=True)
class SetAside:
    """The rows of one micro-batch that could not be read.

    Attributes:
        location: Folder, a path or URI that tasks can write to as the driver can.
        query_id: Spark's id of the query, which a checkpoint keeps.
        micro_batch_id: Which micro-batch.
    """

    location: str
    query_id: str
    micro_batch_id: int

    def put(self, partition: int, unreadable: Sequence[pa.RecordBatch]) -> None:
        """Write those of one partition, replacing what an earlier attempt left: each is there exactly once.

        Args:
            partition: Which.
            unreadable: Answers of that kind; none: nothing is written.
        """
        if not unreadable:
            return
        answers = pa.Table.from_batches(unreadable)
        columns = {
            "stream": answers["query"],
            "reason": answers["reason"],
            "identity": pc.list_element(answers["key"], 0),
            "text": answers["value_text"],
            "rows": answers["rows_used"],
        }
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink)
        folder = folder_of(folder_of_query(self.location, self.query_id), self.micro_batch_id)
        folder.write_bytes(f"part-{partition:05d}.parquet", sink.getvalue().to_pybytes())


def discard_unfinished(location: str, checkpoint: Storage) -> None:
    """Delete what micro-batches have set aside that did not finish: they run again, perhaps in other partitions.

    Args:
        location: The folder of rows that could not be read.
        checkpoint: Spark's, of a query that does not run.
    """
    last = last_committed(checkpoint)
    folder = folder_of_query(location, query_id(checkpoint))
    for name in folder.folders():
        number = micro_batch_of(name)
        if number is not None and (last is None or number > last):
            folder.below(name).delete_folder()


def folder_of_query(location: str, identity: str) -> Storage:
    """Return the folder of all rows of a query that could not be read.

    Args:
        location: That of all queries.
        identity: Spark's id of the query.
    """
    return Storage.reached(location).below(f"query_id={identity}")


def folder_of(rows: Storage, micro_batch_id: int) -> Storage:
    """Return the folder of those of one micro-batch."""
    return rows.below(f"{_MICRO_BATCH}{micro_batch_id}")


def micro_batch_of(name: str) -> int | None:
    """Return the micro-batch that such a folder is of; None: it is another."""
    number = name.removeprefix(_MICRO_BATCH)
    return int(number) if number.isdecimal() else None
