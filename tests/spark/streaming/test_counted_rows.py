"""Rows counted above a function: answers are nearer, bounds as true, and where nothing is shed nothing changes."""

from __future__ import annotations

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
from streamshed.planning.quantization import WHOLE
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, Found, finish

ROWS, SECONDS = 240_000, 30
SHED_FROM = 124_000
"""The first row of the second micro-batch, in the middle of a window: the first one loses none."""
CODES = {"judged": 20, "plain": 24}
COUNTING = {"judged": 2}
IDS = np.arange(ROWS)
VALUES = np.random.default_rng(11).exponential(10.0, ROWS) + 5.0


def _judge(values: pd.Series) -> pd.Series:
    return values * 2.0


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v double", max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    judged = rows.filter("id % 2 = 0").apply(_judge, columns=["v"], into="score", returns="double")
    calls = {"n": "count(*)", "total": "sum(score)", "mean": "avg(score)"}
    return network(
        judged.filter("score > 25").window("1 second").agg(**calls).query("judged"),
        rows.filter("id % 2 = 0").window("1 second").agg(n="count(*)").query("plain"),
    )


@dataclass(frozen=True)
class Answered:
    """What was answered with and without rows being counted."""

    counted: Collected
    scaled: Collected


def _collected(spark: SparkSession, path: Path, counting: Mapping[str, int]) -> Collected:
    instants = EPOCH_MICROSECONDS + IDS * (SECONDS * 1_000_000) // ROWS
    table = pa.table({"id": IDS, "ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": VALUES})
    write_parquet(path / "in" / "0.parquet", table.slice(0, SHED_FROM))
    write_parquet(path / "in" / "1.parquet", table.slice(SHED_FROM))
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda number: dict.fromkeys(CODES, WHOLE) if number == 0 else CODES, None, counting)
        run = _network(path).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, 1)
    return collected


@pytest.fixture(scope="module")
def answered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    found = [_collected(spark, tmp_path_factory.mktemp("counted"), counting) for counting in (COUNTING, {})]
    return Answered(*found)


def second_of(row: Found) -> int:
    return round(row.window_start.timestamp() - EPOCH_MICROSECONDS / 1e6)


def true(row: Found) -> float:
    """What is true of a window."""
    of_window = (second_of(row) == IDS // (ROWS // SECONDS)) & (IDS % 2 == 0)
    if row.query == "plain":
        return float(of_window.sum())
    chosen = of_window & (VALUES * 2 > 25)
    scores = VALUES[chosen] * 2
    return float({"n": chosen.sum(), "total": scores.sum(), "mean": scores.mean()}[row.aggregate or ""])


def rows_of(collected: Collected, aggregate: str, *, exact: bool = False) -> list[Found]:
    return [row for row in collected.rows("judged") if row.aggregate == aggregate and row.exact is exact]


@pytest.mark.parametrize("aggregate", ["n", "total"])
def test_answers_are_as_far_off_as_they_say(answered: Answered, aggregate: str) -> None:
    rows = rows_of(answered.counted, aggregate)
    assert len(rows) >= SECONDS - SHED_FROM * SECONDS // ROWS
    off = sum((row.value or 0.0) - true(row) for row in rows)
    error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in rows))
    assert error > 0
    assert abs(off) <= 4 * error
    held = [row.lower is not None and row.upper is not None and row.lower <= true(row) <= row.upper for row in rows]
    assert np.mean(held) >= 0.75


@pytest.mark.parametrize(("aggregate", "share"), [("n", 0.6), ("total", 0.8)])
def test_they_are_nearer_than_without(answered: Answered, aggregate: str, share: float) -> None:
    """Half of the rows pass: half of a count's squared error is left, and what is lost by not counting all of them."""
    squared = [
        sum((row.standard_error or 0.0) ** 2 for row in rows_of(collected, aggregate))
        for collected in (answered.counted, answered.scaled)
    ]
    assert 0 < squared[0] <= share * squared[1]
    off = [
        sum(((row.value or 0.0) - true(row)) ** 2 for row in rows_of(collected, aggregate))
        for collected in (answered.counted, answered.scaled)
    ]
    assert off[0] < off[1]


def test_samples_are_the_same(answered: Answered) -> None:
    """The same rows are kept, and an average is what it was."""
    for aggregate in ("n", "total", "mean"):
        pairs = zip(rows_of(answered.counted, aggregate), rows_of(answered.scaled, aggregate), strict=True)
        assert all(one.rows_used == other.rows_used for one, other in pairs)
    means = [[row.value for row in rows_of(collected, "mean")] for collected in (answered.counted, answered.scaled)]
    assert means[0] == pytest.approx(means[1])


def test_where_nothing_was_shed_answers_are_exact(answered: Answered) -> None:
    for aggregate in ("n", "total"):
        rows = rows_of(answered.counted, aggregate, exact=True)
        # One second less than there are: what has a watermark of one second might have come later.
        assert len(rows) == SHED_FROM * SECONDS // ROWS - 1
        assert [row.value for row in rows] == pytest.approx([true(row) for row in rows], rel=1e-9)
        assert all(row.reason is None for row in rows)


def test_others_have_the_rows_that_they_had(answered: Answered) -> None:
    plain = [collected.rows("plain") for collected in (answered.counted, answered.scaled)]
    assert [row.rows_used for row in plain[0]] == [row.rows_used for row in plain[1]]
    assert [row.value for row in plain[0]] == [row.value for row in plain[1]]


def test_nothing_is_told_twice(answered: Answered) -> None:
    keys = [(row.query, row.window_start, row.aggregate) for row in answered.counted.rows()]
    assert len(keys) == len(set(keys))
    assert not answered.counted.rows(kind="late")
