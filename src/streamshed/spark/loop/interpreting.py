"""A query that Spark interprets in the place of compiling it, as long as few rows go through Spark.

Rests on Spark's internals: tests/spark/contracts/test_interpreting.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

INTERPRETED: Mapping[str, str] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings with which Spark generates no code."""

MOST_WRITTEN_ROWS = 50_000
"""Where a micro-batch writes more rows of state, code is generated from then on.

To generate and compile it takes a second of a micro-batch on two cores, to interpret a row 20 µs more.
"""


class Interpreting:
    """Decides whether a query is interpreted.

    Lines that tasks read and sum up themselves never come to Spark: then it has a few sums per group, and code takes
    longer to generate than to interpret. Of Parquet it numbers all rows, for which it needs code. A session that says
    itself how its queries run has it as it says.

    Args:
        spark: The session.
        is_wanted: Whether tasks read all rows of the query from text files.
    """

    def __init__(self, spark: SparkSession, *, is_wanted: bool) -> None:
        self._spark = spark
        self._is_on = is_wanted and all(spark.conf.get(name, None) is None for name in INTERPRETED)

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Give the session the settings of a query that is started now, for as long as that takes."""
        if not self._is_on:
            yield
            return
        for name, value in INTERPRETED.items():
            self._spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in INTERPRETED:
                self._spark.conf.unset(name)

    def finished(self, query: StreamingQuery, written_rows: int) -> None:
        """Take in how many rows of state a micro-batch has written: where they are many, the next ones are compiled."""
        if self._is_on and written_rows > MOST_WRITTEN_ROWS:
            self._is_on = False
            compile_from_now_on(query)


def compile_from_now_on(query: StreamingQuery) -> None:
    """Let Spark generate code for the micro-batches of a query that are still to begin.

    A query has a session of its own, a copy of the one that started it, whose settings each micro-batch looks into.
    """
    settings: Any = query._jsq.streamingQuery().sparkSessionForStream().conf()  # noqa: SLF001 - Spark has no public way
    for name in INTERPRETED:
        settings.unset(name)
