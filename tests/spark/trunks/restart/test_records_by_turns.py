"""A stream that goes by columns, one by one after a restart, and by columns again: answers do not tell."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.trunks.checks import (
    test_a_window_is_answered_once_and_exactly,  # noqa: F401
)
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.records import numbered_records, why_row_by_row
from tests.spark.trunks.restart.course import ROWS_PER_SECOND, STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import ExactWindows

RECORDS = numbered_records("records", steps=STEPS, step_seconds=STEP_SECONDS, rows_per_second=ROWS_PER_SECOND)


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["records"]
    yield rows.window("30 seconds", every="10 seconds").agg(total="sum(v)").query("sliding", mode="exact")
    yield rows.window("6 seconds").by(five="v % 5").agg(top="max(v)").query("grouped", mode="exact")
    if setting.start == 1:
        yield rows.filter("v < 9").map(hashed="xxhash64(v)").window("30 seconds").agg(most="max(hashed)").query("odd")


SCENARIO = Scenario(
    queries=_queries,
    inputs=(RECORDS,),
    exact={
        "sliding": ExactWindows(aggregate="total", call="sum(v)", size=30, slide=10, stream="records"),
        "grouped": ExactWindows(aggregate="top", call="max(v)", size=6, by="v % 5", stream="records"),
    },
)


def test_its_way_was_another_in_between(outcome: Outcome, spark: SparkSession) -> None:
    assert why_row_by_row(outcome, spark, "records") is None
    rows = outcome.network.rows("records")
    odd = rows.map(hashed="xxhash64(v)").window("30 seconds").agg(most="max(hashed)").query("odd")
    assert "xxhash64" in str(why_row_by_row(outcome, spark, "records", [odd]))
