"""Rows that only file and number tell apart: killed or not, the same are shed; unreadable ones are set aside once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.event_times import instants
from tests.spark.trunks.checks import (
    test_no_row_is_late,  # noqa: F401
)
from tests.spark.trunks.drawn_rows import FILE_ROW, DrawnRows, drawn_rows
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import CODES
from tests.spark.trunks.sample.checks import (
    test_windows_are_answered_once_from_the_rows_that_were_to_be_kept,  # noqa: F401
)
from tests.spark.trunks.sample.estimates import Asked
from tests.spark.trunks.sample.events import STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting, Shed

ROWS_PER_SECOND = 40
UNREADABLE_EVERY = 12
"""One of so many rows has no event time."""

QUERIES = ("sliding", "grouped", "sevens")
ASKED = {
    "sliding": Asked(size=45, slide=15),
    "grouped": Asked(size=30, where=lambda rows: rows["v"] > 3, by=lambda rows: rows["v"]),
}


def _rows() -> list[pa.Table]:
    size = STEP_SECONDS * ROWS_PER_SECOND
    numbers = np.arange(STEPS * size)
    is_unreadable = pa.array(numbers % UNREADABLE_EVERY == 1)
    times = instants(numbers / ROWS_PER_SECOND)
    table = pa.table(
        {
            "ts": pa.compute.if_else(is_unreadable, pa.scalar(None, times.type), times),
            "v": numbers * 13 % 10,
            "number": numbers,
        }
    )
    return [table.slice(step * size, size) for step in range(STEPS)]


FILES = Input(
    name="files",
    steps=_rows,
    schema="ts timestamp, v bigint, number bigint",
    settings={"time": "ts", "watermark": "1 second"},
)


def _queries(setting: Setting) -> Iterable[Query]:
    rows, calls = setting["files"], {"n": "count(*)", "total": "sum(v)"}
    return [
        rows.window("45 seconds", every="15 seconds").agg(**calls).query("sliding"),
        rows.filter("v > 3").window("30 seconds").by("v").agg(**calls).query("grouped"),
        rows.filter("v = 7").query("sevens"),
    ]


SCENARIO = Scenario(
    queries=_queries, inputs=(FILES,), shed=lambda step: Shed(codes=dict.fromkeys(QUERIES, CODES[step]))
)


@pytest.fixture(scope="module")
def all_rows(outcome: Outcome, spark: SparkSession) -> DrawnRows:
    return drawn_rows(outcome, spark, "files", FILE_ROW)


@pytest.fixture(scope="module")
def rows(all_rows: DrawnRows) -> DrawnRows:
    """Those that can be read."""
    return all_rows.those(np.isfinite(all_rows.seconds))


def test_windows_of_steps_that_were_shed_hold_fewer_rows(outcome: Outcome, rows: DrawnRows) -> None:
    answers = [row for row in outcome.rows("sliding") if row.aggregate == "n"]
    assert sum(not row.exact for row in answers) > len(answers) / 2
    assert all((row.rows_used < len(rows.inside(row))) != row.exact for row in answers)


def test_rows_are_given_once(outcome: Outcome, rows: DrawnRows) -> None:
    numbers = [json.loads(row.value_text or "")["number"] for row in outcome.rows("sevens", kind="row")]
    sevens = rows.those(rows["v"] == 7)
    assert sorted(numbers) == sorted(sevens.kept("sevens")["number"])
    assert len(numbers) < len(sevens)


def test_unreadable_rows_are_set_aside_once_and_shed_as_others_are(outcome: Outcome, all_rows: DrawnRows) -> None:
    set_aside = outcome.set_aside("files")
    unreadable = all_rows.those(~np.isfinite(all_rows.seconds))
    identities = Counter(row["identity"] for row in set_aside)
    assert identities == Counter(unreadable.kept("sliding").files.tolist())
    assert 0 < len(set_aside) < len(unreadable)
    assert {row["reason"] for row in set_aside} == {"event time is null"}
    assert {row["rows"] for row in set_aside} == {1}
