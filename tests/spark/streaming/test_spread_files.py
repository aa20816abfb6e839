"""Files of which some rows are in dropped windows are spread over the cores, however small they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import folder
from streamshed.network.stream import stream
from streamshed.spark.input_cut import FILE_PARTS, OPEN_COST, PARTS_PER_CORE, WindowPieces
from streamshed.spark.run import start
from streamshed.spark.stage_watch import finished_stages
from tests.spark.streaming.files import EPOCH_MICROSECONDS, write_parquet
from tests.spark.streaming.harness import Collected

pytestmark = pytest.mark.spark

ROWS = 200


@pytest.mark.parametrize(
    ("max_gap", "share", "own", "is_spread"),
    [(None, 1.0, None, False), (3, 1.0, None, False), (3, 0.5, None, True), (3, 0.5, "3", False)],
    ids=["none may be dropped", "none is", "half are", "the session says how many tasks"],
)
def test_files_are_spread_once_windows_are_dropped(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    max_gap: int | None,
    share: float,
    own: str | None,
    is_spread: bool,
) -> None:
    """Unless the session says how many tasks there are to be; what it says is put back."""
    tell = WindowPieces.tell
    monkeypatch.setattr(WindowPieces, "tell", lambda cut, rows, _: tell(cut, rows, dict.fromkeys(rows, share)))
    cores = spark.sparkContext.defaultParallelism
    files = 2 * PARTS_PER_CORE * cores
    for number in range(files):
        instants = [EPOCH_MICROSECONDS + (number * ROWS + row) * 1_000 for row in range(ROWS)]
        write_parquet(
            tmp_path / f"in/{number}.parquet", pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC"))})
        )
    source = folder(tmp_path / "in", "parquet", schema="ts timestamp", max_files_per_micro_batch=files // 2)
    rows = stream("rows", source, time="ts")
    counts = rows.window("1 second").agg(n="count(*)")
    asked = counts.query("q") if max_gap is None else counts.query("q", mode="subset", max_gap=max_gap)
    before = {FILE_PARTS: own, OPEN_COST: None}
    if own is not None:
        spark.conf.set(FILE_PARTS, own)
    try:
        collected = Collected()
        running = start(network(asked), spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, advisory=True)
        with running:
            run_id = str(spark.streams.active[0].runId)
            running.drain(240.0)
        assert {name: spark.conf.get(name, None) for name in before} == before
    finally:
        spark.conf.unset(FILE_PARTS)
    stages = [one.work for one in finished_stages(spark, after=-1)[0] if one.run_id == run_id and one.work.is_input]
    tasks = max(one.tasks for one in stages)
    assert (tasks >= PARTS_PER_CORE * cores) == is_spread
    assert sum(count or 0.0 for count in collected.values("q", "n").values()) == files * ROWS
