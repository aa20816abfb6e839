"""PySpark tells the Arrow schema in which rows come to Python functions, and are taken back from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema

from streamshed.spark.common.one_partition import arrow_schema

COLUMNS = {
    "flag": ("boolean", True),
    "number": ("bigint", 2**62),
    "small": ("int", 7),
    "real": ("double", 0.5),
    "money": ("decimal(20,2)", 1),
    "text": ("string", "a"),
    "bytes": ("binary", "a"),
    "instant": ("timestamp", "2024-01-01 00:00:00"),
    "local": ("timestamp_ntz", "2024-01-01 00:00:00"),
    "day": ("date", "2024-01-01"),
    "several": ("array<struct<a: int, b: string>>", None),
    "mapped": ("map<string, bigint>", None),
}
"""Their types, and what is in them."""

DDL = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())


def test_rows_come_and_go_in_that_schema(spark: SparkSession) -> None:
    expected = arrow_schema(DDL)
    maybe = F.col("id") >= 0
    columns = [F.when(maybe, F.lit(value).cast(kind)).alias(name) for name, (kind, value) in COLUMNS.items()]

    def checked(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for record_batch in record_batches:
            assert record_batch.schema.equals(expected), record_batch.schema
            yield pa.RecordBatch.from_arrays(record_batch.columns, schema=expected)

    rows = spark.range(1).select(*columns)
    assert rows.mapInArrow(checked, DDL).collect() == rows.collect()


def test_it_is_read_back_as_the_types_that_it_was_made_of() -> None:
    types: list[T.DataType] = [field.dataType for field in from_arrow_schema(arrow_schema(DDL)).fields]
    assert types == [field.dataType for field in T.StructType.fromDDL(DDL)]  # type: ignore[attr-defined]


def test_functions_of_columns_take_and_return_arrays_of_it(spark: SparkSession) -> None:
    [field] = arrow_schema("text string")

    def checked(texts: pa.Array) -> pa.Array:
        assert texts.type == field.type
        return texts

    make: Any = arrow_udf
    rows = spark.range(1).select(make(checked, returnType="string")(F.lit("a")))
    assert [row[0] for row in rows.collect()] == ["a"]
