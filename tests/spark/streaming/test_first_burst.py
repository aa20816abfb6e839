"""The very first loaded micro-batch of a burst is shed already: its size is known before it runs."""

from __future__ import annotations

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
from tests.spark.streaming.calibrated import calibrate
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.harness import Collected, wait_for_micro_batch, wait_until

TRIGGER_SECONDS = 3.0
HEADROOM = 0.8
FIXED_SECONDS = 0.8
SECONDS_PER_ROW = 1e-4
CAPACITY = round((HEADROOM * TRIGGER_SECONDS - FIXED_SECONDS) / SECONDS_PER_ROW)
BURST_ROWS = 5 * CAPACITY
WINDOWS = 10


@dataclass(frozen=True)
class Burst:
    """What was answered, and the journal's row of the micro-batch that brought the burst."""

    collected: Collected
    decision: pd.Series


@pytest.fixture(scope="module", params=["in the first micro-batch", "after idle ones"])
def burst(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Burst:
    path = tmp_path_factory.mktemp("burst")
    queries = _network(path)
    calibrate(
        queries,
        path / "checkpoint" / "time" / "control.json",
        fixed_seconds=FIXED_SECONDS,
        seconds_per_row=SECONDS_PER_ROW,
        rows_of=[0, CAPACITY // 2, CAPACITY],
        trigger_interval_seconds=TRIGGER_SECONDS,
    )
    collected = Collected()
    is_first = request.param == "in the first micro-batch"
    if is_first:
        _write_burst(path)
    run = queries.start(
        spark,
        checkpoint=str(path / "checkpoint"),
        sink=collected,
        trigger=f"{TRIGGER_SECONDS} seconds",
        headroom=HEADROOM,
        partitions=1,
    )
    with run:
        if not is_first:
            wait_for_micro_batch(run, 1)
            _write_burst(path)
        wait_until(run, lambda: int(run.journal().get("offered_rows", pd.Series([0])).sum()) > 0, "the burst")
        assert run.drain()
    journal = run.journal()
    decision = journal[journal.offered_rows == BURST_ROWS].iloc[0]
    assert (decision.micro_batch_id == 0) == is_first
    return Burst(collected, decision)


def _network(path: Path) -> QueryNetwork:
    (path / "in").mkdir()
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v bigint")
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    return network(rows.window("1 second").agg(n="count(*)", total="sum(v)").query("q"))


def _write_burst(path: Path) -> None:
    numbers = np.arange(BURST_ROWS)
    instants = EPOCH_MICROSECONDS + numbers * (WINDOWS * 1_000_000) // BURST_ROWS
    columns = {"id": numbers, "ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": numbers % 7}
    write_parquet(path / "in" / "burst.parquet", pa.table(columns))


def test_it_is_planned_for_the_rows_it_has(burst: Burst) -> None:
    assert burst.decision.sizes_known
    assert burst.decision.expected_offered_rows == BURST_ROWS
    assert burst.decision.unshed_seconds > 3 * burst.decision.budget_seconds


def test_it_is_shed_by_as_much_as_it_is_too_big(burst: Burst) -> None:
    assert burst.decision.reason in {"overload", "saturated"}
    assert burst.decision.sampling_rate < 1 / 3
    admitted = burst.decision.admitted_rows / BURST_ROWS
    assert admitted == pytest.approx(burst.decision.sampling_rate, rel=0.1)


def test_its_answers_are_estimates(burst: Burst) -> None:
    rows = burst.collected.rows("q")
    assert {row.window_start for row in rows} == {at(second) for second in range(WINDOWS)}
    truth = {"n": BURST_ROWS / WINDOWS, "total": 3 * BURST_ROWS / WINDOWS}
    for row in rows:
        assert not row.exact
        assert row.value is not None
        assert row.standard_error
        assert abs(row.value - truth[row.aggregate or ""]) < 4.5 * row.standard_error
