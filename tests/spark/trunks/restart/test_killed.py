"""What a kill must not change: no answer is lost, none given twice, and states hold each row once and in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import duckdb
import pyarrow.compute as pc

from streamshed.network.model.query import Query
from streamshed.network.terms.aggregate import user_aggregate
from tests.spark.event_times import at, seconds_of
from tests.spark.harness import Found
from tests.spark.in_order import InOrder, Merges
from tests.spark.trunks.checks import (
    test_no_gap_is_longer_than_allowed,  # noqa: F401
    test_what_is_delivered_is_exact_and_the_rest_are_gaps,  # noqa: F401
)
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.restart.some_windows import some_dropped
from tests.spark.trunks.scenario import Scenario, Setting
from tests.spark.trunks.windows_of_duckdb import ExactWindows

CODES = {1: 6, 2: 13, 3: 20, 5: 9}
"""Sampling codes by step; all others are whole."""

SAMPLED = ("sliding", "grouped", "sevens")
KEPT_SHARES = {4: 0.4, 5: 0.5}
"""Shares of windows kept of those queries that miss some, by step; see `some_dropped` for those around the kill."""

SLIDES = {"missing": 2, "missing_by_g": 1, "missing_nested": 2}
"""Of these queries, seconds."""

MAX_GAP = 3
ROWS, EVERY = 30, 10
"""Rows of a window of rows, and how many come from one to the next."""


def _queries(setting: Setting) -> Iterable[Query]:
    events = setting["events"]
    sliding, seconds = events.window("15 seconds", every="5 seconds"), events.window("1 second").by("g")
    told = user_aggregate(InOrder, columns=["v"], returns="string")
    merges = user_aggregate(Merges, columns=["v"], returns="bigint")
    counts = seconds.agg(n="count(*)")
    nested = counts.filter("n > 1").window("4 seconds", every="2 seconds")
    return [
        sliding.agg(n="count(*)", total="sum(v)").query("sliding"),
        events.filter("v > 3").window("10 seconds").by("g").agg(n="count(*)").query("grouped"),
        events.filter("v = 7").query("sevens"),
        events.window(f"{ROWS} rows", every=f"{EVERY} rows")
        .by("g")
        .agg(n="count(*)", total="sum(v)")
        .query("last_rows"),
        sliding.agg(told=told, merges=merges).query("in_order", mode="exact"),
        events.window("2 seconds").agg(top="max(v)").query("missing", mode="subset", max_gap=MAX_GAP),
        counts.query("missing_by_g", mode="subset", max_gap=MAX_GAP),
        nested.agg(total="sum(n)").query("missing_nested", mode="subset", max_gap=MAX_GAP),
    ]


SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: replace(
        some_dropped(step, SLIDES, KEPT_SHARES), codes=dict.fromkeys(SAMPLED, CODES.get(step, 0))
    ),
    exact={
        "missing": ExactWindows(aggregate="top", call="max(v)", size=2),
        "missing_by_g": ExactWindows(aggregate="n", call="count(*)", size=1, by="g"),
        "missing_nested": ExactWindows(
            aggregate="total",
            call="sum(value)",
            size=4,
            slide=2,
            where="value > 1",
            below=ExactWindows(aggregate="n", call="count(*)", size=1, by="g"),
        ),
    },
)


def test_no_answer_is_given_twice(outcome: Outcome) -> None:
    places = Counter(_place(row) for row in outcome.rows() if row.query != "last_rows")
    assert max(places.values()) == 1
    sevens = [row.value_text for row in outcome.rows("sevens", kind="row")]
    assert sevens
    assert len(sevens) == len(set(sevens))


def _place(row: Found) -> tuple[object, ...]:
    return (row.query, row.window_start, row.window_end, row.key, row.aggregate)


def test_no_answer_is_lost(outcome: Outcome) -> None:
    assert {row.window_start for row in outcome.rows("sliding")} == {at(start) for start in _starts(outcome)}


def _starts(outcome: Outcome) -> list[int]:
    """When sliding windows start that have rows, in seconds."""
    return list(range(-10, math.ceil(seconds_of(max(outcome.table("events")["ts"].to_pylist()))), 5))


def test_windows_of_rows_are_whole_and_given_once(outcome: Outcome) -> None:
    """Their rows are numbered in state: a row that were lost, or taken in twice, would move all that follow."""
    answers = outcome.raw_answers.filter(pc.equal(outcome.raw_answers["query"], f"{outcome.prefix}.last_rows"))
    rows = [row for row in answers.to_pylist() if row["kind"] == "answer"]
    assert all(row["exact"] for row in rows)
    values = {(row["aggregate"], int(row["key"][0]), row["window_from"]): row["value"] for row in rows}
    assert len(values) == len(rows)
    with duckdb.connect() as database:
        database.register("events", outcome.table("events"))
        expected = database.execute(
            "SELECT g, k, count(*), sum(v)"
            " FROM (SELECT g, v, row_number() OVER (PARTITION BY g ORDER BY ts) - 1 AS place FROM events),"
            f" range({EVERY - ROWS}, (SELECT count(*) FROM events), {EVERY}) w(k)"
            f" WHERE place >= k AND place < k + {ROWS} GROUP BY ALL"
        ).fetchall()
    counts = {("n", group, start): float(count) for group, start, count, _ in expected}
    assert values == {**counts, **{("total", group, start): float(total) for group, start, _, total in expected}}


def test_states_of_ones_own_hold_each_row_once_and_in_order(outcome: Outcome) -> None:
    rows = outcome.rows("in_order")
    assert all(row.exact for row in rows)
    told = {(row.aggregate, seconds_of(row.window_start)): row.value_text for row in rows}
    assert len(told) == len(rows)
    events = [(seconds_of(row["ts"]), row["v"]) for row in outcome.table("events").to_pylist()]
    starts = _starts(outcome)
    for start in starts:
        assert told["told", start] == repr([v for second, v in events if start <= second < start + 15])
    assert {told["merges", start] for start in starts[2:-2]} == {"2"}
    assert len(told) == 2 * len(starts)


def test_sampled_windows_hold_fewer_rows(outcome: Outcome) -> None:
    """The kill and the stop lie among micro-batches that shed: what is answered is not of whole windows alone."""
    shed = {10 * step + second for step in _shed_steps(outcome) for second in (0, 5)}
    counts = ExactWindows(aggregate="n", call="count(*)", size=15, slide=5).answers(outcome.table("events"))
    for (start, _), count in counts.items():
        [row] = [row for row in outcome.rows("sliding") if (row.window_start, row.aggregate) == (start, "n")]
        is_shed = bool(shed & {seconds_of(start) + second for second in (0, 5, 10)})
        assert (row.rows_used < (count or 0)) == is_shed
        assert row.exact == (not is_shed)


def _shed_steps(outcome: Outcome) -> set[int]:
    return {step for step, shed in enumerate(outcome.sheds("events")) if shed.codes["sliding"]}
