"""Where rows go that could not be read: Parquet beside the checkpoint, where a later look can find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from streamshed.spark.checkpoint.storage import Storage


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
        folder = Storage.reached(self.location).below(f"query_id={self.query_id}/micro_batch_id={self.micro_batch_id}")
        folder.write_bytes(f"part-{partition:05d}.parquet", sink.getvalue().to_pybytes())
