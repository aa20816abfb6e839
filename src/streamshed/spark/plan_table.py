"""The plan table: one row that is asked of the driver anew in every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.internal_names import (
    CARRIER_FROM,
    CARRIER_TIME,
    CARRIER_UNTIL,
    OPEN,
    SAMPLING_CODES,
    SAMPLING_RATE,
)
from streamshed.spark.one_partition import one_partition
from streamshed.spark.plan_client import PlanClient
from streamshed.spark.running_task import micro_batch_id

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

    def told(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        row = client.plan(micro_batch_id())
        plan = row.streams[stream]
        carrier = (plan.carrier_from, plan.carrier_until, plan.carrier_time)
        values = (row.open, plan.sampling_rate, plan.sampling_codes, *carrier)
        yield pa.RecordBatch.from_pylist([dict(zip(schema.names, values, strict=True))], schema)

    return one_partition(spark, told, PLAN_SCHEMA)
