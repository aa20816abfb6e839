"""The one Spark internal that lets slices and windows of our own close as Spark's windows do."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_WATERMARK_METADATA = "spark.watermarkDelayMs"
"""Spark takes a grouping column that carries this key for one it can evict by its `end`; the value is not used."""


def evictable_interval(start_microseconds: Column, end_microseconds: Column, name: str) -> Column:
    """Return a struct (start, end) that a streaming aggregation in append mode emits and drops once it is over.

    Spark holds a group with such a key in state until the watermark reaches `end`, and drops rows whose `end` is not
    after the watermark of the micro-batch before, as it does with `window()`.

    Args:
        start_microseconds: Event time, microseconds since the epoch.
        end_microseconds: When the group may close; it need not be the logical end.
        name: The column's name.
    """
    interval = F.struct(
        F.timestamp_micros(start_microseconds).alias("start"),
        F.timestamp_micros(end_microseconds).alias("end"),
    )
    return interval.alias(name, metadata={_WATERMARK_METADATA: 0})
