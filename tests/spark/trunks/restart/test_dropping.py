"""Windows that were dropped stay so when their queries no longer tolerate gaps: no answer is made of what is left."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.query import Query
from streamshed.network.model.rows import Answers, Rows
from tests.spark.event_times import at
from tests.spark.trunks.checks import expected_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.course import HANDED_OVER_AFTER, STEP_SECONDS
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.windows_of_duckdb import ExactWindows

TOLERANT: dict[str, Any] = {"mode": "subset", "max_gap": 8}
EXACT: dict[str, Any] = {"mode": "exact"}
GAPLESS: dict[str, Any] = {"mode": "subset", "max_gap": 0}
BY_GROUP: dict[str, Any] = {**TOLERANT, "gaps_by": "group"}

Asked = Mapping[str, dict[str, Any]]
BEFORE: Asked = {
    "sliding": TOLERANT,
    "grouped": TOLERANT,
    "by_group": BY_GROUP,
    "nested": TOLERANT,
    "mixed": TOLERANT,
    "whole": EXACT,
}
"""The last two rest on one aggregate, of which one needs all windows."""

OTHERS_TOLERATE_GAPS: Asked = {**BEFORE, "grouped": EXACT, "by_group": GAPLESS, "nested": GAPLESS}
NONE_TOLERATES_GAPS: Asked = {
    **BEFORE,
    "sliding": EXACT,
    "grouped": GAPLESS,
    "by_group": EXACT,
    "nested": EXACT,
    "mixed": EXACT,
}
"""How they are asked after the stop."""

STREAMS = {"events": OTHERS_TOLERATE_GAPS, "apart": NONE_TOLERATES_GAPS}
"""One stream for each; of one that is alone on its clock, no query tolerates gaps any more."""

SIZE = 22
"""Seconds; whenever it is stopped, windows are open."""

KEPT_SHARES = {**dict.fromkeys(BEFORE, 0.15), "by_group": 0.4}


STILL_OPEN = float(SIZE * 2)
"""When a window begins that is open at the stop, and dropped of all queries over windows as long as it."""


def _queries(setting: Setting) -> Iterable[Query]:
    for stream, after in STREAMS.items():
        asked = after if setting.start == 2 else BEFORE
        for name, aggregate in _aggregates(setting[stream]).items():
            yield aggregate.query(f"{stream}.{name}", **asked[name])


def _shed(step: int) -> Shed:
    if not 1 <= step <= HANDED_OVER_AFTER:
        return Shed()
    queries = [f"{stream}.{name}" for stream in STREAMS for name in ("grouped", "nested", "mixed")]
    return Shed(
        kept_shares={f"{stream}.{name}": share for stream in STREAMS for name, share in KEPT_SHARES.items()},
        dropped={query: [STILL_OPEN] for query in queries} if step == HANDED_OVER_AFTER else {},
    )


def _aggregates(events: Rows) -> Mapping[str, Answers]:
    rows = events.filter("g < 100")
    windows = rows.window(f"{SIZE} seconds")
    short = rows.window("4 seconds", every="2 seconds").by("g")
    largest, least = short.agg(top="max(id)"), short.agg(least="min(id)")
    return {
        "sliding": rows.window("20 seconds", every="5 seconds").agg(value="sum(v)"),
        "grouped": windows.by(five="v % 5").agg(value="sum(v)"),
        "by_group": windows.by("g").agg(value="sum(v)"),
        "nested": largest.window(f"{SIZE} seconds").agg(value="sum(top)"),
        "mixed": least.window(f"{SIZE} seconds").agg(value="sum(least)"),
        "whole": least.window(f"{SIZE} seconds").agg(value="max(least)"),
    }


def _exact(stream: str) -> Mapping[str, ExactWindows]:
    def short(call: str) -> ExactWindows:
        return ExactWindows(aggregate="", call=call, size=4, slide=2, by="g", stream=stream)

    def above(call: str, below: ExactWindows) -> ExactWindows:
        return ExactWindows(aggregate="value", call=call, size=SIZE, below=below, stream=stream)

    return {
        "sliding": ExactWindows(aggregate="value", call="sum(v)", size=20, slide=5, stream=stream),
        "grouped": ExactWindows(aggregate="value", call="sum(v)", size=SIZE, by="v % 5", stream=stream),
        "by_group": ExactWindows(aggregate="value", call="sum(v)", size=SIZE, by="g", stream=stream),
        "nested": above("sum(value)", short("max(id)")),
        "mixed": above("sum(value)", short("min(id)")),
        "whole": above("max(value)", short("min(id)")),
    }


SCENARIO = Scenario(
    queries=_queries,
    shed=_shed,
    exact={f"{stream}.{name}": exact for stream in STREAMS for name, exact in _exact(stream).items()},
)


STOPPED = at((HANDED_OVER_AFTER + 1) * STEP_SECONDS)
"""Up to when rows had come that a micro-batch was planned for before the stop."""


def _dropped_windows(outcome: Outcome, stream: str, name: str) -> set[datetime]:
    """When windows start that the last plan before the stop dropped, and that were open then.

    Its micro-batch may have been run again after the stop.
    """
    definition = outcome.cast.network(1).query(f"{outcome.prefix}.{stream}.{name}").definition_id
    clock = "time" if stream == "events" else stream
    drops = outcome.plans(clock)[outcome.micro_batch_of(HANDED_OVER_AFTER, clock)].drops.queries
    size, slide = (20, 5) if name == "sliding" else (SIZE, SIZE)
    numbers = {
        number for part, one in drops.items() if part.split(".")[0] == str(definition) for number in one.numbers()
    }
    starts = {at(0) + timedelta(seconds=number * slide - at(0).timestamp()) for number in numbers}
    return {start for start in starts if start < STOPPED < start + timedelta(seconds=size)}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("name", ["sliding", "grouped", "nested", "mixed"])
def test_what_was_dropped_is_a_gap_and_all_else_is_exact(outcome: Outcome, stream: str, name: str) -> None:
    query = f"{stream}.{name}"
    expected, gaps = expected_of(outcome, query), outcome.gaps(query)
    still_open = _dropped_windows(outcome, stream, name)
    assert still_open, "no dropped window was open"
    assert still_open <= gaps.keys()
    answers = outcome.answers(query, "value")
    inside = {place: value for place, value in answers.items() if place in expected}
    assert inside == {place: value for place, value in expected.items() if place[0] not in gaps}
    assert all(value is None for place, value in answers.items() if place not in expected)
    assert all(row.exact for row in outcome.rows(query))


@pytest.mark.parametrize("stream", STREAMS)
def test_no_window_is_dropped_that_begins_after_the_stop(outcome: Outcome, stream: str) -> None:
    latest = STOPPED + timedelta(seconds=STEP_SECONDS)
    for query in (f"{stream}.{name}" for name in KEPT_SHARES):
        assert max(outcome.gaps(query), default=at(0)) < latest, query
        assert max(start for start, _ in outcome.answers(query, "value")) >= latest, query


@pytest.mark.parametrize("stream", STREAMS)
def test_one_that_needs_all_windows_has_them_beside_one_that_drops_some(outcome: Outcome, stream: str) -> None:
    query = f"{stream}.whole"
    assert outcome.gaps(query) == {}
    answers = {place: value for place, value in outcome.answers(query, "value").items() if value is not None}
    assert answers == expected_of(outcome, query)
    assert all(row.exact for row in outcome.rows(query))


@pytest.mark.parametrize("stream", STREAMS)
def test_groups_whose_windows_were_not_dropped_are_answered(outcome: Outcome, spark: SparkSession, stream: str) -> None:
    query = f"{stream}.by_group"
    gaps = {start: row.value_text for start, row in outcome.gaps(query).items()}
    still_open = _dropped_windows(outcome, stream, "by_group")
    assert still_open, "no dropped window was open"
    assert still_open <= gaps.keys()
    hashed = spark.range(13).selectExpr("id", "xxhash64(id, '') & 15 AS cohort")
    cohorts = {str(row.id): row.cohort for row in hashed.collect()}
    missing = {start: set(json.loads(text)["cohorts"]) for start, text in gaps.items() if text is not None}
    assert missing.keys() == gaps.keys()
    kept = {
        (start, key): value
        for (start, key), value in expected_of(outcome, query).items()
        if cohorts[str(key[0])] not in missing.get(start, set())
    }
    assert outcome.answers(query, "value") == kept
    assert any(start in still_open for start, _ in kept)
    assert all(row.exact for row in outcome.rows(query))
