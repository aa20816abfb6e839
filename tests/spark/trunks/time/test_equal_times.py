"""Rows at the latest time of micro-batches before are not late where the watermark is 0 (apache/spark#56043).

Through windows, aggregates of the user's own, and windows of so many rows. Joins are in `joins/test_simultaneous.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.network.model.query import Query
from tests.spark.prices_in_order import in_order, prices_in_windows
from tests.spark.trunks.inputs import STEP
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.tied_rows import ALIKE, tied_rows
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS
from tests.spark.trunks.time.trades import CLOCK, WATERMARK_SECONDS
from tests.spark.trunks.trunk import prefixed

SIZE, SLIDE, COUNT = 2, 1, 4
"""Of windows, in seconds, and of those of rows."""

LATEST = STEP_SECONDS - 1e-3 - WATERMARK_SECONDS
"""As far as the trades of a step move the watermark: so it is as if these rows were alone."""


def _queries(setting: Setting) -> Iterable[Query]:
    tied = setting["tied"]
    windows = tied.window(f"{SIZE} seconds", every=f"{SLIDE} seconds").by("g")
    return [
        windows.agg(n="count(*)", total="sum(v)").query("summed"),
        windows.agg(told=in_order("v")).query("ordered", mode="exact"),
        tied.window(f"{COUNT} rows").by("g").agg(told=in_order("v")).query("of_rows", mode="exact"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(tied_rows("tied", steps=STEPS, step_seconds=STEP_SECONDS, latest=LATEST, clock=CLOCK),),
)


def _came(outcome: Outcome) -> pa.Table:
    return outcome.rows_as_they_came("tied", CLOCK)


def _in_time(outcome: Outcome) -> pa.Table:
    rows = _came(outcome)
    return rows.filter(pc.greater_equal(rows["ts"].cast(pa.int64()), rows["closed_until"]))


def test_rows_come_at_the_very_watermark(outcome: Outcome) -> None:
    """Else it would not be known that these are in time."""
    rows = _came(outcome)
    at_watermark = rows.filter(pc.equal(rows["ts"].cast(pa.int64()), rows["closed_until"]))
    assert at_watermark.num_rows > ALIKE
    assert set(pc.unique(at_watermark[STEP]).to_pylist()) <= set(range(2, STEPS))


def test_windows_have_them(outcome: Outcome) -> None:
    lists = prices_in_windows(_came(outcome), SIZE, SLIDE, price="v", symbol="g")
    sums = {place: (str(len(numbers := _numbers(told))), str(sum(numbers))) for place, told in lists.items()}
    counted, totals = outcome.texts("summed", "n"), outcome.texts("summed", "total")
    assert {place: (counted[place], totals[place]) for place in counted} == sums


def test_aggregates_of_the_users_own_have_them(outcome: Outcome) -> None:
    assert outcome.texts("ordered", "told") == prices_in_windows(_came(outcome), SIZE, SLIDE, price="v", symbol="g")


def test_windows_of_rows_have_them(outcome: Outcome) -> None:
    with duckdb.connect() as database:
        database.register("tied", _in_time(outcome))
        expected = database.execute(
            "WITH numbered AS (SELECT *, row_number() OVER (PARTITION BY g ORDER BY ts, CAST(v AS VARCHAR)) - 1 AS n"
            f" FROM tied) SELECT g, n // {COUNT} * {COUNT}, list(v ORDER BY n) FROM numbered GROUP BY ALL"
        ).fetchall()
    rows = [row for row in outcome.raw_answers.to_pylist() if row["query"] == prefixed(outcome.prefix, "of_rows")]
    told = [(row["key"][0], row["window_from"], row["value_text"]) for row in rows if row["kind"] == "answer"]
    assert sorted(told) == sorted((group, first, repr(numbers)) for group, first, numbers in expected)


def test_only_what_is_older_is_late(outcome: Outcome) -> None:
    late = _came(outcome).num_rows - _in_time(outcome).num_rows
    assert late > 0
    assert sum(row.rows_used for row in outcome.rows("of_rows", kind="late")) == late
    assert not outcome.rows("summed", kind="late")
    assert not outcome.rows("ordered", kind="late")


def _numbers(told: str) -> list[int]:
    return [int(number) for number in told.strip("[]").split(", ")]
