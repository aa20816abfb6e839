"""A burst of files is shed in the first micro-batch that has it: its size is known before it runs.

Of a topic, the same is tested by `make test`: tests/spark/kafka/test_shared_topic.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from tests.spark.event_times import EPOCH_MICROSECONDS, at
from tests.spark.files import write_parquet
from tests.spark.harness import Collected, finish, wait_for_micro_batch, wait_until
from tests.spark.streaming.calibrated import calibrate
from tests.spark.streaming.slow_machine import Machine, run_on
from tests.thoroughness import thorough

pytestmark = thorough

TRIGGER_SECONDS = 0.5
HEADROOM = 0.8
MACHINE = Machine(fixed_seconds=0.13, seconds_per_row=2e-5)
CAPACITY = round((HEADROOM * TRIGGER_SECONDS - MACHINE.fixed_seconds) / MACHINE.seconds_per_row)
BURST_ROWS = 5 * CAPACITY
WINDOWS = 10
BURSTS = ("in the first micro-batch", "after idle ones")


@dataclass(frozen=True)
class Bursts:
    """What was answered, and the journal's rows of the micro-batches that brought bursts."""

    collected: Collected
    decisions: pd.DataFrame


@pytest.fixture(scope="module")
def bursts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Bursts:
    path = tmp_path_factory.mktemp("burst")
    queries = _network(path)
    calibrate(
        queries,
        path / "checkpoint" / "time" / "control.json",
        fixed_seconds=MACHINE.fixed_seconds,
        seconds_per_row=MACHINE.seconds_per_row,
        rows_of=[0, CAPACITY // 2, CAPACITY],
        trigger_interval_seconds=TRIGGER_SECONDS,
    )
    collected = Collected()
    _write_burst(path, 0)
    with pytest.MonkeyPatch.context() as patch:
        run_on(patch, MACHINE)
        run = queries.start(
            spark,
            checkpoint=str(path / "checkpoint"),
            sink=collected,
            trigger=f"{TRIGGER_SECONDS} seconds",
            headroom=HEADROOM,
            partitions=1,
        )
    wait_for_micro_batch(run, 2)
    _write_burst(path, 1)
    wait_until(run, lambda: _offered(run.journal()) == 2 * BURST_ROWS, "the second burst")
    finish(run, 3)
    journal = run.journal()
    decisions = journal[journal.offered_rows == BURST_ROWS].reset_index()
    assert [number == 0 for number in decisions.micro_batch_id] == [True, False]
    return Bursts(collected, decisions)


def _offered(journal: pd.DataFrame) -> int:
    return int(journal.get("offered_rows", pd.Series([0])).sum())


def _network(path: Path) -> QueryNetwork:
    (path / "in").mkdir()
    source = folder(path / "in", "parquet", schema="id bigint, ts timestamp, v bigint")
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    return network(rows.window("1 second").agg(n="count(*)", total="sum(v)").query("q"))


def _write_burst(path: Path, number: int) -> None:
    ids = np.arange(BURST_ROWS) + number * BURST_ROWS
    instants = EPOCH_MICROSECONDS + ids * (WINDOWS * 1_000_000) // BURST_ROWS
    columns = {"id": ids, "ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": ids % 7}
    write_parquet(path / "in" / f"{number}.parquet", pa.table(columns))


@pytest.mark.parametrize("burst", range(len(BURSTS)), ids=BURSTS)
def test_it_is_planned_for_the_rows_it_has(bursts: Bursts, burst: int) -> None:
    decision = bursts.decisions.iloc[burst]
    assert decision.sizes_known
    assert decision.expected_offered_rows == BURST_ROWS
    assert decision.unshed_seconds > 3 * decision.budget_seconds


@pytest.mark.parametrize("burst", range(len(BURSTS)), ids=BURSTS)
def test_it_is_shed_by_as_much_as_it_is_too_big(bursts: Bursts, burst: int) -> None:
    decision = bursts.decisions.iloc[burst]
    assert decision.reason in {"overload", "saturated"}
    assert decision.sampling_rate < 1 / 3
    assert decision.admitted_rows / BURST_ROWS == pytest.approx(decision.sampling_rate, rel=0.1)


def test_its_answers_are_estimates(bursts: Bursts) -> None:
    rows = bursts.collected.rows("q")
    assert {row.window_start for row in rows} == {at(second) for second in range(2 * WINDOWS)}
    truth = {"n": BURST_ROWS / WINDOWS, "total": 3 * BURST_ROWS / WINDOWS}
    for row in rows:
        assert not row.exact
        assert row.value is not None
        assert row.standard_error
        assert abs(row.value - truth[row.aggregate or ""]) < 4.5 * row.standard_error
