"""Python workers that begin while a network is still laid out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.spark.common.in_arrow import in_arrow


def begin_workers(spark: SparkSession) -> None:
    """Let as many Python workers begin as tasks can run at once, and do not wait for them.

    The first to begin on a machine takes seconds, as it imports what all need: about as long as `start` takes before
    the first micro-batch. An application has its workers begun once.

    Args:
        spark: The session.
    """
    application = spark.sparkContext.applicationId or ""
    if application not in _BEGUN:
        _BEGUN.add(application)
        threading.Thread(target=_run, args=(spark,), name="streamshed-workers", daemon=True).start()


_BEGUN: set[str] = set()
"""The applications whose workers have begun."""


def _run(spark: SparkSession) -> None:
    count = spark.sparkContext.defaultParallelism
    try:
        in_arrow(spark.range(0, count, 1, count), _as_they_are, "id bigint").write.format("noop").mode("append").save()
    except PySparkException:
        """Where workers cannot begin, or the session ends, the network's own tasks say so."""


def _as_they_are(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from record_batches
