"""A row from the year 2038 amid ordinary ones: it is set aside, and all else goes on as without it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from tests.spark.event_times import at
from tests.spark.trunks.checks import (
    check_unreadable_rows_are_counted,
    test_no_gap_is_longer_than_allowed,  # noqa: F401
    test_no_row_is_late,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.time.events import FAR_AHEAD_PLACE
from tests.spark.trunks.time.steps import FAR_AHEAD_STEP, STEP_SECONDS, STEPS, TIMELY_STEP, in_course
from tests.spark.trunks.windows_of_duckdb import ExactWindows

MAX_GAP = 3
REASON = "event time is too far ahead of the clock"
STREAMS = ("events", "json")


def _queries_of(rows: Rows) -> Iterable[Query]:
    calls = {"n": "count(*)", "total": "sum(v)"}
    subset = rows.window("1 second").agg(**calls)
    yield subset.query(f"subset_{rows.stream.name}", mode="subset", max_gap=MAX_GAP)
    yield rows.window("3 seconds", every="1 second").agg(**calls).query(f"exact_{rows.stream.name}", mode="exact")


def _queries(setting: Setting) -> Iterable[Query]:
    return [query for name in STREAMS for query in _queries_of(setting[name])]


def _shed(step: int) -> Shed:
    """Windows are dropped from after the row came."""
    is_dropping = FAR_AHEAD_STEP < step < STEPS - 1
    return Shed(kept_shares={f"subset_{name}": 0.4 for name in STREAMS} if is_dropping else {})


SCENARIO = Scenario(
    queries=_queries,
    shed=_shed,
    exact={
        f"{query}_{name}": ExactWindows(
            aggregate="total", call="sum(v)", size=size, slide=1, stream=name, where="v IS NOT NULL"
        )
        for name in STREAMS
        for query, size in (("subset", 1), ("exact", 3))
    },
)


@pytest.mark.parametrize("stream", STREAMS)
def test_every_window_is_answered_as_without_the_row(outcome: Outcome, stream: str) -> None:
    assert outcome.gaps(f"exact_{stream}") == {}
    counts = in_course(outcome.values(f"exact_{stream}", "n"))
    expected = ExactWindows(aggregate="n", call="count(v)", size=3, slide=1, stream=stream)
    assert counts == {start: n for (start, _), n in expected.answers(outcome.table(stream)).items()}


@pytest.mark.parametrize("stream", STREAMS)
def test_windows_close_as_their_time_passes(outcome: Outcome, stream: str) -> None:
    """Not at once as if it were 2038, nor at the end: with the micro-batch after the next."""
    micro_batches = {row.window_start: row.micro_batch_id for row in outcome.rows(f"exact_{stream}")}
    readers = outcome.readers(stream)
    closed = {step: micro_batches[at((step + 1) * STEP_SECONDS - 8)] for step in readers}
    assert all(number > readers[step] for step, number in closed.items())
    assert closed[TIMELY_STEP] <= readers[TIMELY_STEP] + 2


@pytest.mark.parametrize("stream", STREAMS)
def test_windows_are_still_dropped(outcome: Outcome, stream: str) -> None:
    after = at((FAR_AHEAD_STEP + 2) * STEP_SECONDS)
    assert sum(start >= after for start in outcome.gaps(f"subset_{stream}")) >= 8


def test_the_rows_are_set_aside_and_counted(outcome: Outcome) -> None:
    rows = {row["stream"]: row for row in outcome.set_aside(*STREAMS) if row["reason"] == REASON}
    assert {name: row["rows"] for name, row in rows.items()} == dict.fromkeys(STREAMS, 1)
    assert rows["events"]["identity"].endswith(f"events/{FAR_AHEAD_STEP:03}.parquet#{FAR_AHEAD_PLACE}")
    assert "2038" in rows["json"]["text"]
    check_unreadable_rows_are_counted(outcome)
