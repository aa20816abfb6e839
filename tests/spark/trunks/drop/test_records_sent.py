"""Windows over records of JSON text that Spark sends to tasks: those that are kept are exact, the rest are gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from streamshed.network.model.query import Query
from tests.spark.trunks.checks import (
    test_no_gap_is_longer_than_allowed,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.drop import ROWS_PER_SECOND, STEP_SECONDS, STEPS
from tests.spark.trunks.records import (
    numbered_records,
    test_these_records_go_by_columns,  # noqa: F401
)
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.windows_of_duckdb import ExactWindows

TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 4}
KEPT = {"tumbling": 0.3, "sliding": 0.4, "grouped": 0.2}


RECORDS = replace(
    numbered_records("records", steps=STEPS, step_seconds=STEP_SECONDS, rows_per_second=ROWS_PER_SECOND),
    # With an option of Parquet's, tasks do not read the files themselves: as if the records came from a broker.
    options={"mergeSchema": "false"},
)


def _queries(setting: Setting) -> Iterable[Query]:
    rows, tolerant = setting["records"], TOLERANT
    wide = rows.filter("v > 50")
    return [
        rows.window("1 second").agg(n="count(*)", total="sum(v)").query("tumbling", **tolerant),
        wide.window("3 seconds", every="1 second").agg(n="count(*)").query("sliding", **tolerant),
        rows.window("2 seconds").by(five="v % 5").agg(top="max(v)").query("grouped", **tolerant),
        rows.window("1 second").agg(n="count(*)").query("whole", mode="exact"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(RECORDS,),
    shed=lambda step: Shed(kept_shares=KEPT if 1 <= step <= 5 else {}),
    exact={
        "tumbling": ExactWindows(aggregate="total", call="sum(v)", size=1, stream="records"),
        "sliding": ExactWindows(aggregate="n", call="count(*)", size=3, slide=1, where="v > 50", stream="records"),
        "grouped": ExactWindows(aggregate="top", call="max(v)", size=2, by="v % 5", stream="records"),
        "whole": ExactWindows(aggregate="n", call="count(*)", size=1, stream="records"),
    },
)
