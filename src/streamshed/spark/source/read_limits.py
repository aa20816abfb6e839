"""How many rows the sources of a running query are read of at most, changed between two micro-batches.

Rests on Spark's internals: tests/spark/contracts/test_read_limits.py and tests/spark/kafka/test_topics.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.spark.checkpoint.source_places import SourcePlaces


def limit_rows(spark: SparkSession, query: StreamingQuery, places: SourcePlaces, limits: Mapping[str, int]) -> None:
    """Let the next micro-batches of a query read at most so many rows of some sources.

    Spark asks sources for their limits once, when a query starts, and keeps them in a map that it looks into before
    each micro-batch. That map is replaced here, which is Spark's internal. To be called while no micro-batch begins, as
    from `foreachBatch`.

    Args:
        spark: The session.
        query: The query.
        places: Of its sources.
        limits: By stream; other sources keep what they have.
    """
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no public way
    execution: Any = query._jsq.streamingQuery()  # noqa: SLF001
    of_sources, sources = execution.uniqueSources(), execution.sources()
    for line, source in enumerate(places.lines):
        wanted = [limits[name] for name in places.streams[source] if name in limits]
        if wanted:
            limit = java.org.apache.spark.sql.connector.read.streaming.ReadLimit.maxRows(min(wanted))
            of_sources = of_sources.updated(sources.apply(line), limit)
    getattr(execution, "uniqueSources_$eq")(of_sources)
