"""Files that Spark gives to one task are cut into more while the query runs, as far as they can be.

The first four micro-batches are cold, as files wait: what they take tells nothing.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from streamshed.elasticity.settings import ElasticSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark.cluster.input_cut import FILE_PARTS, OPEN_COST
from streamshed.spark.cluster.stage_watch import FinishedStage, finished_stages
from streamshed.spark.starting import start
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.harness import PATIENCE_SECONDS, Collected, wait_for_micro_batch
from tests.spark.sessions import interpreting

ROWS = 400
SECONDS_PER_ROW = 0.005
DIVISIBLE = 8
INDIVISIBLE = 5
FILES = DIVISIBLE + INDIVISIBLE
GROUPS = 16


def waited(values: pd.Series[int]) -> pd.Series[int]:
    """Wait for each value, as for an answer from elsewhere."""
    time.sleep(len(values) * SECONDS_PER_ROW)
    return values


def network_over(path: Path) -> QueryNetwork:
    """Counts over rows each of which is waited for, a file in each micro-batch."""
    schema = "id bigint, ts timestamp, v bigint, pad string"
    source = folder(path, "parquet", schema=schema, max_files_per_micro_batch=1)
    rows = stream("events", source, time="ts", watermark="1 second", identity=["id"])
    answered = rows.apply(waited, columns=["v"], into="w", returns="bigint")
    return network(answered.window("10 seconds").agg(n="count(*)", total="sum(w)").query("q"))


def write_file(path: Path, number: int, *, groups: int) -> None:
    """Write half a megabyte in so many pieces that tasks can read."""
    nature = random.Random(number)
    first = number * ROWS
    table = pa.table(
        {
            "id": pa.array(range(first, first + ROWS), pa.int64()),
            "ts": pa.array([EPOCH_MICROSECONDS + 10_000 * (first + row) for row in range(ROWS)], pa.timestamp("us")),
            "v": pa.array([row % 7 for row in range(ROWS)], pa.int64()),
            "pad": pa.array([nature.randbytes(800).hex() for _ in range(ROWS)]),
        }
    )
    draft = path / f".{number:03d}.parquet"
    parquet.write_table(table, draft, row_group_size=ROWS // groups, compression="none")
    draft.rename(path / f"{number:03d}.parquet")


@dataclass(frozen=True)
class Course:
    """What became of a run over files that can be cut, and then over some that cannot be.

    Attributes:
        journal: Its rows, of a micro-batch for each file.
        answered: The counts of its answers, by the start of their windows.
        settings: Those of the session, afterwards.
        stages: What is known of its stages.
    """

    journal: pd.DataFrame
    answered: dict[datetime, float | None]
    settings: dict[str, str | None]
    stages: list[FinishedStage]

    @property
    def divisible(self) -> pd.DataFrame:
        """The journal of the files that can be cut."""
        return self.journal[self.journal.micro_batch_id < DIVISIBLE]

    def input_tasks(self, micro_batch_id: int) -> int:
        """Into how many tasks the file of a micro-batch was cut."""
        own = [stage for stage in self.stages if stage.work.is_input and stage.micro_batch_id == micro_batch_id]
        return max(own, key=lambda stage: stage.work.seconds).work.tasks


@pytest.fixture(scope="module")
def course(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Course:
    spark = interpreting(spark)
    path = tmp_path_factory.mktemp("uneven")
    watched = path / "in"
    watched.mkdir()
    for number in range(FILES):
        write_file(watched, number, groups=GROUPS if number < DIVISIBLE else 1)
    collected = Collected()
    running = start(
        network_over(watched),
        spark,
        checkpoint=str(path / "checkpoint"),
        sink=collected,
        trigger="1 second",
        partitions=2,
        advisory=True,
        elastic=ElasticSettings(),
    )
    with running:
        run_id = str(spark.streams.active[0].runId)
        wait_for_micro_batch(running, FILES - 1)
        running.drain(PATIENCE_SECONDS)
    stages, _ = finished_stages(spark, after=-1)
    told = {name: spark.conf.get(name, None) for name in (FILE_PARTS, OPEN_COST)}
    return Course(
        running.journal(), dict(collected.values("q", "n")), told, [one for one in stages if one.run_id == run_id]
    )


def test_files_are_cut_once_they_were_uneven_twice(course: Course) -> None:
    pieces = course.journal.pieces_per_core
    assert pieces.iloc[0] == 1
    assert pieces.iloc[DIVISIBLE - 1] == 4
    assert (pieces.diff().fillna(0) >= 0).all()


def test_then_all_cores_have_tasks(course: Course) -> None:
    """At first there is one for the file, and the carrier's."""
    assert course.input_tasks(1) <= 2
    assert course.input_tasks(DIVISIBLE - 1) >= 4 * 2
    # The longest tasks of small stages of two tasks each are all that cannot be cut.
    assert (course.divisible.undivided_share < 0.2).all()


def test_a_file_in_one_piece_is_known_as_a_bound(course: Course) -> None:
    """It has nearly all of the work where cores are fast; on slow ones the rest takes its time, too."""
    last = course.journal[course.journal.micro_batch_id < FILES].iloc[-1]
    assert last.pieces_per_core == 4
    assert last.undivided_share > 0.35


def test_every_row_is_counted_once(course: Course) -> None:
    assert sum(count or 0.0 for count in course.answered.values()) == FILES * ROWS


def test_the_session_has_its_own_settings_back(course: Course) -> None:
    assert course.settings == {FILE_PARTS: None, OPEN_COST: None}


def test_stages_of_queries_are_told_by_micro_batch(spark: SparkSession, course: Course) -> None:
    assert {stage.micro_batch_id for stage in course.stages if stage.work.is_input} >= set(range(FILES))
    found, newest = finished_stages(spark, after=-1)
    assert found
    assert any(stage.work.is_input for stage in found)
    assert any(not stage.work.is_input for stage in found)
    for stage in found:
        work = stage.work
        assert 0 <= work.longest_seconds <= work.seconds <= work.tasks * work.longest_seconds + 1e-9
    assert finished_stages(spark, after=newest) == ([], newest)
