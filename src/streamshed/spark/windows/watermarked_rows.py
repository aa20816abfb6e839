"""The rows of a time domain's streams with their watermarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.source.carrier import carrier_frame, with_carrier
from streamshed.spark.source.progress import observed
from streamshed.spark.windows.compiled import CompiledStream


def watermarked_rows(
    spark: SparkSession, compiled: Sequence[CompiledStream], layout: StateLayout
) -> Mapping[str, DataFrame]:
    """Return each stream's rows on their way into slices, by its name, the carrier's among them.

    They are observed where Spark does not tell the streams apart.
    """
    rows = {}
    sources = [one for one in compiled if one.work.stream.joined is None]
    for index, one in enumerate(sources):
        stream = one.work.stream
        own = one.rows(layout) if len(sources) == 1 else observed(one.rows(layout), index)
        told = with_carrier(own, carrier_frame(spark), one.plan, stream.name)
        rows[stream.name] = told.withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
    for one in compiled:
        if one.work.stream.joined is not None:
            # What it joins has the watermark already, and Spark knows one per query.
            name = one.work.stream.name
            rows[name] = with_carrier(one.rows(layout), carrier_frame(spark), one.plan, name)
    return rows
