"""An expression without columns becomes a literal of the same value and type, in the plan as Spark is handed it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.windows.constant import constant
from streamshed.spark.windows.slice_routing import literal_map

ENTRIES: list[tuple[object, object]] = [(1, [{"a": 2**62, "b": None}]), (-7, []), (3, [{"a": 0, "b": 1}] * 2)]
PARSED = "array<struct<key: bigint, value: array<struct<a: bigint, b: bigint>>>>"


def parsed() -> Column:
    text = '[{"key": 1, "value": [{"a": 4611686018427387904, "b": null}]}, {"key": -7, "value": []}]'
    return F.map_from_entries(F.from_json(F.lit(text), PARSED))


def test_the_value_is_the_same(spark: SparkSession) -> None:
    frame = spark.range(2).select(parsed().alias("as_written"), constant(parsed()).alias("as_constant"))
    assert frame.schema["as_constant"].dataType == frame.schema["as_written"].dataType
    assert [row.as_constant for row in frame.collect()] == [{1: [(2**62, None)], -7: []}] * 2


def test_nothing_is_left_to_work_out(spark: SparkSession) -> None:
    assert "from_json" in analyzed(spark.range(1).select(parsed()))
    for column in (constant(parsed()), literal_map(ENTRIES, "bigint", "array<struct<a: bigint, b: bigint>>")):
        plan = analyzed(spark.range(1).select(column.alias("value")))
        assert "keys: [1" in plan
        assert "from_json" not in plan


def test_a_literal_map_holds_its_entries(spark: SparkSession) -> None:
    column = literal_map(ENTRIES, "bigint", "array<struct<a: bigint, b: bigint>>")
    [row] = spark.range(1).select(column.alias("value")).collect()
    assert row.value == {1: [(2**62, None)], -7: [], 3: [(0, 1), (0, 1)]}


def analyzed(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().analyzed().toString())  # noqa: SLF001 - plans have no public way
