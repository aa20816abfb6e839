"""Which span of which file a task reads."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamshed.columnar.text_rows import PACKED
from streamshed.spark.common.internal_names import BYTES, FILE_PATH, SPAN_START, SPAN_STOP

LINES_BYTES = 1 << 20
"""A file of lines with no more bytes than this is one span."""
ROW_GROUPS_BYTES = 1 << 25
"""A Parquet file with no more is.

A row group is read with one span. So of a file with one row group, all spans but the first would have no row, and as
spans are dealt out by chance, some tasks would have several times as many rows as others.
"""


def file_spans(files: DataFrame, tasks: int, span_bytes: int) -> DataFrame:
    """Return the spans of files, dealt out to tasks: of each as many as there are tasks, if it is as large.

    Args:
        files: Their `FILE_PATH` and `BYTES`.
        tasks: How many tasks there are.
        span_bytes: A file has a span for so many bytes at most. A packed file is one span.
    """
    # Where Spark first makes letters small, it loads what is to be known of all languages, for a second.
    is_packed = F.col(FILE_PATH).rlike(f"(?i)({'|'.join(map(re.escape, PACKED))})$")
    most = F.least(F.ceil(F.col(BYTES) / span_bytes), F.lit(tasks))
    count = F.when(is_packed, F.lit(1)).otherwise(most).alias("count")
    # Each partition is dealt out for itself: of two with three files each, one of two tasks might have four.
    counted = files.where(F.col(BYTES) > 0).select(FILE_PATH, BYTES, count).coalesce(1)
    spans = counted.withColumn("number", F.explode(F.sequence(F.lit(0), F.col("count") - 1)))
    start, stop = (F.floor(F.col(BYTES) * place / F.col("count")) for place in (F.col("number"), F.col("number") + 1))
    return spans.select(FILE_PATH, start.alias(SPAN_START), stop.alias(SPAN_STOP)).repartition(tasks)
