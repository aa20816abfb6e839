"""Row groups that are left unread: the same ones after a kill, and answers that tell how far off they may be for it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from scipy.stats import t

from streamshed.network.model.query import Query
from streamshed.network.terms.join_shedding import COHORTS
from streamshed.planning.place.row_group_cut import RowGroupCut
from streamshed.planning.tree.quantization import sampling_rate_of
from tests.spark.event_times import instants, seconds_of
from tests.spark.harness import Found
from tests.spark.trunks.checks import (
    test_no_row_is_late,  # noqa: F401
)
from tests.spark.trunks.drawn_rows import FILE_ROW, drawn_numbers
from tests.spark.trunks.inputs import STEP, Input
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample import CODES, CONFIDENCE, SHED_STEPS
from tests.spark.trunks.sample.events import STEP_SECONDS, STEPS
from tests.spark.trunks.scenario import Scenario, Setting, Shed

ROW_GROUPS, ROWS_EACH = 100, 60
READ = (1.0, 0.5, 0.25, 0.3, 1.0)
"""By step, the share of its rows that is to be read: more than that of the rows that are in a sample."""
LEAST_COHORTS = 8
"""With rows in fewer of them, nobody knows how many there are in row groups that were not read."""
QUERIES = ("all", "few")
WINDOW_SECONDS = 30


def _rows() -> list[pa.Table]:
    """Each row group has rows of the whole step; its values are near one another."""
    size, chance = ROW_GROUPS * ROWS_EACH, np.random.default_rng(8)
    levels = np.repeat(chance.normal(100.0, 20.0, ROW_GROUPS), ROWS_EACH)
    return [
        pa.table(
            {
                "ts": instants(step * STEP_SECONDS + chance.random(size) * (STEP_SECONDS - 0.01)),
                "v": (levels + chance.normal(0.0, 5.0, size)).astype(np.int64),
            }
        )
        for step in range(STEPS)
    ]


GROUPED_FILES = Input(
    name="row_groups",
    steps=_rows,
    write=lambda path, rows: parquet.write_table(rows, path, row_group_size=ROWS_EACH),
    schema="ts timestamp, v bigint",
    settings={"time": "ts", "watermark": "61 seconds"},
)


def _queries(setting: Setting) -> Iterable[Query]:
    rows = setting["row_groups"]
    calls = {"n": "count(*)", "total": "sum(v)", "mean": "avg(v)"}
    return [
        rows.window(f"{WINDOW_SECONDS} seconds").agg(**calls).query("all"),
        rows.filter("v > 120").window(f"{WINDOW_SECONDS} seconds").agg(**calls).query("few"),
    ]


SCENARIO = Scenario(
    queries=_queries,
    inputs=(GROUPED_FILES,),
    shed=lambda step: Shed(
        codes=dict.fromkeys(QUERIES, CODES[step]), read_shares={"row_groups": READ[step]} if READ[step] < 1 else {}
    ),
)


@pytest.fixture(scope="module")
def cuts(outcome: Outcome) -> dict[int, RowGroupCut | None]:
    """By step, what the plan says."""
    plans = outcome.plans()
    return {
        step: plans[number].streams["row_groups"].row_groups for step, number in outcome.readers("row_groups").items()
    }


def test_just_more_rows_are_read_than_was_asked(cuts: dict[int, RowGroupCut | None]) -> None:
    for step, cut in cuts.items():
        assert (cut is None) == (READ[step] == 1)
        assert cut is None or READ[step] <= cut.share < READ[step] + 1.5 / ROW_GROUPS


class Kept:
    """The rows that are to be kept of each step, by what plain Spark hashes files, row groups and rows to."""

    def __init__(self, outcome: Outcome, cuts: dict[int, RowGroupCut | None], spark: SparkSession) -> None:
        rows, self._cuts = outcome.table("row_groups"), cuts
        drawn = drawn_numbers(spark, str(outcome.cast.path / "in" / "row_groups"), "row_groups", FILE_ROW)
        paths = drawn.path.str.removeprefix("file://").to_numpy()
        self.steps = np.asarray(rows[STEP])
        self.values = np.asarray(rows["v"], np.float64)
        self.seconds = np.asarray(rows["ts"].cast("int64")) / 1e6
        self.row_groups = drawn.number.to_numpy() // ROWS_EACH
        self._drawn, self._paths = drawn.u.to_numpy(), paths
        places = spark.createDataFrame(
            [(path, number * ROWS_EACH) for path in sorted(set(paths)) for number in range(ROW_GROUPS)],
            "path string, first bigint",
        )
        hashed = F.xxhash64(F.lit("row_groups row group"), "path", "first")
        u = F.shiftrightunsigned(hashed, 11) * F.lit(2.0**-53)
        drawn_by_place = {(row.path, row.first): row.u for row in places.withColumn("u", u).collect()}
        self._of_row_groups = np.array(
            [drawn_by_place[path, number * ROWS_EACH] for path, number in zip(paths, self.row_groups, strict=True)]
        )

    @cache  # noqa: B019 - it lives as long as the module's tests
    def of(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Which rows of a step are kept, and the cohort of each row, as far as its row group is read."""
        cut, is_here = self._cuts[step], self.steps == step
        if cut is None:
            return is_here, np.zeros(len(self.steps), np.int64)
        is_read = self._of_row_groups < cut.limits[-1]
        below = sum((self._of_row_groups >= limit).astype(np.int64) for limit in cut.limits)
        rate = sampling_rate_of(CODES[step])
        return is_here & is_read & (self._drawn * cut.share < rate), (below + cut.turn) % COHORTS


@pytest.fixture(scope="module")
def kept(outcome: Outcome, cuts: dict[int, RowGroupCut | None], spark: SparkSession) -> Kept:
    return Kept(outcome, cuts, spark)


def _step(row: Found) -> int:
    return int(seconds_of(row.window_start)) // STEP_SECONDS


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_of_the_rows_that_were_to_be_kept(outcome: Outcome, kept: Kept, query: str) -> None:
    answers = outcome.rows(query)
    assert len({(row.window_start, row.aggregate) for row in answers}) == len(answers) == 3 * 2 * STEPS
    epoch = kept.seconds.min() - kept.seconds.min() % STEP_SECONDS
    for row in answers:
        step, since = _step(row), seconds_of(row.window_start)
        is_kept, cohorts = kept.of(step)
        inside = (kept.seconds >= epoch + since) & (kept.seconds < epoch + since + WINDOW_SECONDS)
        chosen = is_kept & inside & ((kept.values > 120) if query == "few" else True)
        values, rate = kept.values[chosen], sampling_rate_of(CODES[step])
        assert (row.rows_used, row.exact) == (len(values), step not in SHED_STEPS)
        estimates = {"n": len(values) / rate, "total": values.sum() / rate, "mean": values.mean()}
        assert row.value == pytest.approx(estimates[str(row.aggregate)])
        if not row.exact:
            _check_bounds(row, values, cohorts[chosen], rate)


def _check_bounds(row: Found, values: np.ndarray, cohorts: np.ndarray, rate: float) -> None:
    """V = K/(K − 1)·(1 − P)·Σ(Z_k − mean Z)², of an average over N²."""
    mean = values.mean()
    brought = {"n": np.ones(len(values)), "total": values, "mean": values - mean}[str(row.aggregate)]
    sums = np.bincount(cohorts, brought, COHORTS) / rate
    variance = COHORTS / (COHORTS - 1) * (1 - rate) * ((sums - sums.mean()) ** 2).sum()
    error = math.sqrt(variance) / (len(values) / rate if row.aggregate == "mean" else 1.0)
    count = len(set(cohorts.tolist()))
    assert row.low or count == COHORTS
    if count < LEAST_COHORTS:
        assert (row.upper, row.standard_error) == (None, None)
        assert row.lower == (len(values) if row.aggregate == "n" else None)
        return
    assert row.standard_error == pytest.approx(error, rel=1e-6)
    assert row.value is not None
    assert row.upper is not None
    assert row.upper - row.value == pytest.approx(t.ppf(0.5 + CONFIDENCE / 2, count - 1) * error, rel=1e-6)


def test_bounds_are_far_wider_than_if_rows_had_been_drawn(outcome: Outcome) -> None:
    """The values of a row group are near one another."""
    means = [row for row in outcome.rows("all") if row.aggregate == "mean" and not row.exact]
    assert len(means) == 2 * len(SHED_STEPS)
    assert all(row.standard_error > 20.0 / math.sqrt(row.rows_used) * 1.2 for row in means if row.standard_error)
