"""Records of JSON text, taken by columns: the rows that samplers keep, killed or not, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.event_times import instants
from tests.spark.trunks.checks import (
    test_no_row_is_late,  # noqa: F401
)
from tests.spark.trunks.drawn_rows import DrawnRows, drawn_rows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.records import (
    as_records,
    test_these_records_go_by_columns,  # noqa: F401
)
from tests.spark.trunks.sample import CODES
from tests.spark.trunks.sample.checks import (
    test_windows_are_answered_once_from_the_rows_that_were_to_be_kept,  # noqa: F401
)
from tests.spark.trunks.sample.estimates import Asked
from tests.spark.trunks.sample.events import STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting, Shed

ROWS_PER_SECOND = 60
BROKEN_EVERY = 50
"""One of so many records is no JSON, and is set aside."""

FEWER = 8
"""So many codes smaller is the rate of the grouped query."""
ASKED = {
    "sliding": Asked(size=45, slide=15),
    "grouped": Asked(size=30, where=lambda rows: rows["v"] > 3, by=lambda rows: rows["v"]),
    "largest": Asked(size=15, where=lambda rows: rows["v"] % 2 == 0),
}


def _rows() -> list[pa.Table]:
    size = STEP_SECONDS * ROWS_PER_SECOND
    numbers = np.arange(STEPS * size)
    table = pa.table(
        {
            "place": numbers,
            "ts": instants(numbers / ROWS_PER_SECOND),
            "v": np.where(numbers % BROKEN_EVERY == 1, -1, numbers * 13 % 10),
            "text": ["\u00e4"] * len(numbers),
        }
    )
    return [table.slice(step * size, size) for step in range(STEPS)]


def _written(row: dict[str, Any]) -> str:
    """v = -1 stands for a record that is broken; of another, Spark alone knows what its text is."""
    if row["v"] < 0:
        return "{"
    return json.dumps(row if row["v"] != 9 else {**row, "text": 9})


RECORDS = as_records(
    "records", _rows, identity="place", columns="v bigint, text string", watermark="1 second", written=_written
)


def _queries(setting: Setting) -> Iterable[Query]:
    rows, calls = setting["records"], {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}
    return [
        rows.window("45 seconds", every="15 seconds").agg(**calls).query("sliding"),
        rows.filter("v > 3").window("30 seconds").by("v").agg(n="count(*)", total="sum(v)").query("grouped"),
        rows.filter("v % 2 = 0").window("15 seconds").agg(**calls).query("largest"),
        rows.filter("v IN (1, 2)").window("10 seconds").agg(most="max(v)", n="count(*)").query("whole", mode="exact"),
    ]


def _shed(step: int) -> Shed:
    code = CODES[step]
    return Shed(codes={"sliding": code, "grouped": code + FEWER if code else 0, "largest": code})


SCENARIO = Scenario(queries=_queries, inputs=(RECORDS,), shed=_shed)


@pytest.fixture(scope="module")
def all_rows(outcome: Outcome, spark: SparkSession) -> DrawnRows:
    return drawn_rows(outcome, spark, "records", ("place",))


@pytest.fixture(scope="module")
def rows(all_rows: DrawnRows) -> DrawnRows:
    """Those that can be read."""
    return all_rows.those(all_rows["v"] >= 0)


def test_a_query_that_is_not_shed_is_exact_beside_others_that_are(outcome: Outcome, rows: DrawnRows) -> None:
    for row in outcome.rows("whole"):
        inside = rows.inside(row)
        wanted = inside["v"][(inside["v"] == 1) | (inside["v"] == 2)]
        assert row.exact
        assert row.value == (len(wanted) if row.aggregate == "n" else max(wanted, default=None))
    assert len(outcome.rows("whole")) >= 2 * STEPS * STEP_SECONDS / 10


def test_broken_records_are_set_aside_once_and_shed_as_others_are(outcome: Outcome, all_rows: DrawnRows) -> None:
    set_aside = outcome.set_aside("records")
    broken = all_rows.those(all_rows["v"] < 0)
    places = sorted(json.loads(row["identity"])["place"] for row in set_aside)
    # Of a step that sheds as far as its least shed query.
    assert 0 < len(places) <= len(broken)
    assert len(places) == len(set(places))
    assert set(places) <= set(broken["place"].tolist())
    assert {row["text"] for row in set_aside} == {"{"}
    assert {row["reason"] for row in set_aside} == {"text cannot be parsed"}
