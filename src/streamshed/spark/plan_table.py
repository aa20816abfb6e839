"""The plan table: a Python data source of one row that asks the driver, anew in every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from streamshed.spark.internal_names import (
    CARRIER_FROM,
    CARRIER_TIME,
    CARRIER_UNTIL,
    OPEN,
    SAMPLING_CODES,
    SAMPLING_RATE,
)
from streamshed.spark.plan_client import PlanClient
from streamshed.spark.running_task import micro_batch_id

FORMAT = "streamshed_plan"

PLAN_SCHEMA = (
    f"{OPEN} bigint, {SAMPLING_RATE} double, {SAMPLING_CODES} string,"
    f" {CARRIER_FROM} bigint, {CARRIER_UNTIL} bigint, {CARRIER_TIME} bigint"
)
"""What a stream is told in a micro-batch."""


def plan_table(spark: SparkSession, client: PlanClient, stream: str) -> DataFrame:
    """Return what a stream is told in each micro-batch, one row.

    Args:
        spark: The session.
        client: Asks the driver.
        stream: Name of the stream.
    """
    spark.dataSource.register(PlanDataSource)
    return (
        spark.read.format(FORMAT).schema(PLAN_SCHEMA).options(url=client.url, token=client.token, stream=stream).load()
    )


class PlanDataSource(DataSource):
    """Spark's view of the plan table."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return FORMAT

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what asks for the row."""
        return PlanReader(dict(self.options))


class PlanReader(DataSourceReader):
    """Asks for the plan of the micro-batch it is read in."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Return the one partition."""
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield the row."""
        row = PlanClient(self._options["url"], self._options["token"]).plan(micro_batch_id())
        plan = row.streams[self._options["stream"]]
        carrier = (plan.carrier_from, plan.carrier_until, plan.carrier_time)
        yield (row.open, plan.sampling_rate, plan.sampling_codes, *carrier)
