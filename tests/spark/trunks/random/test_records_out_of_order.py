"""Records of JSON text that come out of order and late, by columns: each counts in the windows still open."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa

from streamshed.network.model.query import Query
from tests.spark.event_times import microseconds_of
from tests.spark.exactness.tables import EPOCH, SPAN_SECONDS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.random.arrivals import WATERMARK_SECONDS, arriving
from tests.spark.trunks.random.read_rows import late_until, rows_read, steps_by_micro_batch
from tests.spark.trunks.records import (
    as_records,
    test_these_records_go_by_columns,  # noqa: F401
)
from tests.spark.trunks.scenario import Scenario, Setting

ROWS = 600
SLIDES = {"sliding": (9, 3), "grouped": (12, 12)}
"""By query, size and slide of its windows, seconds."""


def _rows() -> list[pa.Table]:
    chance = random.Random(5)
    instants = sorted(chance.uniform(0, SPAN_SECONDS - 1) for _ in range(ROWS))
    table = pa.table(
        {
            "row": pa.array(range(ROWS), pa.int64()),
            "ts": pa.array([EPOCH + timedelta(seconds=second) for second in instants], pa.timestamp("us", "UTC")),
            "v": pa.array([chance.randrange(100) for _ in instants], pa.int64()),
        }
    )
    return arriving(table, seed=5)


RECORDS = as_records("records", _rows, identity="row", columns="v bigint", watermark=f"{WATERMARK_SECONDS} seconds")


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["records"].filter("v IS NOT NULL")
    yield rows.window("9 seconds", every="3 seconds").agg(n="count(*)", total="sum(v)").query("sliding", mode="exact")
    yield rows.window("12 seconds").by(odd="v % 2").agg(n="count(*)", top="max(v)").query("grouped", mode="exact")


SCENARIO = Scenario(queries=_queries, inputs=(RECORDS,))
Place = tuple[int, tuple[str, ...]]
"""Start of a window, microseconds, and key."""


def _pairs(outcome: Outcome, query: str, *, late: bool) -> Iterator[tuple[Place, int]]:
    """Windows of rows, with the rows' values: those that were closed when the row came, or the others."""
    size, slide = (seconds * 1_000_000 for seconds in SLIDES[query])
    rows = outcome.cast.inputs["records"].rows
    for steps, closed in zip(steps_by_micro_batch(outcome.cast), late_until(outcome.cast), strict=False):
        for row in rows_read(rows, "records", steps).to_pylist():
            if row["v"] is None:
                continue
            instant = microseconds_of(row["ts"])
            last = instant - instant % slide
            for start in range(last, instant - size, -slide):
                if (start + size <= closed) == late:
                    yield (start, (str(row["v"] % 2),) if query == "grouped" else ()), row["v"]


def _answers(outcome: Outcome, query: str, aggregate: str) -> dict[Place, Any]:
    rows = [row for row in outcome.rows(query) if row.aggregate == aggregate and row.value]
    return {(microseconds_of(row.window_start), tuple(map(str, row.key))): row.value for row in rows}


def test_each_row_counts_in_the_windows_still_open(outcome: Outcome) -> None:
    for query in SLIDES:
        counts = Counter(place for place, _ in _pairs(outcome, query, late=False))
        assert _answers(outcome, query, "n") == counts
    totals: Counter[Place] = Counter()
    for place, value in _pairs(outcome, "sliding", late=False):
        totals[place] += value
    assert _answers(outcome, "sliding", "total") == {place: total for place, total in totals.items() if total}


def test_pairs_of_late_rows_and_windows_are_counted(outcome: Outcome) -> None:
    for query in SLIDES:
        expected = sum(1 for _ in _pairs(outcome, query, late=True))
        assert expected > 10
        assert sum(row.rows_used for row in outcome.rows(query, kind="late")) == expected
