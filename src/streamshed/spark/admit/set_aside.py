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
        folder = _folder(self.location, self.query_id).below(f"{_MICRO_BATCH}{self.micro_batch_id}")
        folder.write_bytes(f"part-{partition:05d}.parquet", sink.getvalue().to_pybytes())


def discard_unfinished(location: str, checkpoint: Storage) -> None:
    """Delete what micro-batches have set aside that did not finish: they run again, perhaps in other partitions.

    Args:
        location: The folder of rows that could not be read.
        checkpoint: Spark's, of a query that does not run.
    """
    last = last_committed(checkpoint)
    folder = _folder(location, query_id(checkpoint))
    for name in folder.folders():
        number = name.removeprefix(_MICRO_BATCH)
        if number.isdecimal() and (last is None or int(number) > last):
            folder.below(name).delete_folder()


def _folder(location: str, identity: str) -> Storage:
    return Storage.reached(location).below(f"query_id={identity}")
