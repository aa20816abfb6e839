"""Answers from samples: scaled, unbiased, with true standard errors; exact only where the journal says so."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from scipy.stats import binom, t

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.quantization import sampling_rate_of
from tests.spark.streaming.files import EPOCH_MICROSECONDS, seconds_of, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish

pytestmark = pytest.mark.cluster

FILE_SECONDS = 60
ROWS_PER_FILE = 24_000
CODES = (0, 16, 40, 0)
"""Of the four files: whole, about a third, about a twentieth, whole again."""
RATES = tuple(sampling_rate_of(code) for code in CODES)
RANKED = {"middle": "median(v)", "top": "percentile_approx(v, 0.95)"}
CONFIDENCE = 0.9
QUANTILE = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True)
class Sampled:
    """What was answered, and all that there was: columns by name."""

    collected: Collected
    rows: dict[str, np.ndarray]
    journal_rates: list[float]


def _rows(number: int) -> dict[str, np.ndarray]:
    """Rows of one file, evenly spread; heavy tails, groups of very different size."""
    chance = np.random.default_rng(number)
    step = FILE_SECONDS * 1_000_000 // ROWS_PER_FILE
    offsets = number * FILE_SECONDS * 1_000_000 + step * np.arange(ROWS_PER_FILE)
    return {
        "id": number * ROWS_PER_FILE + np.arange(ROWS_PER_FILE),
        "ts": EPOCH_MICROSECONDS + offsets,
        "v": np.minimum(chance.pareto(2.5, ROWS_PER_FILE) * 100, 5000).astype(np.int64) + 1,
        "g": chance.geometric(0.5, ROWS_PER_FILE).astype(np.int64),
        "rare": (chance.random(ROWS_PER_FILE) < 0.001).astype(np.int64),
    }


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    calls = {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}
    return network(
        rows.window("1 second").agg(**calls).query("short"),
        rows.filter("v > 50").window("1 second").agg(**calls).query("selected"),
        rows.window("90 seconds", every="30 seconds").agg(**calls).query("long"),
        rows.window("20 seconds").by("g").agg(n="count(*)", total="sum(v)").query("grouped"),
        rows.filter("rare = 1").window("1 second").agg(n="count(*)", total="sum(v)", values="count(v)").query("rare"),
        rows.window("20 seconds").agg(**RANKED).query("ranked"),
        rows.window("20 seconds").by("g").agg(**RANKED).query("ranked_by"),
        rows.query("kept"),
    )


@pytest.fixture(scope="module")
def sampled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sampled:
    path = tmp_path_factory.mktemp("sampled")
    files = [_rows(number) for number in range(len(CODES))]
    for number, columns in enumerate(files):
        table = pa.table({**columns, "ts": pa.array(columns["ts"], pa.timestamp("us", "UTC"))})
        write_parquet(path / "in" / f"{number}.parquet", table)
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda number: {"events": dict(enumerate(CODES)).get(number, 0)})
        run = _network(path).start(
            spark, checkpoint=str(path / "checkpoint"), sink=collected, confidence=CONFIDENCE, **QUICK
        )
        finish(run, len(CODES))
    journal = run.journal().set_index("micro_batch_id")
    rows = {name: np.concatenate([columns[name] for columns in files]) for name in files[0]}
    return Sampled(collected, rows, [float(journal.sampling_rate[number]) for number in range(len(CODES))])


def test_the_journal_holds_the_rates_in_force(sampled: Sampled) -> None:
    assert sampled.journal_rates == pytest.approx(RATES)


def test_about_as_many_rows_are_kept_as_the_rate_says(sampled: Sampled) -> None:
    kept = _kept_ids(sampled)
    for number, rate in enumerate(RATES):
        first = number * ROWS_PER_FILE
        count = sum(first <= row < first + ROWS_PER_FILE for row in kept)
        deviation = math.sqrt(ROWS_PER_FILE * rate * (1 - rate))
        assert abs(count - ROWS_PER_FILE * rate) <= 3 * deviation, f"file {number}"


def test_rows_of_set_valued_queries_say_their_rate(sampled: Sampled) -> None:
    for row in sampled.collected.rows("kept", kind="row"):
        rate = RATES[int(seconds_of(row.window_start) // FILE_SECONDS)]
        assert row.sampling_rate == pytest.approx(rate)
        assert row.rows_estimated == pytest.approx(1 / rate)
        assert row.exact == (rate == 1.0)


@pytest.mark.parametrize("query", ["short", "selected", "long"])
def test_answers_are_those_of_the_kept_rows_scaled(sampled: Sampled, query: str) -> None:
    kept = np.isin(sampled.rows["id"], list(_kept_ids(sampled)))
    for row in sampled.collected.rows(query):
        inside = _in_window(sampled, row) & kept & _selected(sampled, query)
        values = sampled.rows["v"][inside].astype(float)
        rates = np.array(RATES)[sampled.rows["id"][inside] // ROWS_PER_FILE]
        value, error = _estimate(row.aggregate or "", values, rates)
        assert row.rows_used == inside.sum()
        assert row.rows_estimated == pytest.approx((1 / rates).sum())
        assert row.value == pytest.approx(value, rel=1e-9)
        if row.exact:
            assert (row.lower, row.upper, row.standard_error) == (row.value, row.value, 0.0)
            continue
        assert row.sampling_rate == pytest.approx(len(rates) / (1 / rates).sum())
        assert row.standard_error == pytest.approx(error, rel=1e-6, abs=1e-6)
        if row.aggregate in {"n", "values"}:
            _check_bounds_of_count(row, rates)
        else:
            effective = _effective_rows(row.aggregate or "", values, rates)
            quantile = QUANTILE if effective >= 100 else t.ppf(0.5 + CONFIDENCE / 2, max(effective - 1, 1))
            assert row.upper == pytest.approx(value + quantile * error, rel=1e-6)
            assert row.lower == pytest.approx(value - quantile * error, rel=1e-6)
            assert row.low == (effective < 100)
        assert (row.confidence, row.reason, row.value_text) == (CONFIDENCE, "sampled", None)


def _effective_rows(aggregate: str, values: np.ndarray, rates: np.ndarray) -> float:
    """(Σq)²/Σq², q = r²(1−P)/P² of the rows that were kept at a rate P below 1."""
    mean = (values / rates).sum() / (1 / rates).sum()
    contribution = values if aggregate == "total" else values - mean
    shares = contribution**2 * (1 - rates) / rates**2
    return float(shares.sum() ** 2 / (shares**2).sum())


def _check_bounds_of_count(row: Found, rates: np.ndarray) -> None:
    """Under a count at its bounds, so many or so few rows are kept at one rate with the probability of a tail."""
    assert row.lower is not None
    assert row.upper is not None
    assert row.value is not None
    count, tail = len(rates), (1 - CONFIDENCE) / 2
    assert count <= row.lower <= row.value * (1 + 1e-9)
    assert row.upper >= row.value
    if count and len(set(rates)) == 1:
        assert binom.cdf(count, math.ceil(row.upper), rates[0]) <= tail * (1 + 1e-6)
        assert binom.sf(count - 1, math.floor(row.lower), rates[0]) <= max(tail, rates[0] ** count) * (1 + 1e-6)
        assert binom.sf(count - 1, math.ceil(row.lower), rates[0]) >= tail * (1 - 1e-6)


def _estimate(aggregate: str, values: np.ndarray, rates: np.ndarray) -> tuple[float, float]:
    """Value and standard error of docs/answers.md, row by row."""
    weights, excess = 1 / rates, (1 - rates) / rates**2
    count, total = weights.sum(), (values * weights).sum()
    match aggregate:
        case "n":
            return count, math.sqrt(excess.sum())
        case "total":
            return total, math.sqrt((values**2 * excess).sum())
        case _:
            mean = total / count
            return mean, math.sqrt(((values - mean) ** 2 * excess).sum()) / count


@pytest.mark.parametrize("query", ["short", "selected"])
@pytest.mark.parametrize("aggregate", ["n", "total"])
def test_estimates_are_unbiased_with_true_standard_errors(sampled: Sampled, query: str, aggregate: str) -> None:
    deviations = list(_standardized(sampled, query, aggregate))
    count = len(deviations)
    assert count == 2 * FILE_SECONDS
    assert abs(sum(deviations)) <= 3 * math.sqrt(count)
    assert abs(sum(deviation**2 for deviation in deviations) - count) <= 3 * math.sqrt(2 * count) * 1.5


def _standardized(sampled: Sampled, query: str, aggregate: str) -> Iterator[float]:
    """(estimate − truth) / true standard deviation, of each window that was sampled at one rate."""
    for row in sampled.collected.rows(query):
        if row.aggregate != aggregate or row.exact:
            continue
        inside = _in_window(sampled, row) & _selected(sampled, query)
        values = sampled.rows["v"][inside] if aggregate == "total" else np.ones(inside.sum())
        rate = RATES[int(seconds_of(row.window_start) // FILE_SECONDS)]
        assert row.value is not None
        yield (row.value - values.sum()) / math.sqrt((values**2).sum() * (1 - rate) / rate)


@pytest.mark.parametrize("aggregate", ["n", "total", "mean"])
def test_intervals_cover_the_truth_as_often_as_they_say(sampled: Sampled, aggregate: str) -> None:
    covered = []
    for row in sampled.collected.rows("short"):
        if row.aggregate == aggregate and not row.exact:
            values = sampled.rows["v"][_in_window(sampled, row)]
            truth = {"n": len(values), "total": values.sum(), "mean": values.mean()}[aggregate]
            assert row.lower is not None
            assert row.upper is not None
            covered.append(row.lower <= truth <= row.upper)
    deviation = math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / len(covered))
    assert sum(covered) / len(covered) >= CONFIDENCE - 3 * deviation - 0.03


def test_only_windows_without_shed_micro_batches_are_exact(sampled: Sampled) -> None:
    first, last = FILE_SECONDS, 3 * FILE_SECONDS
    for query in ("short", "selected", "long", "grouped", "rare"):
        for row in sampled.collected.rows(query):
            assert row.window_end is not None
            began, ended = seconds_of(row.window_start), seconds_of(row.window_end)
            assert row.exact == (ended <= first or began >= last), f"{query} {row.window_start} {row.aggregate}"
    assert {row.exact for row in sampled.collected.rows("long")} == {True, False}


def test_windows_of_which_no_row_was_kept_are_answered(sampled: Sampled) -> None:
    answers = sampled.collected.rows("rare")
    assert {row.window_start for row in answers if row.aggregate == "n"} == _all_seconds(sampled)
    blind = [row for row in answers if not row.exact and row.rows_used == 0]
    assert len(blind) > 100
    for row in blind:
        rate = RATES[int(seconds_of(row.window_start) // FILE_SECONDS)]
        assert (row.reason, row.low, row.standard_error) == ("no row kept", True, 0.0)
        if row.aggregate == "total":
            assert (row.value, row.lower, row.upper) == (None, None, None)
        else:
            assert (row.value, row.lower) == (0.0, 0.0)
            assert row.upper == pytest.approx(math.log(2 / (1 - CONFIDENCE)) / rate)
    empty = [row for row in answers if row.exact and row.rows_used == 0]
    assert {(row.aggregate, row.value, row.upper) for row in empty} == {
        ("n", 0.0, 0.0),
        ("values", 0.0, 0.0),
        ("total", None, None),
    }


def test_groups_are_scaled_each_on_its_own(sampled: Sampled) -> None:
    deviations = []
    for row in sampled.collected.rows("grouped"):
        inside = _in_window(sampled, row) & (sampled.rows["g"] == int(row.key[0] or 0))
        truth = inside.sum() if row.aggregate == "n" else sampled.rows["v"][inside].sum()
        if row.exact:
            assert row.value == truth
        elif not row.low:
            assert row.value is not None
            assert row.standard_error is not None
            deviations.append((row.value - truth) / row.standard_error)
    assert len(deviations) > 15
    assert np.mean(np.abs(deviations) < 3) > 0.97


def _kept_ids(sampled: Sampled) -> set[int]:
    return {json.loads(row.value_text or "")["id"] for row in sampled.collected.rows("kept", kind="row")}


def _in_window(sampled: Sampled, row: Found) -> np.ndarray:
    assert row.window_end is not None
    instants = sampled.rows["ts"]
    begin, end = (EPOCH_MICROSECONDS + seconds_of(edge) * 1e6 for edge in (row.window_start, row.window_end))
    inside: np.ndarray = (instants >= begin) & (instants < end)
    return inside


_SELECTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"selected": lambda values: values > 50}


def _selected(sampled: Sampled, query: str) -> np.ndarray:
    values = sampled.rows["v"]
    return _SELECTIONS[query](values) if query in _SELECTIONS else np.full(len(values), fill_value=True)


def _all_seconds(sampled: Sampled) -> set[datetime]:
    return {row.window_start for row in sampled.collected.rows("short") if row.aggregate == "n"}


@pytest.mark.parametrize("query", ["ranked", "ranked_by"])
def test_quantiles_lie_within_their_bounds(sampled: Sampled, query: str) -> None:
    shares = {"middle": 0.5, "top": 0.95}
    held, exact = [], 0
    for row in sampled.collected.rows(query):
        start = EPOCH_MICROSECONDS + int(seconds_of(row.window_start) * 1_000_000)
        inside = (sampled.rows["ts"] >= start) & (sampled.rows["ts"] < start + 20_000_000)
        if row.key:
            inside &= sampled.rows["g"] == int(str(row.key[0]))
        truth = float(np.quantile(sampled.rows["v"][inside], shares[str(row.aggregate)], method="inverted_cdf"))
        if row.exact:
            assert row.value == truth
            exact += 1
        elif not row.low:
            assert row.reason == ("sketched" if row.sampling_rate == 1.0 else "sampled")
            held.append((row.lower or -math.inf) <= truth <= (row.upper or math.inf))
    assert len(held) >= 18
    assert sum(held) >= binom.ppf(0.001, len(held), CONFIDENCE)
    assert exact or query == "ranked", "groups of few rows are exact where nothing was shed"
