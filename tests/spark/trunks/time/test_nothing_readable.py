"""A stream of which no row can be read, beside others: that is reported, and holds up nobody.

Alone on its clock it is in `test_two_clocks.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamshed.network.model.query import Query
from streamshed.network.source.sources import FileFormat
from tests.spark.event_times import at
from tests.spark.trunks.checks import check_unreadable_rows_are_counted
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.history import ROWS_PER_STEP, lines_with_time
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS, TIMELY_STEP, in_course
from tests.spark.trunks.time.texts import NO_TIME, SCHEMA, TIMED, write_lines

BROKEN_STEPS = range(2)
"""Of the second, the first process was killed and another one counted the rows."""


def _queries(setting: Setting) -> Iterable[Query]:
    return [
        setting["json"].window("5 seconds").agg(n="count(*)").query("good"),
        setting["broken"].window("5 seconds").agg(n="count(*)").query("broken"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(
        Input(
            name="broken",
            steps=lambda: lines_with_time(BROKEN_STEPS, 0.0, "at"),
            write=write_lines,
            format=FileFormat.JSON,
            schema=SCHEMA,
            settings={**TIMED, "idle_after": "100 ms"},
        ),
    ),
)


def test_the_others_are_answered_meanwhile(outcome: Outcome) -> None:
    counts = in_course(outcome.values("good", "n"))
    assert counts == {at(start): 5.0 for start in range(0, STEPS * STEP_SECONDS, 5)}
    answered = {row.window_start: row.micro_batch_id for row in outcome.rows("good")}
    assert answered[at(TIMELY_STEP * STEP_SECONDS)] <= outcome.readers("json")[TIMELY_STEP] + 2


def test_its_rows_are_reported(outcome: Outcome) -> None:
    rows = outcome.set_aside("broken")
    assert {row["reason"] for row in rows} == {NO_TIME}
    assert sum(row["rows"] for row in rows) == len(BROKEN_STEPS) * ROWS_PER_STEP
    check_unreadable_rows_are_counted(outcome)


def test_it_has_no_rows(outcome: Outcome) -> None:
    assert {row.value for row in outcome.rows("broken")} <= {0.0}
