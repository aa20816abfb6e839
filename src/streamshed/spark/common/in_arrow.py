"""Rows through a Python function, in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from streamshed.spark.common.worker_heap import allocate_as_usual, freeze_modules

ArrowFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_arrow(rows: DataFrame, function: ArrowFunction, schema: str | T.StructType) -> DataFrame:
    """Return what a function makes of the rows of each partition, in a worker whose memory costs little time.

    Args:
        rows: The rows.
        function: Takes a partition in batches and yields batches of the schema.
        schema: Names and types of what it yields.
    """

    def of_partition(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        allocate_as_usual()
        freeze_modules()
        yield from function(map(_with_usual_offsets, record_batches))

    return rows.mapInArrow(of_partition, schema)


def _with_usual_offsets(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Texts and bytes of up to 2 GiB a batch, which the session may let Spark send in another type."""
    usual = pa.schema([field.with_type(_USUAL.get(field.type, field.type)) for field in rows.schema])
    return rows if usual.equals(rows.schema) else rows.cast(usual)


_USUAL = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
