"""How much the sources of a running query are read of at most, changed between two micro-batches.

Rests on Spark's internals: tests/spark/contracts/test_read_limits.py and tests/spark/kafka/test_topics.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.spark.checkpoint.source_places import SourcePlaces


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """How much of a source the next micro-batch takes at most: rows of a topic, or bytes of files; both None: all.

    Attributes:
        rows: So many rows.
        bytes: Files of so many bytes in all, and one at least.
    """

    rows: int | None = None
    bytes: int | None = None


def limit_reading(
    spark: SparkSession, query: StreamingQuery, places: SourcePlaces, limits: Mapping[str, ReadLimit]
) -> None:
    """Let the next micro-batches of a query read at most so much of some sources.

    Spark asks sources for their limits once, when a query starts, and keeps them in a map that it looks into before
    each micro-batch. That map is replaced here, which is Spark's internal. To be called while no micro-batch begins, as
    from `foreachBatch`.

    Args:
        spark: The session.
        query: The query.
        places: Of its sources.
        limits: By stream; other sources keep what they have.
    """
    execution: Any = query._jsq.streamingQuery()  # noqa: SLF001 - Spark has no public way
    of_sources, sources = execution.uniqueSources(), execution.sources()
    for line, source in enumerate(places.lines):
        wanted = [limits[name] for name in places.streams[source] if name in limits]
        if wanted:
            of_sources = of_sources.updated(sources.apply(line), _least(spark, wanted))
    getattr(execution, "uniqueSources_$eq")(of_sources)


def _least(spark: SparkSession, limits: list[ReadLimit]) -> Any:
    """The tightest of some limits, as Spark has them."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001
    made = java.org.apache.spark.sql.connector.read.streaming.ReadLimit
    if rows := [limit.rows for limit in limits if limit.rows is not None]:
        return made.maxRows(min(rows))
    if sizes := [limit.bytes for limit in limits if limit.bytes is not None]:
        return made.maxBytes(min(sizes))
    return made.allAvailable()
