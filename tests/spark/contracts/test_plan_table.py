"""A Python data source is read anew in every micro-batch, in a subquery too, and can tell which micro-batch it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamshed.spark.carrier import carrier_frame
from streamshed.spark.running_task import micro_batch_id


def asking_table(spark: SparkSession) -> DataFrame:
    """One row, the micro-batch it is read in. Classes defined here travel to workers by value."""

    class Asking(DataSource):
        @classmethod
        def name(cls) -> str:
            return "which_micro_batch"

        def schema(self) -> str:
            return "told bigint"

        def reader(self, schema: StructType) -> DataSourceReader:
            return AskingReader()

    class AskingReader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [InputPartition(0)]

        def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
            yield (micro_batch_id(),)

    spark.dataSource.register(Asking)
    return spark.read.format("which_micro_batch").load()


def test_each_micro_batch_is_told_its_number(spark: SparkSession, tmp_path: Path) -> None:
    told: list[tuple[int, list[int]]] = []

    def keep(rows: DataFrame, number: int) -> None:
        told.append((number, [row.told for row in rows.collect()]))

    for upto in (2, 4):
        whole = asking_table(spark).select(F.struct("*")).scalar()
        rows = carrier_frame(spark).withColumn("whole", whole).select("value", "whole.told")
        writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
        running = writer.trigger(processingTime="0 seconds").start()
        try:
            while len(told) <= upto:
                assert not running.awaitTermination(1)
        finally:
            running.stop()
    numbers = [number for number, _ in told]
    assert numbers[:5] == list(range(5))
    assert all(rows == [number] for number, rows in told)


def test_outside_a_micro_batch_there_is_none(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="outside a micro-batch"):
        asking_table(spark).collect()
