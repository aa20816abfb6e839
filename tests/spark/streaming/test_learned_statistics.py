"""What a run learns of its operators and queries from what its tasks tell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
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
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.loop import sql_trials
from streamshed.statistics.learned import CALL_SECONDS, MOST_SECONDS_PER_GROUP
from streamshed.statistics.network_statistics import NetworkStatistics
from tests.spark.event_times import EPOCH, EPOCH_MICROSECONDS
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, Collected, finish, wait_until
from tests.unit.spark.test_run_page import answer

ROWS, FILES = 6_000, 3


def taking(microseconds: float, log: Path) -> Callable[[pd.Series], pd.Series]:
    """A function that takes so long for a row, or longer where the machine is busy: it writes down how long."""

    def spin(values: pd.Series) -> pd.Series:
        begin = time.perf_counter()
        end = begin + len(values) * microseconds * 1e-6
        while time.perf_counter() < end:
            pass
        if len(values):
            with log.open("a") as lines:
                lines.write(f"{(time.perf_counter() - begin) / len(values)}\n")
        return values

    return spin


FOLD = "aggregate(sequence(1, 300), v, (s, x) -> s + x) > 0"
FACTORS = {"cheap": 1, "dear": 4}
MICROSECONDS = 30.0


def _network(path: Path) -> QueryNetwork:
    schema = "ts timestamp, v bigint, signed bigint"
    source = folder(path / "in", "parquet", schema=schema, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second")
    functions = {name: taking(MICROSECONDS * factor, path / f"took_{name}") for name, factor in FACTORS.items()}
    judged = {
        name: rows.filter("v % 4 = 0").apply(function, columns=["v"], into=f"w_{name}", returns="bigint")
        for name, function in functions.items()
    }
    return network(
        *(node.window("1 second").agg(total=f"sum(w_{name})").query(f"{name}_judged") for name, node in judged.items()),
        rows.window("1 second").by(group="v % 4").agg(n="count(*)").query("grouped"),
        rows.window("1 second").agg(total="sum(signed)").query("signed"),
        rows.filter("v % 10 != 3").filter("v % 20 = 0").window("1 second").agg(n="count(*)").query("chained"),
        rows.filter("v % 40 < 4").query("themselves"),
        rows.filter(FOLD).window("1 second").agg(n="count(*)").query("folded"),
    )


def _write(path: Path, number: int) -> None:
    """A file of a thousand rows per second of event time."""
    ids = np.arange(ROWS) + number * ROWS
    columns = {"ts": pa.array(EPOCH_MICROSECONDS + ids * 1000, pa.timestamp("us", "UTC")), "v": ids % 40}
    columns["signed"] = ids % 40 - 20
    write_parquet(path / "in" / f"{number}.parquet", pa.table(columns))


@dataclass(frozen=True)
class Learned:
    """What was asked, and what the run learned."""

    asked: QueryNetwork
    statistics: NetworkStatistics
    path: Path


@pytest.fixture(scope="module")
def learned(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Learned:
    path = tmp_path_factory.mktemp("learned")
    for number in range(FILES):
        _write(path, number)
    asked = _network(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql_trials, "MOST_JOBS", 60)
        run = asked.start(spark, checkpoint=str(path / "checkpoint"), sink=Collected(), advisory=True, **QUICK)
    finish(run, FILES - 1)
    return Learned(asked, run.statistics(), path)


@pytest.mark.parametrize("name", FACTORS)
def test_what_a_function_costs_is_found(spark: SparkSession, learned: Learned, name: str) -> None:
    operators = learned.statistics.operators
    [address] = [operator for operator in operators if f"w_{name}" in operator.split(" > ")[-1]]
    tasks = spark.sparkContext.defaultParallelism
    assert tasks != QUICK["partitions"], "functions run where rows are read, not where state is"
    function_seconds = operators[address].seconds_per_row * tasks - CALL_SECONDS
    took = [float(line) for line in (learned.path / f"took_{name}").read_text().split()]
    assert 0.8 * min(took) <= function_seconds <= 1.2 * max(took)
    assert min(took) >= MICROSECONDS * 1e-6 * FACTORS[name]


def test_what_operators_pass_is_found(learned: Learned) -> None:
    operators = learned.statistics.operators
    selectivity = {name.split(" > ")[-1]: operator.selectivity for name, operator in operators.items()}
    assert selectivity["filter v % 4 = 0"] == pytest.approx(0.25, abs=0.02)
    assert selectivity["filter v % 40 < 4"] == pytest.approx(0.1, abs=0.01)
    # One row in 256 tells of the first filter of a chain, which is believed to pass half of the rows.
    assert selectivity["filter v % 10 != 3"] == pytest.approx(0.9, abs=0.25)
    both = selectivity["filter v % 10 != 3"] * selectivity["filter v % 20 = 0"]
    assert both == pytest.approx(0.05, abs=0.005)


def test_dear_sql_is_measured_before_the_first_micro_batch_and_kept(learned: Learned) -> None:
    """How much it takes `test_sql_trials.py` says; here it has become known to the run."""
    operators = learned.statistics.operators
    is_measured = {name.split(" > ", maxsplit=1)[1]: operator.is_measured for name, operator in operators.items()}
    assert is_measured[f"filter {FOLD}"]
    assert not is_measured["filter v % 40 < 4"]
    kept = json.loads(Storage.at(str(learned.path / "checkpoint" / "time")).read_sealed("control.json") or "{}")
    assert kept["learned"]["sql"].keys() == {f"events > filter {FOLD}"}


def test_moments_and_groups_of_queries_are_found(learned: Learned) -> None:
    queries = learned.statistics.queries
    for name in FACTORS:
        moments = queries[f"{name}_judged"].moments["total"]
        assert moments.mean == pytest.approx(18.0, rel=0.02)
        assert moments.deviation == pytest.approx(np.std(np.arange(0, 40, 4)), rel=0.02)
    signed = queries["signed"].moments["total"]
    assert signed.mean == pytest.approx(-0.5, abs=0.01)
    assert signed.size == pytest.approx(10.0, rel=0.01)
    groups = queries["grouped"].groups
    assert groups is not None
    assert groups.groups == pytest.approx(4.0)
    assert 0 < queries["grouped"].seconds_per_group <= MOST_SECONDS_PER_GROUP
    assert {query.name for query in learned.asked.queries} == set(queries)
    assert NetworkStatistics.from_json(learned.statistics.to_json()) == learned.statistics


def test_event_time_is_known_where_rows_come_now_and_then(spark: SparkSession, tmp_path: Path) -> None:
    """Each file is followed by micro-batches without rows, the first of which tells how far its event times were."""
    _write(tmp_path, 0)
    source = folder(tmp_path / "in", "parquet", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    kept = stream("events", source, time="ts", watermark="1 second").filter("v % 4 = 0")
    asked = network(kept.window("1 second").agg(total="sum(v)").query("kept"))
    with asked.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), advisory=True, **QUICK) as run:
        for number in range(FILES):
            last = EPOCH.timestamp() + (number + 1) * ROWS / 1000
            wait_until(
                run,
                lambda last=last: run.status().watermark_seconds > last - 1.1 and run.status().offered_rows == 0,  # type: ignore[misc]
                f"the watermark of file {number}",
            )
            if number + 1 < FILES:
                _write(tmp_path, number + 1)
        known = run.statistics()
        with run.page() as page:
            # As it is already: the document is read by Spark's parser and handed over, and nothing has to stop.
            same = {"action": "change", "query": "kept", "goals": {"weight": 1}}
            assert answer(page, "changes", same) == {"pause_seconds": 0.0, "first_windows": {}}
    arriving = known.stream("events")
    assert arriving.rows_per_second / arriving.event_seconds_per_second == pytest.approx(1000.0, rel=0.01)
    assert known.operators[kept.node.address].selectivity == pytest.approx(0.25, abs=0.02)
