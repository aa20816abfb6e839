"""A function's rows are computed anew in every micro-batch, once for all subqueries, and can tell which one it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.common.one_partition import one_partition
from streamshed.spark.common.running_task import micro_batch_id
from streamshed.spark.plan.plan_columns import Plan, with_plan
from streamshed.spark.source.carrier import carrier_frame


def asking_table(spark: SparkSession, asked: Path) -> DataFrame:
    """One row, the micro-batch it is computed in; each time it is, a line is added to a file."""

    def told(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        number = micro_batch_id()
        with asked.open("a") as log:
            log.write(f"{number}\n")
        yield pa.RecordBatch.from_pylist(
            [{"plaintold": number, "plaintoo": number, "othertold": -1, "othertoo": number}], schema
        )

    return one_partition(spark, told, "plaintold bigint, plaintoo bigint, othertold bigint, othertoo bigint")


def test_each_micro_batch_is_told_its_number_once(spark: SparkSession, tmp_path: Path) -> None:
    told: list[tuple[int, list[int]]] = []
    asked = tmp_path / "asked"
    table = asking_table(spark, asked)

    def keep(rows: DataFrame, number: int) -> None:
        told.append((number, [row.told for row in rows.collect()]))

    for upto in (2, 4):
        # Two rows of different streams, told different parts of one plan.
        first = (
            with_plan(carrier_frame(spark), Plan(table, "plain"), ["told", "too"]).where("told = too").select("told")
        )
        second = with_plan(carrier_frame(spark), Plan(table, "other"), ["too"]).selectExpr("too AS told")
        writer = first.unionByName(second).writeStream.foreachBatch(keep)
        running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        try:
            while len(told) <= upto:
                assert not running.awaitTermination(1)
        finally:
            running.stop()
    assert {number for number, _ in told} >= set(range(5))
    assert all(rows == [number, number] for number, rows in told)
    times_asked = [int(line) for line in asked.read_text().splitlines()]
    assert [times_asked.count(number) for number in (0, 1)] == [1, 1]


def test_outside_a_micro_batch_there_is_none(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="outside a micro-batch"):
        asking_table(spark, tmp_path / "asked").collect()
