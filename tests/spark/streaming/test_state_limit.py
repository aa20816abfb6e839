"""State near its limit: windows are dropped for it alone, what is delivered is exact, and then all come again.

From then on the many small files of a micro-batch are spread over the cores, as some of their rows are in dropped
windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.network.terms.aggregate import user_aggregate
from streamshed.spark.cluster.input_cut import FILE_PARTS, OPEN_COST, InputCut
from streamshed.spark.cluster.stage_watch import finished_stages
from tests.spark.event_times import EPOCH_MICROSECONDS, at
from tests.spark.files import write_parquet
from tests.spark.harness import QUICK, Collected, finish
from tests.spark.streaming.slow_machine import Machine, run_on

STEPS, BUSY_STEPS, STEP_SECONDS, ROWS_PER_FILE = 11, 7, 10, 125
FILES = 8
"""Of a step: as many as tasks they are to be cut into, four for each of two cores."""
ROWS_PER_STEP = FILES * ROWS_PER_FILE
WINDOW_SECONDS, WINDOWS, MAX_GAP, WATERMARK_SECONDS = 5, 22, 3, 60
LIMIT_BYTES = 3_000_000
NEVER_LATE = Machine(fixed_seconds=0.01, seconds_per_row=1e-6)
QUERIES = ("sums", "held")


class Total:
    """A sum whose rows are all held until the window closes, as it has no merge."""

    def init(self) -> int:
        return 0

    def incr(self, state: int, value: int) -> int:
        return state + value

    def final(self, state: int) -> int:
        return state


@dataclass(frozen=True)
class Limited:
    """What came of the run.

    Attributes:
        tasks: By micro-batch, into how many tasks its files were cut.
        settings: Those of the session afterwards.
    """

    rows: pa.Table
    collected: Collected
    journal: pd.DataFrame
    tasks: dict[int, int]
    settings: dict[str, str | None]

    def gaps(self, query: str) -> list[datetime]:
        return [row.window_start for row in self.collected.rows(query, kind="gap")]


def _rows() -> pa.Table:
    """Two windows per step; at first each row has a key of its own, then five keys share them."""
    ids = np.arange(STEPS * ROWS_PER_STEP)
    instants = EPOCH_MICROSECONDS + ids * STEP_SECONDS * 1_000_000 // ROWS_PER_STEP
    keys = np.where(ids < BUSY_STEPS * ROWS_PER_STEP, ids, ids % 5)
    return pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC")), "k": keys, "v": (ids * 7919) % 101})


def _network(path: Path) -> QueryNetwork:
    source = folder(path, "parquet", schema="ts timestamp, k bigint, v bigint", max_files_per_micro_batch=FILES)
    events = stream("events", source, time="ts", watermark=f"{WATERMARK_SECONDS} seconds")
    window = f"{WINDOW_SECONDS} seconds"
    held = user_aggregate(Total, columns=["v"], returns="double")
    return network(
        events.window(window).by("k").agg(total="sum(v)").query("sums", mode="subset", max_gap=MAX_GAP),
        events.filter("v >= 0").window(window).by("k").agg(total=held).query("held", mode="subset", max_gap=MAX_GAP),
    )


@pytest.fixture(scope="module")
def limited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Limited:
    path, rows, collected = tmp_path_factory.mktemp("state_limit"), _rows(), Collected()
    for number in range(STEPS * FILES):
        write_parquet(path / "in" / f"{number:03}.parquet", rows.slice(number * ROWS_PER_FILE, ROWS_PER_FILE))
    limit = f"{LIMIT_BYTES} B"
    with pytest.MonkeyPatch.context() as patch:
        run_on(patch, NEVER_LATE)
        built = _network(path / "in")
        run = built.start(spark, checkpoint=str(path / "c"), sink=collected, state_limit=limit, **QUICK)
    run_id = str(spark.streams.active[0].runId)
    finish(run, STEPS - 1)
    tasks: dict[int, int] = {}
    for stage in finished_stages(spark, after=-1)[0]:
        if stage.run_id == run_id and stage.work.is_input:
            tasks[stage.micro_batch_id] = max(tasks.get(stage.micro_batch_id, 0), stage.work.tasks)
    settings = {name: spark.conf.get(name, None) for name in (FILE_PARTS, OPEN_COST)}
    return Limited(rows, collected, run.journal(), tasks, settings)


@pytest.mark.parametrize("query", QUERIES)
def test_windows_are_dropped_for_state_alone(limited: Limited, query: str) -> None:
    gaps = limited.gaps(query)
    assert {row.reason for row in limited.collected.rows(query, kind="gap")} == {"memory"}
    assert 4 <= len(gaps) < WINDOWS / 2
    missing = [at(WINDOW_SECONDS * number) in gaps for number in range(WINDOWS)]
    assert sum(missing) == len(gaps)
    assert "1" * (MAX_GAP + 1) not in "".join(str(int(one)) for one in missing)
    assert not any(missing[-3:])


def test_state_stays_within_its_limit(limited: Limited) -> None:
    assert 0.5 * LIMIT_BYTES < limited.journal["state_bytes"].max() < LIMIT_BYTES
    assert any("state takes" in text for text in limited.journal["explanation"])


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_delivered_is_exact(limited: Limited, query: str) -> None:
    gaps = limited.gaps(query)
    with duckdb.connect() as database:
        database.register("rows", limited.rows)
        totals = database.execute(
            f"SELECT (epoch_us(ts) - {EPOCH_MICROSECONDS}) // {WINDOW_SECONDS * 1_000_000}, k, sum(v)"
            " FROM rows GROUP BY ALL"
        ).fetchall()
    expected = {(at(WINDOW_SECONDS * number), (str(key),)): float(total) for number, key, total in totals}
    answers = {(row.window_start, row.key): row.value for row in limited.collected.rows(query)}
    assert answers == {place: total for place, total in expected.items() if place[0] not in gaps}


def test_files_are_spread_over_the_cores_once_rows_are_in_dropped_windows(limited: Limited) -> None:
    """Each file is a task of its own then, however small; before that, one task reads them all, as ever."""
    journal = limited.journal
    first = int(journal.micro_batch_id[journal.explanation.str.contains("state takes")].min())
    assert {number for number, tasks in limited.tasks.items() if number < first and tasks < FILES} == set(range(first))
    spread = {number for number, tasks in limited.tasks.items() if tasks >= FILES}
    assert spread >= set(range(first + 1, STEPS))


def test_the_session_has_its_settings_back(limited: Limited) -> None:
    assert limited.settings == {FILE_PARTS: None, OPEN_COST: None}


def test_the_session_may_say_how_many_tasks_there_are_to_be(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    for number in range(FILES):
        write_parquet(tmp_path / f"{number}.parquet", _rows().slice(0, ROWS_PER_FILE))

    def tasks() -> int:
        return session.read.parquet(str(tmp_path)).rdd.getNumPartitions()

    session.conf.set(FILE_PARTS, "3")
    before = tasks()
    cut = InputCut(session)
    cut.cut(FILES, "it is not to be")
    assert (tasks(), session.conf.get(FILE_PARTS), session.conf.get(OPEN_COST, None)) == (before, "3", None)
    assert before < FILES
    cut.restore()
    session.conf.unset(FILE_PARTS)
    InputCut(session).cut(FILES, "it may be")
    assert tasks() == FILES
