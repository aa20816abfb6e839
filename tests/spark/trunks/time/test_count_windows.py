"""Windows along numbers: the last so many rows, whole, sampled and dropped, on streams that number their rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.model.rows import Rows
from streamshed.spark import answers, query_view
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.time.numbers import BELOW_ZERO, CLOCK, NUMBERED, NUMBERS_PER_STEP
from tests.spark.trunks.time.steps import STEPS
from tests.spark.trunks.trunk import prefixed

SIZE, SLIDE, MAX_GAP = 100, 25, 3
CODES = {0: 10, 1: 22, 2: 10}
"""Codes of the rates at which the rows of a step are kept."""

LAST_DROPPING = 3
"""From the first step to this one windows are dropped."""

WHOLE_QUERIES = [("all", "true", SLIDE), ("odd", "v % 2 = 1", SIZE)]
"""Name, condition and slide."""


def _whole(numbered: Rows) -> list[Query]:
    odd = numbered.filter("v % 2 = 1")
    return [
        numbered.window(SIZE, every=SLIDE).agg(n="count(*)", total="sum(v)").query("all"),
        odd.window(SIZE).agg(n="count(*)", total="sum(v)").query("odd"),
    ]


def _queries(setting: Setting) -> Iterable[Query]:
    lines = setting["lines"]
    return [
        *_whole(setting["numbered"]),
        lines.window(SIZE).agg(n="count(*)").query("sampled"),
        lines.window(SLIDE).agg(n="count(*)", top="max(v)").query("dropped", mode="subset", max_gap=MAX_GAP),
    ]


SCENARIO = Scenario(
    queries=_queries,
    shed=lambda step: Shed(
        codes={"sampled": CODES[step]} if step in CODES else {},
        kept_shares={"dropped": 0.4} if step <= LAST_DROPPING else {},
    ),
)


def _expected(outcome: Outcome, condition: str, slide: int, *, since: int = 0) -> list[tuple[object, ...]]:
    """What DuckDB answers of numbers since one."""
    end = STEPS * NUMBERS_PER_STEP
    with duckdb.connect() as database:
        database.register("numbered", outcome.table("numbered"))
        return database.execute(
            f"SELECT k, k + {SIZE}, count(v), sum(v) FROM numbered, range({-SIZE}, {end}, {slide}) w(k)"
            f" WHERE number >= {since} AND number >= k AND number < k + {SIZE} AND {condition} GROUP BY k ORDER BY k"
        ).fetchall()


def _raw(outcome: Outcome, query: str, kind: str = "answer") -> list[dict[str, Any]]:
    rows = [row for row in outcome.raw_answers.to_pylist() if row["query"] == prefixed(outcome.prefix, query)]
    return [row for row in rows if row["kind"] == kind]


def _windows(outcome: Outcome, query: str) -> dict[tuple[int, int], tuple[int, int, float, float]]:
    """Both aggregates by window."""
    windows: dict[tuple[int, int], dict[str, float]] = {}
    for row in _raw(outcome, query):
        assert row["exact"]
        assert (row["window_start"], row["window_end"]) == (None, None)
        values = windows.setdefault((row["window_from"], row["window_until"]), {})
        assert row["aggregate"] not in values, f"{query}: a window was answered twice"
        values[row["aggregate"]] = row["value"]
    return {window: (*window, values["n"], values["total"]) for window, values in windows.items()}


@pytest.mark.parametrize(("query", "condition", "slide"), WHOLE_QUERIES)
def test_a_stream_answers_as_duckdb_does(outcome: Outcome, query: str, condition: str, slide: int) -> None:
    windows = _windows(outcome, query)
    expected = _expected(outcome, condition, slide)
    inside = {row[:2] for row in expected}
    assert sorted(row for window, row in windows.items() if window in inside) == expected
    assert {row[2] for window, row in windows.items() if window not in inside} <= {0.0}


def test_numbers_that_cannot_be_are_set_aside(outcome: Outcome) -> None:
    rows = outcome.set_aside("numbered", clock=CLOCK)
    reasons = ["number is below 0", "number is beyond 62000000000000", "number is null"]
    assert sorted((row["reason"], row["rows"]) for row in rows) == [(reason, 1) for reason in reasons]


def test_batch_mode_answers_as_duckdb_does(outcome: Outcome, spark: SparkSession) -> None:
    queries = network(*_whole(NUMBERED.stream(outcome.cast.path)))
    rows = answers(queries, spark).cache()
    unreadable = rows.where("kind = 'unreadable'").select("reason").collect()
    assert {row.reason for row in unreadable} == {"number is null", "number is beyond 62000000000000"}
    for query, condition, slide in WHOLE_QUERIES:
        view = query_view(rows, queries, query)
        assert view.columns[:2] == ["window_from", "window_until"]
        windows = view.select("window_from", "window_until", "n", "total").orderBy("window_from").collect()
        assert [tuple(row) for row in windows] == _expected(outcome, condition, slide, since=BELOW_ZERO)


def test_what_was_shed_is_known_though_nobody_read_its_numbers(outcome: Outcome) -> None:
    """Text has no footers: until later rows say how far numbers had come, no window may be called exact."""
    rows = sorted(_raw(outcome, "sampled"), key=lambda row: int(row["window_from"]))
    steps = {step: list(of) for step, of in groupby(rows, key=lambda row: int(row["window_from"]) // NUMBERS_PER_STEP)}
    starts = [steps[step][0]["window_from"] for step in range(STEPS)]
    assert starts == list(range(0, STEPS * NUMBERS_PER_STEP, NUMBERS_PER_STEP))
    for step in CODES:
        assert all(not row["exact"] for row in steps[step])
        assert sum(row["rows_used"] for row in steps[step]) < NUMBERS_PER_STEP
        assert all(row["lower"] <= SIZE <= row["upper"] for row in steps[step])
    for step in range(max(CODES) + 2, STEPS):
        assert [(row["exact"], row["value"]) for row in steps[step]] == [(True, SIZE)] * (NUMBERS_PER_STEP // SIZE)


def test_windows_along_numbers_are_dropped_whole(outcome: Outcome) -> None:
    """Text tells no numbers beforehand: they are taken to go on as they did; what lies beyond is decided on later."""
    told = _raw(outcome, "dropped", kind="gap")
    gaps = sorted(row["window_from"] for row in told)
    assert 5 <= len(gaps) == len(set(gaps))
    assert all(row["window_until"] == row["window_from"] + SLIDE for row in told)
    tops = {row["window_from"]: row for row in _raw(outcome, "dropped") if row["aggregate"] == "top"}
    everything = range(0, STEPS * NUMBERS_PER_STEP, SLIDE)
    assert not tops.keys() & set(gaps)
    assert set(everything) <= tops.keys() | set(gaps)
    kept = sorted(tops.keys() & set(everything))
    for start in kept:
        assert (tops[start]["exact"], tops[start]["value"]) == (True, start % NUMBERS_PER_STEP + SLIDE - 1)
    assert max(b - a for a, b in pairwise(kept)) <= (MAX_GAP + 1) * SLIDE
