"""Rows chosen by size: heavy tails are summed from few rows, and every bound is as true as it is of others."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import QueryNetwork, network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.planning.quantization import sampling_rate_of
from streamshed.planning.query_rates import SizedRate
from streamshed.sharing.gating import STEP
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish

ROWS, SECONDS, THRESHOLD = 60_000, 30, 100.0
CODES = {"bytes": 40, "selected": 48, "judged": 40, "alike": 48, "rows": 64}
BASE = {"bytes": 48, "selected": 56, "judged": 56}
SIZED = {query: SizedRate(column="v", threshold=THRESHOLD, code=code) for query, code in BASE.items()}
IDS = np.arange(ROWS)
VALUES = np.random.default_rng(7).pareto(1.3, ROWS) * 60 * np.where(IDS % 3, 1, -1)
VALUES[::500] = np.nan
NONE_AT = {5, 77, 4_001}
"""Rows whose value is null."""
HUGE_AT = 9
"""A row with a value beyond all bounds."""


def _judge(values: pd.Series) -> pd.Series:
    return values.notna()


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v double")
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    calls = {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)", "values": "count(v)"}
    finite = rows.filter("abs(v) < 1e100")
    judged = finite.filter("id >= 0").apply(_judge, columns=["v"], into="verdict", returns="boolean")
    return network(
        finite.window("1 second").agg(**calls).query("bytes"),
        finite.filter("v > 150").window("1 second").agg(**calls).query("selected"),
        judged.filter("verdict").window("10 seconds").agg(**calls).query("judged"),
        rows.filter("id % 2 = 0").window("1 second").agg(**calls).query("alike"),
        rows.query("rows"),
    )


def lifts() -> np.ndarray:
    """How many times likelier each row is kept, in the steps in which sizes are told apart."""
    times = np.abs(VALUES) / THRESHOLD
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.floor(np.log10(times) * (32 / STEP) + 0.5)
    steps = np.where(times > 1, steps, 0)
    return 10 ** (steps * STEP / 32)


@dataclass(frozen=True)
class Answered:
    """What was answered, by query and aggregate over all windows, and what is true."""

    collected: Collected

    def total(self, query: str, aggregate: str) -> tuple[float, float]:
        """Estimate and standard error of the sum of all windows."""
        rows = [row for row in self.collected.rows(query) if row.aggregate == aggregate]
        error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in rows))
        return sum(row.value or 0.0 for row in rows), error


@pytest.fixture(scope="module")
def answered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    path = tmp_path_factory.mktemp("sizes")
    instants = EPOCH_MICROSECONDS + IDS * (SECONDS * 1_000_000) // ROWS
    values = np.array([None if n in NONE_AT else value for n, value in enumerate(VALUES)], dtype=object)
    values[HUGE_AT] = float("inf")
    table = pa.table(
        {"id": IDS, "ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": pa.array(values, pa.float64())}
    )
    write_parquet(path / "in" / "0.parquet", table)
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: CODES, SIZED)
        run = _network(path).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, 0)
    return Answered(collected)


def truths() -> Mapping[str, np.ndarray]:
    finite = np.isfinite(VALUES)
    finite[[*NONE_AT, HUGE_AT]] = False
    with np.errstate(invalid="ignore"):
        return {"bytes": finite, "selected": finite & (VALUES > 150), "judged": finite}


@pytest.mark.parametrize("query", BASE)
@pytest.mark.parametrize("aggregate", ["n", "total", "values"])
def test_estimates_are_of_the_whole(answered: Answered, query: str, aggregate: str) -> None:
    chosen = truths()[query]
    true = VALUES[chosen].sum() if aggregate == "total" else chosen.sum()
    estimated, error = answered.total(query, aggregate)
    assert error > 0
    assert abs(estimated - true) <= 4 * error


@pytest.mark.parametrize("query", BASE)
def test_standard_errors_are_those_of_the_chances(answered: Answered, query: str) -> None:
    chosen = truths()[query]
    chances = np.minimum(1.0, sampling_rate_of(BASE[query]) * lifts())[chosen]
    for aggregate, parts in (("n", np.ones(len(chances))), ("total", VALUES[chosen])):
        true = math.sqrt((parts**2 * (1 - chances) / chances).sum())
        assert answered.total(query, aggregate)[1] == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize("query", BASE)
def test_as_many_rows_are_kept_as_their_chances_say(answered: Answered, query: str) -> None:
    chances = np.minimum(1.0, sampling_rate_of(BASE[query]) * lifts())[truths()[query]]
    kept = sum(row.rows_used for row in answered.collected.rows(query) if row.aggregate == "n")
    assert abs(kept - chances.sum()) <= 4 * math.sqrt((chances * (1 - chances)).sum())


def test_a_sum_is_far_nearer_than_from_as_many_rows_that_are_all_alike(answered: Answered) -> None:
    chosen = truths()["bytes"]
    kept = sum(row.rows_used for row in answered.collected.rows("bytes") if row.aggregate == "n")
    share = kept / chosen.sum()
    if_alike = math.sqrt((VALUES[chosen] ** 2).sum() * (1 - share) / share)
    assert answered.total("bytes", "total")[1] < 0.4 * if_alike


def test_no_answer_claims_to_be_exact(answered: Answered) -> None:
    for query in BASE:
        rows = answered.collected.rows(query)
        assert rows
        assert not any(row.exact for row in rows)


@pytest.mark.parametrize("query", BASE)
def test_bounds_hold_as_often_as_they_say(answered: Answered, query: str) -> None:
    chosen, width = truths()[query], 10 if query == "judged" else 1
    per_window = ROWS * width // SECONDS
    held = []
    for row in answered.collected.rows(query):
        window = (row.window_start.timestamp() * 1_000_000 - EPOCH_MICROSECONDS) / 1e6 / width
        of_window = chosen & (IDS // per_window == round(window))
        true = VALUES[of_window].sum() if row.aggregate == "total" else of_window.sum()
        if row.aggregate != "mean" and row.lower is not None and row.upper is not None:
            held.append(row.lower <= true <= row.upper)
    assert np.mean(held) >= 0.87


def test_others_are_sampled_as_ever(answered: Answered) -> None:
    """A row that large values alone have brought past the first sampler is nothing to a query that does not want it."""
    kept = {json.loads(row.value_text or "")["id"] for row in answered.collected.rows("rows", kind="row")}
    rate = sampling_rate_of(CODES["rows"])
    assert abs(len(kept) - ROWS * rate) <= 4 * math.sqrt(ROWS * rate)
    alike = [row for row in answered.collected.rows("alike") if row.aggregate == "n"]
    rate = sampling_rate_of(CODES["alike"])
    assert all(row.sampling_rate == pytest.approx(rate) for row in alike)
    used = sum(row.rows_used for row in alike)
    assert abs(used - ROWS / 2 * rate) <= 4 * math.sqrt(ROWS / 2 * rate)
