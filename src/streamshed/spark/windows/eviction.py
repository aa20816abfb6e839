"""The one Spark internal that lets slices and windows of our own close as Spark's windows do.

Rests on Spark's internals: tests/spark/contracts/test_eviction.py.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

_WATERMARK_METADATA = "spark.watermarkDelayMs"
"""Spark takes a grouping column that carries this key for one it can evict by; the value is not used."""


def closing_time(microseconds: Column) -> Column:
    """Return `closes`, a time stamp by which a streaming aggregation in append mode emits and drops a group.

    Spark holds a group with such a key in state until the watermark reaches it, and drops rows for which the watermark
    of the micro-batch before had reached it, as it does with the `end` of a `window()`. Unlike a window, a time stamp
    fits into the faster of Spark's hash maps.

    Args:
        microseconds: When the group may close, microseconds since the epoch; it need not be its logical end.
    """
    return F.timestamp_micros(microseconds).alias("closes", metadata={_WATERMARK_METADATA: 0})
