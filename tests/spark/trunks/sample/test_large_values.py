"""Rows chosen by size: heavy tails are summed from few rows, and every bound is as true as it is of others."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

from streamshed.network.model.query import Query
from streamshed.planning.plan.query_rates import SizedRate
from streamshed.planning.tree.quantization import STEPS_PER_DECADE, sampling_rate_of
from streamshed.sharing.gating import STEP
from tests.spark.harness import Found
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import SHED_STEPS
from tests.spark.trunks.sample.events import ROWS_PER_STEP, STEP_SECONDS
from tests.spark.trunks.scenario import NOTHING_SHED, Scenario, Setting, Shed

THRESHOLD = 100.0
CODES = {"bytes": 40, "selected": 48, "judged": 40, "alike": 48, "rows": 64}
BASE = {"bytes": 48, "selected": 56, "judged": 56}
SIZED = {query: SizedRate(column="x", threshold=THRESHOLD, code=code) for query, code in BASE.items()}
SECONDS = {"bytes": 5, "selected": 5, "judged": 20}
SHED_ROWS = ROWS_PER_STEP * len(SHED_STEPS)


def is_number(values: pd.Series) -> pd.Series:
    return values.notna()


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["events"]
    calls = {"n": "count(*)", "total": "sum(x)", "mean": "avg(x)", "values": "count(x)"}
    finite = rows.filter("abs(x) < 1e100")
    judged = finite.filter("id >= 0").apply(is_number, columns=["x"], into="verdict", returns="boolean")
    return [
        finite.window("5 seconds").agg(**calls).query("bytes"),
        finite.filter("x > 150").window("5 seconds").agg(**calls).query("selected"),
        judged.filter("verdict").window("20 seconds").agg(**calls).query("judged"),
        rows.filter("id % 2 = 1").window("5 seconds").agg(**calls).query("alike"),
        rows.filter("id % 4 = 3").query("rows"),
    ]


SCENARIO = Scenario(
    queries=_queries, shed=lambda step: Shed(codes=CODES, sized=SIZED) if step in SHED_STEPS else NOTHING_SHED
)


def _is_finite(rows: DrawnRows) -> np.ndarray:
    is_finite: np.ndarray = np.isfinite(rows["x"])
    return is_finite


TAKEN = {"bytes": _is_finite, "selected": lambda rows: _is_finite(rows) & (rows["x"] > 150), "judged": _is_finite}
"""Which rows a query takes."""


def _shed_rows(rows: DrawnRows, query: str) -> DrawnRows:
    """The rows that a query takes in steps in which it is shed."""
    return rows.those(TAKEN[query](rows) & (rows.codes(query) > 0))


def _base_codes(rows: DrawnRows, query: str) -> np.ndarray:
    """The code of the rate at which a row of that size is kept, in the steps in which sizes are told apart."""
    with np.errstate(divide="ignore"):
        sizes = np.floor(np.log10(np.abs(rows["x"]) / THRESHOLD) * (STEPS_PER_DECADE / STEP) + 0.5)
    codes: np.ndarray = np.maximum(BASE[query] - STEP * np.maximum(sizes, 0), 0)
    return codes


def _chances(rows: DrawnRows, query: str) -> np.ndarray:
    chances: np.ndarray = 10.0 ** (-_base_codes(rows, query) / STEPS_PER_DECADE)
    return chances


def _answers(outcome: Outcome, query: str, aggregate: str) -> list[Found]:
    """Those of windows that were sampled."""
    return [row for row in outcome.rows(query) if row.aggregate == aggregate and not row.exact]


def _total(outcome: Outcome, query: str, aggregate: str) -> tuple[float, float]:
    """Estimate and standard error of the sum of all windows."""
    rows = _answers(outcome, query, aggregate)
    error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in rows))
    return sum(row.value or 0.0 for row in rows), error


@pytest.mark.parametrize("query", BASE)
@pytest.mark.parametrize("aggregate", ["n", "total", "values"])
def test_estimates_are_of_the_whole(outcome: Outcome, rows: DrawnRows, query: str, aggregate: str) -> None:
    chosen = _shed_rows(rows, query)
    true = chosen["x"].sum() if aggregate == "total" else len(chosen)
    estimated, error = _total(outcome, query, aggregate)
    assert error > 0
    assert abs(estimated - true) <= 4 * error


@pytest.mark.parametrize("query", BASE)
def test_rows_are_kept_by_their_chances(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    """In each window those that pass, killed or not; in all, as many as their chances say."""
    chosen = _shed_rows(rows, query)
    kept = chosen.those(chosen.levels >= _base_codes(chosen, query))
    for row in _answers(outcome, query, "n"):
        inside = kept.inside(row)
        assert row.rows_used == len(inside)
        assert row.value == pytest.approx((1 / _chances(inside, query)).sum())
    used, chances = sum(row.rows_used for row in _answers(outcome, query, "n")), _chances(chosen, query)
    assert abs(used - chances.sum()) <= 4 * math.sqrt((chances * (1 - chances)).sum())


@pytest.mark.parametrize("query", BASE)
def test_standard_errors_are_those_of_the_chances(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    chosen = _shed_rows(rows, query)
    chances = _chances(chosen, query)
    for aggregate, parts in (("n", np.ones(len(chosen))), ("total", chosen["x"])):
        true = math.sqrt((parts**2 * (1 - chances) / chances).sum())
        assert _total(outcome, query, aggregate)[1] == pytest.approx(true, rel=0.1)


def test_a_sum_is_far_nearer_than_from_as_many_rows_that_are_all_alike(outcome: Outcome, rows: DrawnRows) -> None:
    chosen = _shed_rows(rows, "bytes")
    share = sum(row.rows_used for row in _answers(outcome, "bytes", "n")) / len(chosen)
    if_alike = math.sqrt((chosen["x"] ** 2).sum() * (1 - share) / share)
    assert _total(outcome, "bytes", "total")[1] < 0.4 * if_alike


@pytest.mark.parametrize("query", BASE)
def test_answers_are_exact_where_nothing_was_shed_and_nowhere_else(
    outcome: Outcome, rows: DrawnRows, query: str
) -> None:
    sampled = len(SHED_STEPS) * STEP_SECONDS / SECONDS[query]
    for aggregate in ("n", "total", "mean", "values"):
        assert len(_answers(outcome, query, aggregate)) == sampled
    for row in outcome.rows(query):
        inside = rows.inside(row)
        assert row.exact == bool((inside.codes(query) == 0).all())
        if row.exact and row.aggregate == "total" and len(inside):
            assert row.value == pytest.approx(inside.those(TAKEN[query](inside))["x"].sum(), rel=1e-9)


@pytest.mark.parametrize("query", BASE)
def test_bounds_hold_as_often_as_they_say(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    chosen, held = _shed_rows(rows, query), []
    for aggregate in ("n", "total", "values"):
        for row in _answers(outcome, query, aggregate):
            inside = chosen.inside(row)
            true = inside["x"].sum() if aggregate == "total" else len(inside)
            if row.lower is not None and row.upper is not None:
                held.append(row.lower <= true <= row.upper)
    assert len(held) >= 3 * len(SHED_STEPS) * STEP_SECONDS / SECONDS[query] - 2
    assert np.mean(held) >= 0.82


def test_others_are_sampled_as_ever(outcome: Outcome, rows: DrawnRows) -> None:
    """A row that large values alone have brought past the first sampler is nothing to a query that does not want it."""
    kept = [json.loads(row.value_text or "")["id"] for row in outcome.rows("rows", kind="row")]
    assert sorted(kept) == sorted(rows.those(rows["id"] % 4 == 3).kept("rows")["id"])
    of_shed, rate = np.isin(np.array(kept) // ROWS_PER_STEP, SHED_STEPS).sum(), sampling_rate_of(CODES["rows"])
    assert abs(of_shed - SHED_ROWS / 4 * rate) <= 4 * math.sqrt(SHED_ROWS / 4 * rate)
    alike, rate = _answers(outcome, "alike", "n"), sampling_rate_of(CODES["alike"])
    assert all(row.sampling_rate == pytest.approx(rate) for row in alike)
    used = sum(row.rows_used for row in alike)
    assert abs(used - SHED_ROWS / 2 * rate) <= 4 * math.sqrt(SHED_ROWS / 2 * rate)
    assert used == len(rows.those((rows["id"] % 2 == 1) & (rows.codes("alike") > 0)).kept("alike"))


def test_values_that_are_no_finite_numbers_are_counted_as_ever(outcome: Outcome, rows: DrawnRows) -> None:
    """To a query of rows that are all alike; NaN is a value, null is none."""
    odd = rows.those(rows["id"] % 2 == 1)
    kept = odd.kept("alike")
    for row in outcome.rows("alike"):
        inside = kept.inside(row)
        if row.aggregate == "n":
            assert row.rows_used == len(inside)
        if row.aggregate == "values":
            assert row.rows_used == (~inside["x_is_null"]).sum()
    assert odd["x_is_null"].any()
