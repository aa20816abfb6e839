"""Killed in the middle of a task, and gone on with by a process that would drop no windows: the same are dropped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest

from streamshed.network.model.query import Query
from streamshed.planning.window_drop.track.open_windows import QueryDrops
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.plan.plan_row import PlanRow
from tests.spark.event_times import at, seconds_of
from tests.spark.trunks.checks import (
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.course import LEARNED
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.course import HANDED_OVER_AFTER, KILLED_IN, ROWS_PER_SECOND, SECONDS, STEP_SECONDS
from tests.spark.trunks.restart.deadly import DeadlyFunction
from tests.spark.trunks.restart.some_windows import some_dropped
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.watched_function import rows_handed
from tests.spark.trunks.windows_of_duckdb import ExactWindows

MAX_GAP = 3
SLIDES = {"missing": 2, "missing_by_g": 1, "missing_nested": 2}
"""Of queries that miss windows, seconds."""

SHARES = {4: 0.4, 5: 0.5}
"""Shares of windows kept, by step; see `some_dropped` for those around the kill."""

ROWS_PER_STEP = STEP_SECONDS * ROWS_PER_SECOND
ROWS_AT_A_TIME = 50
"""So many rows the function is handed, by the trunk's session."""

HANDED_BEFORE = 100
LETHAL = KILLED_IN * ROWS_PER_STEP + HANDED_BEFORE + 30
"""The row that is deadly, amid the third that it is handed of the step."""


def _queries(setting: Setting) -> Iterable[Query]:
    events = setting["events"]
    deadly = DeadlyFunction(setting.folder / "handed", setting.killed, LETHAL)
    judged = events.apply(deadly, columns=["id"], into="same", returns="bigint")
    calls = {"n": "count(*)", "total": "sum(id)"}
    by_g = events.window("1 second").by("g").agg(**calls)
    nested = by_g.window("4 seconds", every="2 seconds").agg(total="sum(total)")
    return [
        judged.window("5 seconds").agg(n="count(*)", total="sum(same)").query("whole", mode="exact"),
        events.window("2 seconds").agg(**calls).query("missing", mode="subset", max_gap=MAX_GAP),
        by_g.query("missing_by_g", mode="subset", max_gap=MAX_GAP),
        nested.query("missing_nested", mode="subset", max_gap=MAX_GAP),
    ]


_BY_G = ExactWindows(aggregate="total", call="sum(id)", size=1, by="g")

SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: some_dropped(step, SLIDES, SHARES),
    exact={
        "whole": ExactWindows(aggregate="total", call="sum(id)", size=5),
        "missing": ExactWindows(aggregate="total", call="sum(id)", size=2),
        "missing_by_g": _BY_G,
        "missing_nested": ExactWindows(aggregate="total", call="sum(value)", size=4, slide=2, below=_BY_G),
    },
)


def test_it_was_killed_in_the_middle_of_a_task(outcome: Outcome) -> None:
    """What it had been handed before, it was handed again, the rest of the file once.

    The micro-batch that the stop interrupted may be run again, too.
    """
    handed = Counter(rows_handed(outcome.folder / "handed"))
    first, stopped = KILLED_IN * ROWS_PER_STEP, HANDED_OVER_AFTER * ROWS_PER_STEP
    twice = {row for row, times in handed.items() if times == 2} - set(range(stopped, stopped + 2 * ROWS_PER_STEP))
    assert twice == set(range(first, first + HANDED_BEFORE))
    assert max(handed.values()) == 2
    assert handed.keys() == set(range(SECONDS * ROWS_PER_SECOND))


def test_the_killed_process_left_what_it_had_learned(outcome: Outcome) -> None:
    text = Storage.at(str(outcome.cast.path)).read_sealed(f"time_{LEARNED}")
    assert text is not None
    assert 0 <= json.loads(text)["last_outcome"]["micro_batch_id"] < KILLED_IN


@pytest.mark.parametrize("query", SLIDES)
def test_the_windows_are_dropped_that_the_killed_process_had_decided_on(outcome: Outcome, query: str) -> None:
    """The other one keeps all windows of that micro-batch: had it decided anew, they would be answered."""
    then, now = outcome.plans_when_killed(), outcome.plans()[outcome.micro_batch_of(KILLED_IN)]
    killed = then[max(then)]
    assert now.micro_batch_id == killed.micro_batch_id == KILLED_IN
    assert now.drops == killed.drops
    new = {*_drops(outcome, killed, query).numbers()} - {*_drops(outcome, then[KILLED_IN - 1], query).numbers()}
    slide = timedelta(seconds=SLIDES[query])
    dropped = {at(0) + (number - round(at(0).timestamp()) // SLIDES[query]) * slide for number in new}
    assert dropped
    assert dropped <= outcome.gaps(query).keys()


def _drops(outcome: Outcome, plan: PlanRow, query: str) -> QueryDrops:
    return plan.drops.queries[str(outcome.network.query(f"{outcome.prefix}.{query}").definition_id)]


@pytest.mark.parametrize("query", SLIDES)
def test_both_processes_dropped_windows(outcome: Outcome, query: str) -> None:
    steps = {seconds_of(start) // STEP_SECONDS for start in outcome.gaps(query)}
    assert steps >= {1, KILLED_IN, 3}
    assert steps & {4, 5}
    assert not outcome.gaps("whole")
