"""A DataFrame of one partition that a Python function fills on an executor, anew whenever Spark computes it.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py and tests/spark/contracts/test_plan_table.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from streamshed.spark.common.in_arrow import in_arrow


def one_partition(spark: SparkSession, rows: Callable[[pa.Schema], Iterator[pa.RecordBatch]], schema: str) -> DataFrame:
    """Return the rows that a function yields where and when they are computed: once per micro-batch and use.

    A Python data source would do the same, but takes Spark longer to set up, and Spark does not see that two uses of
    it are the same: of two subqueries over one, it runs both.

    Args:
        spark: The session.
        rows: Yields them in batches of the schema it is handed.
        schema: Names and types, as Spark writes them.
    """
    expected = arrow_schema(schema)

    def filled(nothing: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in nothing:
            pass
        yield from rows(expected)

    return in_arrow(spark.sql("VALUES 0"), filled, schema)


def arrow_schema(ddl: str) -> pa.Schema:
    """Return the schema in which Spark exchanges rows of columns, given as it writes them, with Python."""
    return to_arrow_schema(cast(StructType, StructType.fromDDL(ddl)), timezone="UTC")
