"""Answers from samples: scaled, unbiased, with true standard errors; exact only where nothing was shed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from scipy.stats import binom

from streamshed.network.model.query import Query
from streamshed.planning.tree.quantization import WHOLE
from tests.spark.event_times import seconds_of
from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import CODES, CONFIDENCE, RATES, SHED_STEPS
from tests.spark.trunks.sample.checks import (
    test_windows_are_answered_once_from_the_rows_that_were_to_be_kept,  # noqa: F401
)
from tests.spark.trunks.sample.estimates import Asked
from tests.spark.trunks.sample.events import ROWS_PER_STEP, STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting, Shed
from tests.spark.trunks.trunk import prefixed

RANKED = {"middle": "median(v)", "top": "percentile_approx(v, 0.95)"}
SHARES = {"middle": 0.5, "top": 0.95}
QUERIES = ("short", "selected", "long", "grouped", "rare", "ranked", "ranked_by", "kept", "derived")
ASKED = {
    "short": Asked(size=1),
    "selected": Asked(size=1, where=lambda rows: rows["v"] > 50),
    "long": Asked(size=90, slide=30),
    "grouped": Asked(size=20, by=lambda rows: rows["g"]),
}
DERIVED = {"percent": "100.0 * count_if(v > 50) / count(*)", "ratio": "sum(v) / sum(v + id % 10)"}
KEPT_OF = 4
"""One of so many rows is asked for as it is."""


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["events"]
    seconds, calls = rows.window("1 second"), {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}
    rare = rows.filter("rare = 1").window("1 second")
    return [
        seconds.agg(**calls).query("short"),
        rows.filter("v > 50").window("1 second").agg(**calls).query("selected"),
        rows.window("90 seconds", every="30 seconds").agg(**calls).query("long"),
        rows.window("20 seconds").by("g").agg(n="count(*)", total="sum(v)").query("grouped"),
        rare.agg(n="count(*)", total="sum(v)", values="count(v)").query("rare"),
        rows.window("20 seconds").agg(**RANKED).query("ranked"),
        rows.window("20 seconds").by("g").agg(**RANKED).query("ranked_by"),
        rows.filter(f"id % {KEPT_OF} = 0").query("kept"),
        rows.window("2 seconds").agg(**DERIVED).query("derived"),
    ]


SCENARIO = Scenario(queries=_queries, shed=lambda step: Shed(codes=dict.fromkeys(QUERIES, CODES[step])))


def test_the_journal_holds_the_rates_in_force(outcome: Outcome) -> None:
    """But of micro-batches that were planned before a restart, and done after it, what was decided is not there."""
    journal = outcome.journal.set_index("micro_batch_id")
    for step, rate in enumerate(RATES):
        entry = journal.loc[outcome.micro_batch_of(step)].to_dict()
        effective = entry["effective_sampling_rates"]
        assert entry["sampling_rate"] <= rate * (1 + 1e-9)
        if entry["reason"] != "unplanned":
            assert effective[prefixed(outcome.prefix, "short")] == pytest.approx(rate)
            assert entry["sampling_rate"] == pytest.approx(min(effective.values()))
    assert prefixed(outcome.prefix, "short") in journal.effective_sampling_rates[outcome.micro_batch_of(2)]


def test_about_as_many_rows_are_kept_as_the_rate_says(outcome: Outcome, rows: DrawnRows) -> None:
    asked = rows.those(rows["id"] % KEPT_OF == 0)
    kept = [json.loads(row.value_text or "")["id"] for row in outcome.rows("kept", kind="row")]
    assert sorted(kept) == sorted(asked.kept("kept")["id"])
    for step in SHED_STEPS:
        rate, offered = RATES[step], ROWS_PER_STEP / KEPT_OF
        count = (np.array(kept) // ROWS_PER_STEP == step).sum()
        assert abs(count - offered * rate) <= 3 * math.sqrt(offered * rate * (1 - rate)), f"step {step}"


def test_rows_of_set_valued_queries_say_their_rate(outcome: Outcome, rows: DrawnRows) -> None:
    rates = rows.rates("kept")
    for row in outcome.rows("kept", kind="row"):
        rate = rates[json.loads(row.value_text or "")["id"]]
        assert row.sampling_rate == pytest.approx(rate)
        assert row.rows_estimated == pytest.approx(1 / rate)
        assert row.exact == (rate == 1.0)


@pytest.mark.parametrize("query", ["short", "selected"])
@pytest.mark.parametrize("aggregate", ["n", "total"])
def test_estimates_are_unbiased_with_true_standard_errors(
    outcome: Outcome, rows: DrawnRows, query: str, aggregate: str
) -> None:
    deviations = list(_standardized(outcome, rows, query, aggregate))
    count = len(deviations)
    assert count >= len(SHED_STEPS) * STEP_SECONDS
    assert abs(sum(deviations)) <= 3 * math.sqrt(count)
    assert abs(sum(deviation**2 for deviation in deviations) - count) <= 3 * math.sqrt(2 * count) * 1.5


def _standardized(outcome: Outcome, rows: DrawnRows, query: str, aggregate: str) -> Iterator[float]:
    """(estimate − truth) / true standard deviation, of each window that was sampled, at its one rate."""
    taken = rows.those(ASKED[query].where(rows))
    for row in outcome.rows(query):
        if row.aggregate != aggregate or row.exact:
            continue
        inside = taken.inside(row)
        values, rate = inside["v"] if aggregate == "total" else np.ones(len(inside)), inside.rates(query)[0]
        assert row.value is not None
        yield (row.value - values.sum()) / math.sqrt((values**2).sum() * (1 - rate) / rate)


@pytest.mark.parametrize("aggregate", ["n", "total", "mean"])
def test_intervals_cover_the_truth_as_often_as_they_say(outcome: Outcome, rows: DrawnRows, aggregate: str) -> None:
    covered = []
    for row in outcome.rows("short"):
        if row.aggregate == aggregate and not row.exact:
            values = rows.inside(row)["v"]
            truth = {"n": len(values), "total": values.sum(), "mean": values.mean()}[aggregate]
            assert row.lower is not None
            assert row.upper is not None
            covered.append(row.lower <= truth <= row.upper)
    deviation = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(covered))
    assert sum(covered) / len(covered) >= CONFIDENCE - 3 * deviation - 0.03


def test_windows_of_which_no_row_was_kept_are_answered(outcome: Outcome, rows: DrawnRows) -> None:
    answers = outcome.rows("rare")
    seconds = {seconds_of(row.window_start) for row in answers if row.aggregate == "n"}
    assert seconds >= set(range(STEPS * STEP_SECONDS))
    blind = [row for row in answers if not row.exact and row.rows_used == 0]
    assert len(blind) > 100
    for row in blind:
        assert (row.reason, row.low) == ("no row kept", row.aggregate == "total")
        if row.aggregate == "total":
            assert (row.value, row.lower, row.upper, row.standard_error) == (None, None, None, None)
        else:
            assert (row.value, row.lower, row.standard_error) == (0.0, 0.0, 0.0)
            # As many rows N that none is kept with (1 − P)^N = (1 − c)/2.
            none_kept = math.log1p(-rows.inside(row).rates("rare")[0])
            assert row.upper == pytest.approx(math.log((1 - CONFIDENCE) / 2) / none_kept)
    empty = [row for row in answers if row.exact and row.rows_used == 0]
    assert {(row.aggregate, row.value, row.upper) for row in empty} == {
        ("n", 0.0, 0.0),
        ("values", 0.0, 0.0),
        ("total", None, None),
    }


def test_rare_rows_that_were_kept_are_scaled(outcome: Outcome, rows: DrawnRows) -> None:
    rare = rows.those(rows["rare"] == 1)
    kept = rare.kept("rare")
    for row in outcome.rows("rare"):
        used = kept.inside(row)
        assert row.rows_used == len(used)
        if row.aggregate != "total":
            assert row.value == pytest.approx((1 / used.rates("rare")).sum())
        assert row.exact == bool((rows.inside(row).codes("rare") == 0).all())
    assert 0 < len(kept) < len(rare)


def test_groups_are_scaled_each_on_its_own(outcome: Outcome, rows: DrawnRows) -> None:
    deviations = []
    for row in outcome.rows("grouped"):
        inside = ASKED["grouped"].group(rows, row)
        truth = len(inside) if row.aggregate == "n" else inside["v"].sum()
        if row.exact:
            assert row.value == truth
        elif not row.low:
            assert row.value is not None
            assert row.standard_error is not None
            deviations.append((row.value - truth) / row.standard_error)
    assert len(deviations) > 15
    assert np.mean(np.abs(deviations) < 3) > 0.97


def test_arithmetic_is_over_what_the_kept_rows_tell_within_bounds_that_hold(outcome: Outcome, rows: DrawnRows) -> None:
    kept, held = rows.kept("derived"), []
    for row in outcome.rows("derived"):
        sample, inside = kept.inside(row), rows.inside(row)
        value = _worked_out(str(row.aggregate), sample, sample.rates("derived"))
        truth = _worked_out(str(row.aggregate), inside, np.ones(len(inside)))
        is_whole = bool((inside.codes("derived") == WHOLE).all())
        assert row.exact == is_whole
        assert row.value == (None if value is None else pytest.approx(value, rel=1e-9))
        if is_whole:
            assert (row.lower, row.upper) == (row.value, row.value)
        elif row.lower is not None and not row.low:
            assert row.upper is not None
            assert truth is not None
            held.append(row.lower <= truth <= row.upper)
    assert len(held) > STEPS
    assert sum(held) >= binom.ppf(0.001, len(held), CONFIDENCE)


def _worked_out(aggregate: str, rows: DrawnRows, rates: np.ndarray) -> float | None:
    """A derived answer of rows, each counted by its rate; of all of a window, by 1."""
    if not len(rows):
        return None
    values, weights = rows["v"].astype(float), 1 / rates
    if aggregate == "percent":
        return float(100 * (weights * (values > 50)).sum() / weights.sum())
    return float((weights * values).sum() / (weights * (values + rows["id"] % 10)).sum())


@pytest.mark.parametrize("query", ["ranked", "ranked_by"])
def test_quantiles_lie_within_their_bounds(outcome: Outcome, rows: DrawnRows, query: str) -> None:
    held, exact = [], 0
    groups = Asked(size=20, by=(lambda rows: rows["g"]) if query == "ranked_by" else None)
    for row in outcome.rows(query):
        inside = groups.group(rows, row)
        if not len(inside):
            continue
        truth = float(np.quantile(inside["v"], SHARES[str(row.aggregate)], method="inverted_cdf"))
        if row.exact:
            assert row.value == truth
            exact += 1
        elif not row.low:
            assert row.reason == ("sketched" if row.sampling_rate == 1.0 else "sampled")
            held.append((row.lower or -math.inf) <= truth <= (row.upper or math.inf))
    assert len(held) >= 2 * STEPS * STEP_SECONDS / 20 - 2
    assert sum(held) >= binom.ppf(0.001, len(held), CONFIDENCE)
    assert exact or query == "ranked", "groups of few rows are exact where nothing was shed"
