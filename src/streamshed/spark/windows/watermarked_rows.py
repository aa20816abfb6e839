"""The rows of a time domain's streams with their watermarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.common.internal_names import TAKEN_ROWS
from streamshed.spark.source.carrier import carrier_frame, with_carrier
from streamshed.spark.source.progress import observed
from streamshed.spark.windows.compiled_stream import CompiledStream


def watermarked_rows(
    spark: SparkSession, compiled: Sequence[CompiledStream], layout: StateLayout, *, of_side: bool = False
) -> Mapping[str, DataFrame]:
    """Return each stream's rows on their way into slices, by its name, the carrier's among them.

    They are observed where Spark does not tell the streams apart, or rows that were taken by columns from others.

    Args:
        spark: The session.
        compiled: The streams.
        layout: Of the state.
        of_side: Whether they are read for a side of a join only: then they are observed elsewhere, where they are read
            for themselves.
    """
    rows = {}
    sources = [compiled_stream for compiled_stream in compiled if compiled_stream.work.stream.joined is None]
    for index, compiled_stream in enumerate(sources):
        stream = compiled_stream.work.stream
        stream_rows = compiled_stream.rows(layout)
        if not of_side and (len(sources) > 1 or TAKEN_ROWS in stream_rows.columns):
            stream_rows = observed(stream_rows, index)
        if not compiled_stream.reads_topics:
            stream_rows = with_carrier(stream_rows, carrier_frame(spark), compiled_stream.plan, stream.name)
        rows[stream.name] = stream_rows.withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
    for compiled_stream in compiled:
        if compiled_stream.work.stream.joined is not None:
            # What it joins has the watermark already, and Spark knows one per query.
            name = compiled_stream.work.stream.name
            rows[name] = with_carrier(compiled_stream.rows(layout), carrier_frame(spark), compiled_stream.plan, name)
    return rows
