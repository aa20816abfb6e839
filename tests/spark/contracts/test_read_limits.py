"""What Spark's queries read at most is in a map of theirs, from sources to limits, which can be replaced."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

QUERY = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"


def test_a_query_has_a_map_of_limits_that_can_be_replaced(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public way
    returned = {method.getName(): method.getReturnType() for method in java.java.lang.Class.forName(QUERY).getMethods()}
    assert returned["uniqueSources"].getName() == "scala.collection.immutable.Map"
    assert returned["sources"].getName() == "scala.collection.immutable.Seq"
    assert "uniqueSources_$eq" in returned


def test_a_limit_of_rows_can_be_made(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public way
    assert java.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows(5).maxRows() == 5
