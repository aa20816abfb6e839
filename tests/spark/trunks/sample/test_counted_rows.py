"""Rows counted above a function: answers are nearer, bounds as true, and where nothing is shed nothing changes."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from streamshed.network.model.query import Query
from tests.spark.harness import Found
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import SHED_STEPS
from tests.spark.trunks.sample.estimates import ENOUGH, Asked, check_answers, t_quantile
from tests.spark.trunks.sample.events import STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import NOTHING_SHED, Scenario, Setting, Shed

CODES = {"counted": 20, "scaled": 20, "plain": 24}
COUNTING = {"counted": 2}
SECONDS, LIMIT = 20, 25
SHED_WINDOWS = len(SHED_STEPS) * STEP_SECONDS // SECONDS


def doubled(values: pd.Series) -> pd.Series:
    return values * 2.0


def _queries(setting: Setting) -> Iterable[Query]:
    """`scaled` is what `counted` would be if its rows were not counted."""
    even = setting["events"].filter("id % 2 = 0")
    scored = even.apply(doubled, columns=["w"], into="score", returns="double")
    calls = {"n": "count(*)", "total": "sum(score)", "mean": "avg(score)"}
    return [
        scored.filter(f"score > {LIMIT}").window(f"{SECONDS} seconds").agg(**calls).query("counted"),
        scored.filter(f"score > {LIMIT} AND w > 0").window(f"{SECONDS} seconds").agg(**calls).query("scaled"),
        even.window("1 second").agg(n="count(*)").query("plain"),
    ]


SCENARIO = Scenario(
    queries=_queries, shed=lambda step: Shed(codes=CODES, counting=COUNTING) if step in SHED_STEPS else NOTHING_SHED
)


def _is_even(rows: DrawnRows) -> np.ndarray:
    even: np.ndarray = rows["id"] % 2 == 0
    return even


def _passes(rows: DrawnRows) -> np.ndarray:
    return _is_even(rows) & (rows["w"] * 2 > LIMIT)


def _answers(outcome: Outcome, query: str, aggregate: str, *, exact: bool = False) -> list[Found]:
    answers = [row for row in outcome.rows(query) if row.aggregate == aggregate]
    return [row for row in answers if row.exact is exact and row.rows_estimated]


def _true(rows: DrawnRows, row: Found) -> float:
    inside = rows.inside(row)
    scores = inside["w"][_passes(inside)] * 2
    return float({"n": len(scores), "total": scores.sum(), "mean": scores.mean()}[row.aggregate or ""])


@pytest.mark.parametrize("aggregate", ["n", "total"])
def test_answers_are_corrected_by_how_many_rows_there_were(outcome: Outcome, rows: DrawnRows, aggregate: str) -> None:
    """As docs/answers.md has it: Z + R·(Σ 1/Q − Σ 1/P), variance Σ (z − R)²·e + R²·Σ (1 − Q)/Q²."""
    even = rows.those(_is_even(rows))
    counting = 10.0 ** (-COUNTING["counted"] / 32)
    for row in _answers(outcome, "counted", aggregate):
        inside = even.inside(row)
        counted, sample = inside.levels >= COUNTING["counted"], inside.kept("counted")
        rate = sample.rates("counted")[0]
        z = np.where(_passes(sample), sample["w"] * 2 if aggregate == "total" else 1.0, 0.0)
        ratio, excess, missing = z.mean(), (1 - rate) / rate**2, (1 - counting) / counting**2
        value = z.sum() / rate + ratio * (counted.sum() / counting - len(sample) / rate)
        spread = (z - ratio) ** 2
        effective = spread.sum() ** 2 / (spread**2).sum()
        assert effective >= ENOUGH, "else nothing is corrected"
        variance = spread.sum() * excess + ratio**2 * counted.sum() * missing
        assert row.value == pytest.approx(value, rel=1e-6)
        assert row.standard_error == pytest.approx(math.sqrt(variance), rel=1e-6)
        assert row.upper == pytest.approx(value + t_quantile(effective) * math.sqrt(variance), rel=1e-6)
        assert row.lower == pytest.approx(value - t_quantile(effective) * math.sqrt(variance), rel=1e-6)


@pytest.mark.parametrize("aggregate", ["n", "total"])
def test_answers_are_as_far_off_as_they_say(outcome: Outcome, rows: DrawnRows, aggregate: str) -> None:
    answers = _answers(outcome, "counted", aggregate)
    assert len(answers) == SHED_WINDOWS
    off = sum((row.value or 0.0) - _true(rows, row) for row in answers)
    error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in answers))
    assert error > 0
    assert abs(off) <= 4 * error
    held = [
        row.lower is not None and row.upper is not None and row.lower <= _true(rows, row) <= row.upper
        for row in answers
    ]
    assert np.mean(held) >= 0.75


@pytest.mark.parametrize(("aggregate", "share"), [("n", 0.6), ("total", 0.8)])
def test_they_are_nearer_than_without(outcome: Outcome, rows: DrawnRows, aggregate: str, share: float) -> None:
    """Half of the rows pass: half of a count's squared error is left, and what is lost by not counting all of them."""
    both = [_answers(outcome, query, aggregate) for query in ("counted", "scaled")]
    squared = [sum((row.standard_error or 0.0) ** 2 for row in answers) for answers in both]
    assert 0 < squared[0] <= share * squared[1]
    off = [sum(((row.value or 0.0) - _true(rows, row)) ** 2 for row in answers) for answers in both]
    assert off[0] < off[1]


def test_samples_are_the_same(outcome: Outcome) -> None:
    """The same rows are kept, and an average is what it was."""
    for aggregate in ("n", "total", "mean"):
        counted, scaled = (_answers(outcome, query, aggregate) for query in ("counted", "scaled"))
        assert [row.rows_used for row in counted] == [row.rows_used for row in scaled]
        estimated = [[row.rows_estimated for row in answers] for answers in (counted, scaled)]
        assert estimated[0] == pytest.approx(estimated[1])
    means = [[row.value for row in _answers(outcome, query, "mean")] for query in ("counted", "scaled")]
    assert means[0] == pytest.approx(means[1])


def test_others_are_answered_from_the_rows_that_pass_their_rates(outcome: Outcome, rows: DrawnRows) -> None:
    """As if no rows were counted beside them: none that is there only to be counted is in their samples."""
    check_answers(outcome, rows, "plain", Asked(size=1, where=_is_even))
    check_answers(outcome, rows, "scaled", Asked(size=SECONDS, where=_passes, value=lambda rows: rows["w"] * 2))


def test_where_nothing_was_shed_answers_are_exact(outcome: Outcome, rows: DrawnRows) -> None:
    for aggregate in ("n", "total"):
        answers = _answers(outcome, "counted", aggregate, exact=True)
        assert len(answers) == STEPS * STEP_SECONDS // SECONDS - SHED_WINDOWS
        assert [row.value for row in answers] == pytest.approx([_true(rows, row) for row in answers], rel=1e-9)
        assert all(row.reason is None for row in answers)


def test_nothing_is_told_twice(outcome: Outcome) -> None:
    keys = [(row.query, row.window_start, row.aggregate) for row in outcome.rows()]
    assert len(keys) == len(set(keys))
    assert not outcome.rows(kind="late")
