"""A silent stream holds up nobody: the carrier tells how far its time has come."""

from __future__ import annotations

from collections.abc import Iterable

from streamshed.network.model.query import Query
from tests.spark.event_times import at
from tests.spark.trunks.inputs import Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.events import ROWS_PER_SECOND
from tests.spark.trunks.time.steps import STEP_SECONDS, STEPS, TIMELY_STEP, in_course
from tests.spark.trunks.time.texts import TIMED

STARTS = [at(start) for start in range(0, STEPS * STEP_SECONDS, 5)]


def _queries(setting: Setting) -> Iterable[Query]:
    talking, silent = setting["events"], setting["silent"]
    return [
        talking.window("5 seconds").agg(n="count(*)").query("talking"),
        talking.filter("v > 1000").window("5 seconds").agg(n="count(*)", total="sum(v)").query("nothing"),
        silent.window("5 seconds").agg(n="count(*)", most="max(v)").query("silent"),
        silent.window("5 seconds").by("v").agg(n="count(*)").query("silent_groups"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(
        Input(
            name="silent",
            steps=list,
            schema="ts timestamp, v bigint",
            settings={**TIMED, "idle_after": "100 ms"},
        ),
    ),
)


def test_the_other_stream_is_answered_meanwhile(outcome: Outcome) -> None:
    assert in_course(outcome.values("talking", "n")) == dict.fromkeys(STARTS, 5.0 * ROWS_PER_SECOND)
    answered = {row.window_start: row.micro_batch_id for row in outcome.rows("talking")}
    assert answered[at(TIMELY_STEP * STEP_SECONDS)] <= outcome.readers("events")[TIMELY_STEP] + 2


def test_its_windows_without_rows_are_answered(outcome: Outcome) -> None:
    assert in_course(outcome.values("nothing", "n")) == dict.fromkeys(STARTS, 0.0)
    assert in_course(outcome.values("nothing", "total")) == dict.fromkeys(STARTS)


def test_the_silent_stream_is_answered_from_when_its_time_is_known(outcome: Outcome) -> None:
    counts = in_course(outcome.values("silent", "n"))
    assert len(counts) > 1
    assert set(counts.values()) == {0.0}
    assert max(counts) == STARTS[-1]
    assert set(outcome.values("silent", "most").values()) == {None}
    assert outcome.rows("silent_groups") == []
    assert all(row.exact for row in outcome.rows())
