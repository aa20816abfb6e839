"""What cannot be read is counted and set aside with the reason, and the queries go on."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from streamshed.network.model.query import Query
from streamshed.network.source.sources import FileFormat
from tests.spark.event_times import at
from tests.spark.trunks.checks import check_unreadable_rows_are_counted
from tests.spark.trunks.inputs import STEP, Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.time.events import NUMBERS, ROWS_PER_STEP, TIMELESS_PLACE
from tests.spark.trunks.time.messages import CSV_MESSAGES
from tests.spark.trunks.time.steps import BAD_STEP, STEP_SECONDS, STEPS, in_course
from tests.spark.trunks.time.test_far_ahead import REASON as TOO_FAR_AHEAD
from tests.spark.trunks.time.texts import (
    BAD_CSV,
    BAD_JSON,
    NO_TEXT,
    NO_TIME,
    PLACE,
    SCHEMA,
    TIMED,
    TWICE,
    lines_of,
    write_lines,
)

TEXTS = ("json", "csv", "json_messages", "csv_messages")


def _queries(setting: Setting) -> Iterable[Query]:
    calls = {name: f"{name}(x)" for name in ("sum", "avg", "min", "max", "count", "var_pop")}
    numbers = setting["events"]
    return [
        *(setting[name].window("10 seconds").agg(n="count(*)", total="sum(v)").query(name) for name in TEXTS),
        numbers.window("10 seconds").agg(**calls).query("numbers"),
        numbers.filter("x IS NULL OR x < 2").window("10 seconds").agg(**calls).query("finite"),
        numbers.window("10 seconds").by("x").agg(n="count(*)").query("by_number"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(
        CSV_MESSAGES,
        Input(
            name="csv",
            steps=lambda: lines_of("csv"),
            write=lambda path, rows: write_lines(path, rows, "ts,v\n"),
            format=FileFormat.CSV,
            schema=SCHEMA,
            settings=TIMED,
            options={"header": "true"},
        ),
    ),
)


@pytest.mark.parametrize("name", TEXTS)
def test_good_rows_are_answered_as_if_nothing_had_been(outcome: Outcome, name: str) -> None:
    starts = [at(10 * number) for number in range(STEPS)]
    assert in_course(outcome.values(name, "n")) == dict.fromkeys(starts, 10.0)
    assert in_course(outcome.values(name, "total")) == dict.fromkeys(starts, 45.0)
    assert all(row.exact for row in outcome.rows(name))


def _expected_aside() -> Iterator[tuple[str, str, str, int]]:
    """Stream, reason, text and number of each bad row."""
    for kind, bad in (("json", BAD_JSON), ("csv", BAD_CSV)):
        for text, reason in bad.items():
            yield kind, reason, text, 2 if text in TWICE else 1
            yield f"{kind}_messages", reason, text, 1
        yield f"{kind}_messages", NO_TEXT, "", 1
    yield "events", NO_TIME, "", 1


def test_bad_rows_are_set_aside_with_the_reason(outcome: Outcome) -> None:
    """Each once, though the first run was killed and others followed."""
    rows = [row for row in outcome.set_aside(*TEXTS, "events") if row["reason"] != TOO_FAR_AHEAD]
    told = Counter((row["stream"], row["reason"], row["text"], row["rows"]) for row in rows)
    assert told == Counter(_expected_aside())


def test_bad_rows_can_be_found_in_their_source(outcome: Outcome) -> None:
    [number] = [row["identity"] for row in outcome.set_aside("events") if row["reason"] == NO_TIME]
    assert number.endswith(f"events/{BAD_STEP:03}.parquet#{TIMELESS_PLACE}")
    messages = [json.loads(row["identity"]) for row in outcome.set_aside("csv_messages")]
    assert sorted(message["offset"] for message in messages) == list(range(PLACE, PLACE + len(BAD_CSV) + 1))
    assert {(message["topic"], message["partition"]) for message in messages} == {("t", 0)}


def test_bad_rows_are_counted(outcome: Outcome) -> None:
    check_unreadable_rows_are_counted(outcome)


def test_bad_rows_do_not_reach_the_sink(outcome: Outcome) -> None:
    assert "unreadable" not in outcome.raw_answers["kind"].to_pylist()


def test_nan_and_infinities_have_defined_results(outcome: Outcome) -> None:
    values = outcome.table("events")["x"].to_pylist()
    for step in range(STEPS):
        own = [value for value in values[step * ROWS_PER_STEP : (step + 1) * ROWS_PER_STEP] if value is not None]
        _check_of_all(outcome, step, len(own))
        _check_of_less_than_two(outcome, step, sum(value < 2 for value in own))


def _calls(outcome: Outcome, query: str, step: int) -> dict[str | None, float]:
    rows = [row for row in outcome.rows(query) if row.window_start == at(step * STEP_SECONDS)]
    assert all(row.exact for row in rows)
    calls = {row.aggregate: math.inf if row.value is None else row.value for row in rows}
    assert len(calls) == len(rows) == 6
    return calls


def _check_of_all(outcome: Outcome, step: int, count: int) -> None:
    calls = _calls(outcome, "numbers", step)
    assert (calls["count"], calls["min"]) == (count, -math.inf)
    assert all(math.isnan(calls[name]) for name in ("sum", "avg", "max", "var_pop"))


def _check_of_less_than_two(outcome: Outcome, step: int, count: int) -> None:
    calls = _calls(outcome, "finite", step)
    least = dict.fromkeys(("sum", "avg", "min"), -math.inf)
    assert calls == {**least, "max": 1.5, "count": count, "var_pop": calls["var_pop"]}
    assert math.isnan(calls["var_pop"])


def test_null_nan_and_zeros_are_keys(outcome: Outcome) -> None:
    texts = dict(zip(map(str, NUMBERS), ["1.5", "NaN", "Infinity", "-Infinity", None, "0.0", "0.0"], strict=True))
    rows = outcome.table("events")
    steps, values = rows[STEP].to_pylist(), rows["x"].to_pylist()
    counts = Counter((at(step * STEP_SECONDS), (texts[str(x)],)) for step, x in zip(steps, values, strict=True))
    assert outcome.answers("by_number", "n") == counts
