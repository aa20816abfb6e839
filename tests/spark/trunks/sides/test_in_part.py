"""A join of answers with rows, in part for a while, its results themselves, late rows, and a side that falls silent.

Joins of answers whose results are asked for are done twice, all of a clock: so this join has a clock of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from tests.spark.event_times import EPOCH_MICROSECONDS, seconds_of
from tests.spark.harness import Found
from tests.spark.joined_sides import JoinSpec, SideSpec, Windows, expected, found
from tests.spark.trunks.hosted_rows import hosted_rows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.sides import ROWS_PER_STEP, STEP_SECONDS, STEPS, TRUNK
from tests.spark.trunks.typed_views import typed_view

CLOCK = "pairs"
SHARES = {TRUNK.killed_in: 0.3}
"""How much of the join is done, by step: in all others, all of it."""

SILENT_FROM, LATE_IN = STEPS - 3, STEPS - 2
LATE = (3.0, 4.5, 61.0)
"""Event times of late rows; each is in two windows of the side."""

_hosted_rows = partial(hosted_rows, step_seconds=STEP_SECONDS, rows_per_step=ROWS_PER_STEP, clock=CLOCK)
CALLS = _hosted_rows("some_calls", seed=3, steps=STEPS, late={LATE_IN: LATE})
ALERTS = _hosted_rows("some_alerts", seed=4, steps=SILENT_FROM, idle_after="100 ms")
SPEC = JoinSpec(SideSpec((Windows(10, 5),), least=3), SideSpec(), (15, 5), "partial")
BOTH = Windows(7, 7, 2)


def _queries(setting: Setting) -> Iterable[Query]:
    return SPEC.network(
        setting["some_calls"], setting["some_alerts"], mode="approximate", only=("pairs", "both")
    ).queries


SCENARIO = Scenario(
    queries=_queries,
    inputs=(CALLS, ALERTS),
    shed=lambda step: Shed(work_shares={"partial": SHARES.get(step, 1.0)}),
)


def _sides(outcome: Outcome) -> Mapping[str, pa.Table]:
    """The rows of both sides, without those that are late."""
    calls = outcome.table("some_calls")
    return {"calls": calls.filter(calls["id"].is_valid()), "alerts": outcome.table("some_alerts")}


def _rows(outcome: Outcome, aggregate: str) -> dict[int, Found]:
    """The answers of windows, by their start in microseconds."""
    rows = [row for row in outcome.rows("both") if row.aggregate == aggregate]
    by_start = {EPOCH_MICROSECONDS + round(seconds_of(row.window_start) * 1e6): row for row in rows}
    assert len(by_start) == len(rows), "a window was answered twice"
    return by_start


@pytest.mark.parametrize(("aggregate", "place"), [("n", 1), ("total", 2)])
def test_windows_that_may_miss_pairs_say_so_and_all_others_are_what_duckdb_finds(
    outcome: Outcome, aggregate: str, place: int
) -> None:
    truths = {int(str(row[0])): int(str(row[place])) for row in expected(SPEC, _sides(outcome))["both"]}
    rows = _rows(outcome, aggregate)
    assert truths.keys() <= rows.keys()
    assert {row.reason for row in rows.values() if not row.exact} == {"partly joined"}
    exact = {start: row.value or 0 for start, row in rows.items() if row.exact}
    assert exact == {start: truths.get(start, 0) for start in exact}
    if aggregate == "n":
        counts = {start: row.value or 0 for start, row in rows.items() if not row.exact}
        assert all(count <= truths.get(start, 0) for start, count in counts.items())
        assert sum(counts.values()) < sum(truths.get(start, 0) for start in counts)


def test_windows_after_the_last_step_that_was_done_in_part_miss_nothing(outcome: Outcome) -> None:
    partial_ones = [start for start, row in _rows(outcome, "n").items() if not row.exact]
    assert (max(partial_ones) - EPOCH_MICROSECONDS) / 1e6 < (max(SHARES) + 1) * STEP_SECONDS
    assert len([row for start, row in _rows(outcome, "n").items() if start > max(partial_ones) and row.value]) > 3


def test_every_pair_comes_once_but_those_that_were_left_out(outcome: Outcome, spark: SparkSession) -> None:
    shown = found({"pairs": typed_view(outcome, spark, "pairs")}, exact=False)["pairs"]
    wanted = expected(SPEC, _sides(outcome))["pairs"]
    assert not shown - wanted
    missing = [int(str(row[0])) for row in wanted - shown]
    windows = [start for start, row in _rows(outcome, "n").items() if not row.exact]
    assert sum(wanted.values()) > 50
    assert missing
    assert all(any(start <= time < start + BOTH.size * 1_000_000 for start in windows) for time in missing)
    assert not [row for row in outcome.all_rows if row.kind == "late"]


def test_late_rows_are_counted_for_each_window_and_change_nothing(outcome: Outcome) -> None:
    joins = outcome.journal_of(CLOCK).set_index("micro_batch_id").joins
    late = {int(str(number)): told["partial"]["late_rows"] for number, told in joins.items() if told}
    assert sum(late.values()) == 2 * len(LATE)
    assert min(number for number, rows in late.items() if rows) >= outcome.micro_batch_of(LATE_IN, CLOCK)


def test_every_row_is_offered_once_to_a_join_that_is_done_twice(outcome: Outcome) -> None:
    rows = sum(outcome.table(name).num_rows for name in ("some_calls", "some_alerts"))
    assert outcome.journal_of(CLOCK).offered_rows.sum() == rows


def test_a_side_that_is_silent_holds_answers_back_no_longer_than_its_idle_time(outcome: Outcome) -> None:
    """Nothing was drained yet when the last step was read."""
    last = outcome.micro_batch_of(STEPS - 1, CLOCK)
    answered = [seconds_of(row.window_start) for row in _rows(outcome, "n").values() if row.micro_batch_id <= last]
    assert max(answered) + BOTH.size > SILENT_FROM * STEP_SECONDS
