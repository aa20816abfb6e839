"""What has come when a run is drained is answered, also where it still waits, and wherever numbers begin and jump."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from tests.spark.files import write_lines
from tests.spark.harness import PATIENCE_SECONDS, QUICK, Collected

STEPS: tuple[list[int | None], ...] = ([0], [1_000_000, None], [], [1_000_003, 1_199_999], [2_500_000])
"""The numbers of each file; of two of them nobody can tell when their rows were, or there are none."""
SIZE = 100_000


def test_files_that_wait_when_it_is_drained_are_read_first(spark: SparkSession, tmp_path: Path) -> None:
    """Text tells no numbers beforehand, and each micro-batch reads a file; it is drained while the first one runs."""
    for step, numbers in enumerate(STEPS):
        write_lines(tmp_path / "in" / f"{step}.json", [json.dumps({"n": number}) for number in numbers])
    source = folder(tmp_path / "in", "json", schema="n bigint", max_files_per_micro_batch=1)
    windows = stream("numbers", source, number="n").window(SIZE).agg(n="count(*)")
    collected = Collected()
    with network(windows.query("q")).start(
        spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK
    ) as run:
        assert run.drain(PATIENCE_SECONDS)
    answers = [row for table in collected.tables.values() for row in table.to_pylist() if row["kind"] == "answer"]
    counts = Counter({row["window_from"]: round(row["value"]) for row in answers})
    assert len(counts) == len(answers)
    assert all(row["exact"] for row in answers)
    assert +counts == Counter(number // SIZE * SIZE for numbers in STEPS for number in numbers if number is not None)
    assert run.status().unreadable_rows == 1
