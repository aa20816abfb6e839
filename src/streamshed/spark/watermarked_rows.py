"""The rows of a time domain's streams with their watermarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from streamshed.spark.compiled import CompiledStream
from streamshed.spark.progress import observed
from streamshed.spark.state_layout import StateLayout


def watermarked_rows(compiled: Sequence[CompiledStream], layout: StateLayout) -> Mapping[str, DataFrame]:
    """Return each stream's rows on their way into slices, by its name; observed where Spark tells them not apart."""
    rows = {}
    for index, one in enumerate(compiled):
        stream = one.work.stream
        told = one.rows(layout) if len(compiled) == 1 else observed(one.rows(layout), index)
        rows[stream.name] = told.withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
    return rows
