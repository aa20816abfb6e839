"""A DataFrame of one partition that a Python function fills on an executor, anew whenever Spark computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def one_partition(spark: SparkSession, rows: Callable[[], Iterator[pa.RecordBatch]], schema: str) -> DataFrame:
    """Return the rows that a function yields where and when they are computed: once per micro-batch and use.

    A Python data source would do the same, but takes Spark longer to set up, and Spark does not see that two uses of
    it are the same: of two subqueries over one, it runs both.

    Args:
        spark: The session.
        rows: Yields them, in batches of the schema's types.
        schema: Names and types, as Spark writes them.
    """

    def filled(nothing: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in nothing:
            pass
        yield from rows()

    return spark.sql("VALUES 0").mapInArrow(filled, schema)
