"""Exact answers of windows, as DuckDB gives them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tests.spark.event_times import EPOCH_MICROSECONDS, at

Answers = dict[tuple[datetime, tuple[str | None, ...]], float | None]
"""By the start of a window and the key."""


@dataclass(frozen=True, kw_only=True)
class ExactWindows:
    """What DuckDB is asked: an aggregate of the rows of each window.

    Attributes:
        aggregate: The name of the aggregate in the query.
        call: What DuckDB calls it.
        size: Of a window, seconds.
        slide: Between windows, seconds; None: as long as they are.
        by: What groups are told apart by; None: there are none.
        where: Which rows count.
        stream: The input.
        below: Windows whose answers are aggregated in the place of rows, as `value` and `key`.
    """

    aggregate: str
    call: str
    size: int
    slide: int | None = None
    by: str | None = None
    where: str = "true"
    stream: str = "events"
    below: ExactWindows | None = None

    def answers(self, rows: pa.Table) -> Answers:
        """The answers of all windows that have rows.

        Args:
            rows: The rows of the stream, with event times `ts`.
        """
        with duckdb.connect() as database:
            microseconds = pc.subtract(rows["ts"].cast(pa.int64()), EPOCH_MICROSECONDS)
            database.register("events", rows.append_column("instant", microseconds))
            end = pc.max(microseconds).as_py() // 1_000_000 + 1
            answers = database.execute(self.sql(end)).fetchall()
        return {
            (at(start), () if self.by is None else (_text(key),)): None if value is None else float(value)
            for start, key, value in answers
        }

    def sql(self, end: int) -> str:
        """Asks for windows that start before a second."""
        below = f"(SELECT k * 1000000 AS instant, * FROM ({self.below.sql(end)}))" if self.below else "events"
        slide = self.slide or self.size
        first = -(self.size // slide + 1) * slide
        return (
            f"SELECT w.k AS k, {self.by or 'NULL'} AS key, {self.call} AS value FROM {below} e,"
            f" range({first}, {end}, {slide}) w(k) WHERE e.instant >= w.k * 1000000"
            f" AND e.instant < (w.k + {self.size}) * 1000000 AND ({self.where}) GROUP BY ALL"
        )


def _text(key: object) -> str | None:
    return None if key is None else str(key)
