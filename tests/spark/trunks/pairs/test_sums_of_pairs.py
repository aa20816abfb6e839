"""Windows over joins, summed up where pairs are found or from rows, of queries that come and go over restarts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.event_times import at
from tests.spark.trunks.joins.sides import STEP_SECONDS, WATERMARK_SECONDS
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.pairs import HANDED_OVER_AFTER, TRUNK
from tests.spark.trunks.pairs.asked import (
    AS_ROWS,
    BY_BOTH,
    BY_HOST,
    BY_NUMBER,
    MAPPED,
    SLIDING,
    Asked,
    PairSums,
    answered,
    assert_alike,
)
from tests.spark.trunks.pairs.matched import LAST_WITH_ROWS, matched
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.typed_views import typed_view

ALWAYS = (BY_HOST, BY_NUMBER)
ASKED = ((*ALWAYS, SLIDING, *AS_ROWS), (*ALWAYS, MAPPED, *AS_ROWS), (*ALWAYS, MAPPED, SLIDING, BY_BOTH))
"""What is asked after each start: rows that were stored for other queries do not say what those of now need."""


def _queries(setting: Setting) -> Iterable[Query]:
    return [asked.query(matched(setting)) for asked in ASKED[setting.start]]


SCENARIO = Scenario(queries=_queries)


def _answers(outcome: Outcome, spark: SparkSession, asked: Asked) -> PairSums:
    start = max(number for number, of_start in enumerate(ASKED) if asked in of_start)
    return answered(asked, typed_view(outcome, spark, asked.name, start))


def _expected(outcome: Outcome, asked: Asked) -> PairSums:
    return asked.expected(outcome.table("calls"), outcome.table("alerts"))


def _since(rows: PairSums, begin: datetime) -> PairSums:
    return {place: figures for place, figures in rows.items() if place[0] >= begin}  # type: ignore[operator]


@pytest.mark.parametrize("asked", ALWAYS, ids=lambda asked: asked.name)
def test_queries_that_stay_are_answered_to_the_end(outcome: Outcome, spark: SparkSession, asked: Asked) -> None:
    assert_alike(asked, _answers(outcome, spark, asked), _expected(outcome, asked))


@pytest.mark.parametrize(
    ("asked", "steps"),
    [(MAPPED, TRUNK.killed_in + 1), (SLIDING, HANDED_OVER_AFTER + 2), (BY_BOTH, HANDED_OVER_AFTER + 2)],
    ids=lambda value: getattr(value, "name", None),
)
def test_windows_of_queries_that_come_are_whole_if_they_begin_later_than_all_rows_before(
    outcome: Outcome, spark: SparkSession, asked: Asked, steps: int
) -> None:
    begin = at(steps * STEP_SECONDS)
    expected = _since(_expected(outcome, asked), begin)
    assert len({start for start, *_ in expected}) > 2
    assert_alike(asked, _since(_answers(outcome, spark, asked), begin), expected)


@pytest.mark.parametrize("asked", AS_ROWS, ids=lambda asked: asked.name)
def test_windows_that_close_before_a_query_goes_are_answered(
    outcome: Outcome, spark: SparkSession, asked: Asked
) -> None:
    """The last micro-batch before the restart may be run again after it."""
    closed = at((HANDED_OVER_AFTER - 1) * STEP_SECONDS - WATERMARK_SECONDS - 1)
    answers, expected = _answers(outcome, spark, asked), _expected(outcome, asked)
    last = closed - timedelta(seconds=asked.size)
    assert {place for place in expected if place[0] <= last} <= answers.keys()  # type: ignore[operator]
    assert any(place[0] >= at(0) for place in answers)  # type: ignore[operator]
    assert_alike(asked, answers, {place: expected[place] for place in answers if place in expected})


def test_all_is_summed_up_after_the_last_restart() -> None:
    """Else the answers of then would not say that sums alone are right."""
    assert all(asked.is_summed for asked in ASKED[LAST_WITH_ROWS + 1])
    assert not all(asked.is_summed for asked in ASKED[LAST_WITH_ROWS])
