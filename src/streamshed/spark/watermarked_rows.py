"""The rows of a time domain's streams with their watermarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.carrier import carrier_frame, with_carrier
from streamshed.spark.compiled import CompiledStream
from streamshed.spark.progress import observed
from streamshed.spark.state_layout import StateLayout


def watermarked_rows(
    spark: SparkSession, compiled: Sequence[CompiledStream], layout: StateLayout
) -> Mapping[str, DataFrame]:
    """Return each stream's rows on their way into slices, by its name, the carrier's among them.

    They are observed where Spark does not tell the streams apart.
    """
    rows = {}
    for index, one in enumerate(compiled):
        stream = one.work.stream
        own = one.rows(layout) if len(compiled) == 1 else observed(one.rows(layout), index)
        told = with_carrier(own, carrier_frame(spark), one.plan, stream.name)
        rows[stream.name] = told.withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
    return rows
