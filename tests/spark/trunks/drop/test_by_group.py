"""Windows are dropped group by group: each group has its own gaps, and functions are handed rows of kept groups."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.event_times import at, seconds_of
from tests.spark.trunks.checks import expected_of
from tests.spark.trunks.cohorts import COHORTS, longest_run, missed_by_window
from tests.spark.trunks.drop import ROWS_PER_SECOND, STEP_SECONDS, STEPS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.watched_function import rows_handed, watched
from tests.spark.trunks.windows_of_duckdb import ExactWindows

ROWS = STEPS * STEP_SECONDS * ROWS_PER_SECOND
KEPT = {"by_v": 0.6, "by_g": 0.3}
"""Of two families, which drop independently of each other."""
MAX_GAP = 4


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["events"]
    judged = rows.apply(watched(setting.folder / "handed"), columns=["id"], into="verdict", returns="bigint")
    sliding = judged.filter("verdict % 7 < 6").window("3 seconds", every="1 second").by("v")
    asked = {
        "by_v": sliding.agg(n="count(*)", top="max(id)"),
        "by_g": rows.window("2 seconds").by("g").agg(n="count(*)", top="max(id)"),
    }
    return [answers.query(name, mode="subset", max_gap=MAX_GAP, gaps_by="group") for name, answers in asked.items()]


SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: Shed(kept_shares=KEPT if 1 <= step <= 5 else {}),
    exact={
        "by_v": ExactWindows(aggregate="top", call="max(id)", size=3, slide=1, by="v", where="id % 7 < 6"),
        "by_g": ExactWindows(aggregate="top", call="max(id)", size=2, by="g"),
    },
)


@pytest.fixture(scope="module")
def cohorts(spark: SparkSession) -> dict[str | None, int]:
    """The cohort of each value of v and g, as the documentation says."""
    hashed = spark.range(101).selectExpr("id", "xxhash64(id, '') & 15 AS cohort")
    return {str(row.id): row.cohort for row in hashed.collect()}


@pytest.mark.parametrize("query", KEPT)
def test_each_group_has_its_own_gaps_and_all_else_is_exact(
    outcome: Outcome, cohorts: dict[str | None, int], query: str
) -> None:
    expected, missed = expected_of(outcome, query), missed_by_window(outcome, query)
    assert len(missed) > 15
    answers = {place: value for place, value in outcome.answers(query, "top").items() if place in expected}
    needed = {
        (start, key): value
        for (start, key), value in expected.items()
        if cohorts[key[0]] not in missed.get(start, frozenset())
    }
    assert answers == needed
    assert 0.3 < len(needed) / len(expected) < 0.95
    assert all(row.exact for row in outcome.rows(query))
    assert {row.reason for row in outcome.gaps(query).values()} == {"overload"}


@pytest.mark.parametrize("query", KEPT)
def test_no_gap_of_any_group_is_longer_than_allowed(outcome: Outcome, query: str) -> None:
    exact = SCENARIO.exact[query]
    missed = missed_by_window(outcome, query)
    for cohort in COHORTS:
        starts = [seconds_of(start) for start, some in missed.items() if cohort in some]
        assert longest_run(round(start / (exact.slide or exact.size)) for start in starts) <= MAX_GAP


def test_the_load_is_even(outcome: Outcome) -> None:
    dropping = [some for start, some in sorted(missed_by_window(outcome, "by_v").items()) if _is_amid(start)]
    assert {len(some) for some in dropping} <= set(range(3, 10))
    assert len(dropping) > 30


def _is_amid(start: datetime) -> bool:
    """Whether a window is dropped with all those around it."""
    return STEP_SECONDS + 10 <= seconds_of(start) < 6 * STEP_SECONDS - 5


def test_rows_of_dropped_groups_do_not_go_to_functions(outcome: Outcome, cohorts: dict[str | None, int]) -> None:
    """But the few of a micro-batch for which windows were not decided on yet."""
    missed, values = missed_by_window(outcome, "by_v"), np.asarray(outcome.table("events")["v"]).tolist()

    def is_needed(number: int) -> bool:
        starts = (at(number // ROWS_PER_SECOND - back) for back in range(3))
        return any(cohorts[str(values[number])] not in missed.get(start, frozenset()) for start in starts)

    needed = {number for number in range(ROWS) if is_needed(number)}
    handed = set(rows_handed(outcome.folder / "handed"))
    assert needed <= handed
    assert len(handed) <= len(needed) + 2 * ROWS_PER_SECOND
    assert len(needed) < 0.95 * ROWS


def test_the_journal_tells_shares(outcome: Outcome) -> None:
    by_step = outcome.journal.set_index("micro_batch_id").kept_shares[outcome.micro_batch_of(3)]
    assert {name: by_step[f"{outcome.prefix}.{name}"] for name in KEPT} == KEPT
