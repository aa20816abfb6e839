"""A query that Spark interprets in the place of compiling it, where few rows go through Spark.

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
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.types.framework.enabled": "false",
}
"""Settings with which Spark generates no code.

Where it interprets, it looks for values that it has computed already in a cache that it empties for each row: to
compute them again takes less. For each value it asks whether types are taken apart in a new way: unless somebody has
said so, it looks for the answer in the variables of the process: a twentieth of the time of interpreted aggregation.
"""

MOST_WRITTEN_ROWS = 50_000
"""Where a micro-batch writes more rows of state, code is generated for the next one.

To generate and compile it takes a second of a micro-batch on two cores, to interpret a row 20 µs more.
"""


class Interpreting:
    """Decides whether the next micro-batch of a query is interpreted.

    Where tasks read rows and sum them up, Spark has a few sums per group, and code takes longer to generate than to
    interpret. A session that says itself how its queries run has it as it says.

    Args:
        spark: The session.
        is_possible: Whether tasks read the rows and sum them up.
    """

    def __init__(self, spark: SparkSession, *, is_possible: bool) -> None:
        self._spark = spark
        is_free = all(spark.conf.get(name, None) is None for name in INTERPRETED)
        self._is_possible = self._is_on = is_free and is_possible

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
        """Take in what the last micro-batch had to do: the next one is taken to be like it.

        Args:
            query: The query.
            written_rows: How many rows of state were written.
        """
        is_on = self._is_possible and written_rows <= MOST_WRITTEN_ROWS
        if is_on != self._is_on:
            self._is_on = is_on
            _interpret(query, is_on=is_on)


def _interpret(query: StreamingQuery, *, is_on: bool) -> None:
    """Let Spark interpret the micro-batches of a query that are still to begin, or generate code for them.

    A query has a session of its own, a copy of the one that started it, whose settings each micro-batch looks into.
    """
    settings: Any = query._jsq.streamingQuery().sparkSessionForStream().conf()  # noqa: SLF001 - Spark has no public way
    for name, value in INTERPRETED.items():
        if is_on:
            settings.set(name, value)
        else:
            settings.unset(name)
