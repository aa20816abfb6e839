"""A network that goes on with other queries: what is open goes on, what is gone is not heard of again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime

import pytest

from streamshed.network.model.query import Query
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.windows.manifest import read_manifest
from tests.spark.event_times import at, seconds_of
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.course import SECONDS, STEP_SECONDS
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import Answers, ExactWindows

RANKED = "id % 20 = 3"
"""So few rows that a sketch of their values is exact."""


def _queries(setting: Setting) -> Iterable[Query]:
    events, is_after = setting["events"], setting.start == 2
    sliding, tumbling = events.window("60 seconds", every="10 seconds"), events.filter("v > 3").window("33 seconds")
    ranked = events.filter(RANKED).window("60 seconds", every="10 seconds")
    yield ranked.agg(middle="median(v)", high="percentile_approx(v, 0.9)").query("ranked")
    if not is_after:
        yield sliding.agg(n="count(*)", total="sum(v)").query("kept")
        yield tumbling.agg(total="sum(v)").query("old_name")
        yield sliding.by("g").agg(n="count(*)").query("reweighted", weight=1.0)
        yield events.filter("v < 50").window("60 seconds", every="10 seconds").agg(n="count(*)").query("gone")
        yield events.filter("v = 4").query("rows_gone")
    if setting.start == 0:
        yield events.window("4 seconds").by(seventh="v % 7").agg(n="count(*)").query("fleeting")
    if is_after:
        yield tumbling.agg(sum_of_v="sum(v)").query("new_name")
        yield sliding.by("g").agg(n="count(*)").query("reweighted", weight=3.0, priority=1)
        yield sliding.agg(n="count(*)", total="sum(v)").query("kept", mode="exact")
        # In one sharing class with what was there before.
        yield events.filter("v > 60").window("33 seconds").agg(n="count(*)", total="sum(v)").query("added")
        yield events.filter("v > 80").window("22 seconds").agg(mean="avg(v)", least="min(v)").query("added_too")


SCENARIO = Scenario(queries=_queries)


def _expected(
    outcome: Outcome, call: str, size: int, slide: int | None = None, *, by: str | None = None, where: str = "true"
) -> Answers:
    exact = ExactWindows(aggregate="", call=call, size=size, slide=slide, by=by, where=where)
    return exact.answers(outcome.table("events"))


def _ungrouped(answers: Answers) -> dict[datetime, float | None]:
    return {start: value for (start, _), value in answers.items()}


def test_open_windows_go_on(outcome: Outcome) -> None:
    assert outcome.values("kept", "n") == _ungrouped(_expected(outcome, "count(*)", 60, 10))
    assert outcome.values("kept", "total") == _ungrouped(_expected(outcome, "sum(v)", 60, 10))


@pytest.mark.parametrize(("aggregate", "share"), [("middle", 0.5), ("high", 0.9)])
def test_sketches_of_open_windows_go_on(outcome: Outcome, aggregate: str, share: float) -> None:
    answers = outcome.values("ranked", aggregate)
    rows = _ranked_rows(outcome)
    assert answers == {
        at(start): values[math.ceil(share * len(values)) - 1]
        for start in range(-50, SECONDS, 10)
        if (values := sorted(v for second, v in rows if start <= second < start + 60))
    }


def _ranked_rows(outcome: Outcome) -> list[tuple[float, int]]:
    rows = outcome.table("events").to_pylist()
    return [(seconds_of(row["ts"]), row["v"]) for row in rows if row["id"] % 20 == 3]


def test_open_windows_of_a_renamed_query_come_under_its_new_name(outcome: Outcome) -> None:
    before, after = outcome.values("old_name", "total"), outcome.values("new_name", "sum_of_v")
    assert before.keys().isdisjoint(after)
    assert {**before, **after} == _ungrouped(_expected(outcome, "sum(v)", 33, where="v > 3"))
    assert at(33) in after


def test_groups_of_a_reweighted_query_go_on(outcome: Outcome) -> None:
    assert outcome.answers("reweighted", "n") == _expected(outcome, "count(*)", 60, 10, by="g")


@pytest.mark.parametrize(
    ("query", "kind", "start"), [("gone", "answer", 2), ("rows_gone", "row", 2), ("fleeting", "answer", 1)]
)
def test_a_removed_query_is_not_heard_of_again(outcome: Outcome, query: str, kind: str, start: int) -> None:
    micro_batches = {row.micro_batch_id for row in outcome.all_rows if row.query == query}
    assert {row.kind for row in outcome.all_rows if row.query == query} == {kind}
    assert max(micro_batches) <= outcome.last_before(start)


@pytest.mark.parametrize(
    ("query", "aggregate", "size", "call", "where"),
    [
        ("added", "n", 33, "count(*)", "v > 60"),
        ("added_too", "mean", 22, "avg(v)", "v > 80"),
        ("added_too", "least", 22, "min(v)", "v > 80"),
    ],
)
def test_an_added_query_begins_with_the_windows_of_which_it_sees_all_rows(
    outcome: Outcome, query: str, aggregate: str, size: int, call: str, where: str
) -> None:
    since = at(outcome.first_step(2) * STEP_SECONDS)
    expected = _ungrouped(_expected(outcome, call, size, where=where))
    answers = outcome.values(query, aggregate)
    assert answers == {start: pytest.approx(value) for start, value in expected.items() if start >= since}
    assert answers
    gaps = {start: row.reason for start, row in outcome.gaps(query).items()}
    assert gaps[max(start for start in expected if start < since)] == "before the query"
    assert max(gaps) < since


def test_classes_that_can_be_in_state_no_longer_are_forgotten(outcome: Outcome) -> None:
    """Others are remembered: their slices may be there yet."""
    manifest = read_manifest(Storage.at(str(outcome.clock_folder())))
    assert manifest is not None
    classes = json.loads(manifest.to_json())["classes"]
    retired = {
        member[1] for remembered in classes if remembered["retired_at"] is not None for member in remembered["members"]
    }
    in_use = {
        member[1] for remembered in classes if remembered["retired_at"] is None for member in remembered["members"]
    }
    at_first = {
        name: outcome.cast.network(0).query(f"{outcome.prefix}.{name}").definition_id
        for name in ("fleeting", "gone", "kept")
    }
    assert at_first["gone"] in retired - in_use
    assert at_first["kept"] in in_use
    assert at_first["fleeting"] not in retired | in_use
