"""The plan table: one row that is asked of the driver anew in every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamshed.planning.quantization import WHOLE, sampling_rate_of
from streamshed.sharing.gating import Gating, gates
from streamshed.spark.internal_names import (
    BY_LEVEL,
    CARRIER_FROM,
    CARRIER_TIME,
    CARRIER_UNTIL,
    CODES_BY_SIZE,
    FIRST_LEVEL,
    OPEN,
    SAMPLING_CODES,
    SAMPLING_RATE,
    SIZE_COLUMN,
    SIZE_THRESHOLD,
    SIZED_BY_LEVEL,
    SIZED_RATE,
)
from streamshed.spark.one_partition import one_partition
from streamshed.spark.plan_client import PlanClient
from streamshed.spark.plan_row import StreamPlan
from streamshed.spark.running_task import micro_batch_id

PLAN_SCHEMA = (
    f"{OPEN} bigint, {SAMPLING_RATE} double, {FIRST_LEVEL} int, {SAMPLING_CODES} string,"
    f" {CARRIER_FROM} bigint, {CARRIER_UNTIL} bigint, {CARRIER_TIME} bigint,"
    f" {BY_LEVEL} array<array<bigint>>, {SIZE_COLUMN} string, {SIZE_THRESHOLD} double, {SIZED_RATE} double,"
    f" {SIZED_BY_LEVEL} array<array<bigint>>, {CODES_BY_SIZE} array<string>"
)
"""What a stream is told in a micro-batch."""


def plan_table(spark: SparkSession, client: PlanClient, stream: str, gating: Gating) -> DataFrame:
    """Return what a stream is told in each micro-batch, one row.

    Args:
        spark: The session.
        client: Asks the driver.
        stream: Name of the stream.
        gating: Where its intakes are.
    """

    def told(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        row = client.plan(micro_batch_id())
        values = plan_values(row.streams[stream], row.open, gating)
        yield pa.RecordBatch.from_pylist([dict(zip(schema.names, values, strict=True))], schema)

    return one_partition(spark, told, PLAN_SCHEMA)


def plan_values(plan: StreamPlan, opened: int, gating: Gating) -> tuple[object, ...]:
    """Return a row of `PLAN_SCHEMA`.

    Args:
        plan: What the stream is told.
        opened: The watermark of the micro-batch before, microseconds.
        gating: Where the stream's intakes are.
    """
    by_size = plan.sized
    found = gates(gating, plan.codes(gating), plan.sized_intakes(gating))
    return (
        opened,
        plan.sampling_rate,
        found.stream if found.sized is None else WHOLE,
        found.codes,
        plan.carrier_from,
        plan.carrier_until,
        plan.carrier_time,
        None if found.passes is None else [list(words) for words in found.passes],
        None if by_size is None or found.sized is None else by_size.column,
        None if by_size is None or found.sized is None else by_size.threshold,
        None if found.sized is None else sampling_rate_of(found.sized.code),
        None if found.sized is None else [list(words) for words in found.sized.passes],
        None if found.sized is None else list(found.sized.codes),
    )
