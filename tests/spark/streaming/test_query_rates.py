"""Each query at an effective sampling rate of its own: samples are nested, operators see what is asked for below."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
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
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.forced import force_sampling
from tests.spark.streaming.harness import QUICK, Collected, finish

ROWS, SECONDS = 40_000, 20
CODES = {"whole": 0, "some": 16, "kept": 20, "judged": 32, "few": 40, "by_verdict": 24}
RATES = {query: sampling_rate_of(code) for query, code in CODES.items()}
IDS = np.arange(ROWS)
VALUES = (IDS * 7919) % 1009


@dataclass(frozen=True)
class Answered:
    """What was answered, and how many rows the function was given."""

    collected: Collected
    rows_judged: int

    def ids(self, query: str) -> set[int]:
        return {json.loads(row.value_text or "")["id"] for row in self.collected.rows(query, kind="row")}


def judging(log: Path) -> Callable[[pd.Series], pd.Series]:
    """A function that writes down how many rows it is given."""

    def judge(values: pd.Series) -> pd.Series:
        with log.open("a") as lines:
            lines.write(f"{len(values)}\n")
        return values % 7

    return judge


def _network(path: Path) -> QueryNetwork:
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v bigint")
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    judged = rows.filter("v >= 0").apply(judging(path / "log"), columns=["v"], into="verdict", returns="bigint")
    calls = {"n": "count(*)", "total": "sum(v)"}
    return network(
        rows.window("1 second").agg(**calls).query("whole"),
        rows.filter("v > 50").window("1 second").agg(**calls).query("some"),
        rows.query("kept"),
        judged.filter("verdict = 1").window("10 seconds").agg(**calls).query("judged"),
        judged.filter("verdict = 2").query("few"),
        judged.window("20 seconds").by("verdict").agg(**calls).query("by_verdict"),
    )


@pytest.fixture(scope="module")
def answered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    path = tmp_path_factory.mktemp("rates")
    instants = EPOCH_MICROSECONDS + IDS * (SECONDS * 1_000_000) // ROWS
    table = pa.table({"id": IDS, "ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": VALUES})
    write_parquet(path / "in" / "0.parquet", table)
    collected = Collected()
    with pytest.MonkeyPatch.context() as patch:
        force_sampling(patch, lambda _: CODES)
        run = _network(path).start(spark, checkpoint=str(path / "checkpoint"), sink=collected, **QUICK)
        finish(run, 0)
    return Answered(collected, sum(map(int, (path / "log").read_text().split())))


def test_a_query_that_is_not_shed_is_exact_beside_others_that_are(answered: Answered) -> None:
    rows = [row for row in answered.collected.rows("whole") if row.aggregate == "n"]
    assert len(rows) == SECONDS
    assert all(row.exact and row.value == ROWS / SECONDS for row in rows)


@pytest.mark.parametrize("query", ["some", "judged", "by_verdict"])
def test_others_say_at_which_rate_they_were_sampled(answered: Answered, query: str) -> None:
    rows = answered.collected.rows(query)
    assert rows
    for row in rows:
        assert not row.exact
        assert row.sampling_rate == pytest.approx(RATES[query])
        assert row.rows_used / row.rows_estimated == pytest.approx(RATES[query])


TRUTHS = {"some": VALUES > 50, "judged": VALUES % 7 == 1, "by_verdict": VALUES >= 0}


@pytest.mark.parametrize("query", TRUTHS)
def test_estimates_are_of_the_whole(answered: Answered, query: str) -> None:
    for aggregate, values in (("n", np.ones(ROWS)), ("total", VALUES)):
        rows = [row for row in answered.collected.rows(query) if row.aggregate == aggregate]
        estimated = sum(row.value or 0.0 for row in rows)
        error = math.sqrt(sum((row.standard_error or 0.0) ** 2 for row in rows))
        assert abs(estimated - values[TRUTHS[query]].sum()) <= 4 * error


def test_samples_are_nested(answered: Answered) -> None:
    kept, few = answered.ids("kept"), answered.ids("few")
    assert abs(len(kept) - ROWS * RATES["kept"]) <= 4 * math.sqrt(ROWS * RATES["kept"])
    of_few = int((VALUES % 7 == 2).sum()) * RATES["few"]
    assert abs(len(few) - of_few) <= 4 * math.sqrt(of_few)
    assert few < kept


def test_a_dear_function_is_given_only_what_is_asked_for_behind_it(answered: Answered) -> None:
    """Once on the way to windows, and once on that of rows that are answers themselves."""
    widest = max(RATES[query] for query in ("judged", "few", "by_verdict"))
    assert abs(answered.rows_judged / 2 - ROWS * widest) <= 4 * math.sqrt(ROWS * widest)
