"""Networks run as a user runs them, through to the last answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from streamshed.spark.run import Run

PATIENCE_SECONDS = 1200
"""So long a test waits for what should take seconds: cores may be busy."""

QUICK = {"trigger": "100 ms", "partitions": 1}
"""Settings under which a micro-batch follows the other and state is in one piece."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A row of the sink, as the answer schema has it; instants in UTC."""

    micro_batch_id: int
    kind: str
    query: str
    window_start: datetime
    window_end: datetime | None
    key: tuple[str | None, ...]
    aggregate: str | None
    value: float | None
    value_text: str | None
    lower: float | None
    upper: float | None
    confidence: float | None
    standard_error: float | None
    sampling_rate: float | None
    rows_used: int
    rows_estimated: float
    exact: bool
    low: bool
    reason: str | None


@dataclass
class Collected:
    """A sink function that keeps answers; a micro-batch that is written again replaces what it wrote."""

    tables: dict[int, pa.Table] = field(default_factory=dict)

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        """Keep the answers of a micro-batch."""
        self.tables[micro_batch_id] = answers.toArrow()

    def rows(self, query: str | None = None, kind: str = "answer") -> list[Found]:
        """What came of one query, or of all, in order of time."""
        return rows_in_order(self, query, kind)

    def values(self, query: str, aggregate: str) -> dict[datetime, float | None]:
        """Answers of an ungrouped query by the start of their window; fails where one came twice."""
        return values_by_window(self, query, aggregate)

    def __iter__(self) -> Iterator[Found]:
        for micro_batch_id in sorted(self.tables):
            yield from found_in(self.tables[micro_batch_id], micro_batch_id)


def rows_in_order(rows: Iterable[Found], query: str | None = None, kind: str = "answer") -> list[Found]:
    """What came of one query, or of all, in order of time."""
    chosen = [row for row in rows if row.kind == kind and query in (None, row.query)]
    return sorted(chosen, key=lambda row: (str(row.window_start), row.query, repr(row.key), repr(row.aggregate)))


def values_by_window(rows: Iterable[Found], query: str, aggregate: str) -> dict[datetime, float | None]:
    """Answers of an ungrouped query by the start of their window; fails where one came twice."""
    answers = [row for row in rows_in_order(rows, query) if row.aggregate == aggregate]
    values = {row.window_start: row.value for row in answers}
    assert len(values) == len(answers), f"{query}: a window was answered twice"
    return values


def found_in(table: pa.Table, micro_batch_id: int) -> Iterator[Found]:
    """The rows of a table of answers."""
    for row in table.to_pylist():
        fields: dict[str, Any] = {name: row[name] for name in Found.__dataclass_fields__ if name in row}
        yield Found(**fields | {"micro_batch_id": micro_batch_id, "key": tuple(row["key"] or ())})


def wait_until(run: Run, condition: Callable[[], bool], what: str) -> None:
    """Wait for a running network to come to something; raises what stopped it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        stopped = run.await_termination(0.05)
        assert not stopped, f"stopped before {what}"
        assert time.monotonic() < deadline, f"no sign of {what}: {run.status()}"


def wait_for_micro_batch(run: Run, micro_batch_id: int) -> None:
    """Wait until a micro-batch has finished."""
    wait_until(run, lambda: run.status().micro_batch_id >= micro_batch_id, f"micro-batch {micro_batch_id}")


def finish(run: Run, micro_batch_id: int) -> None:
    """Wait until a micro-batch has finished, then have all windows answered and the network stopped."""
    with run:
        wait_for_micro_batch(run, micro_batch_id)
        assert run.drain(PATIENCE_SECONDS)
