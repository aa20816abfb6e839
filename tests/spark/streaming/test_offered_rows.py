"""How many rows came is counted once, though rows that are answers themselves are read a second time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamshed.network.network import network
from streamshed.network.sources import Source, folder, rate
from streamshed.network.stream import stream
from tests.spark.streaming.files import at, timed_values, write_lines, write_parquet
from tests.spark.streaming.harness import QUICK, Collected, finish, wait_until

FILES, ROWS = 3, 40


def _source(spark: SparkSession, path: Path, kind: str) -> Source:
    seconds = [[number * 10 + index / 4 for index in range(ROWS)] for number in range(FILES)]
    if kind == "json":
        for number, instants in enumerate(seconds):
            write_lines(path / f"{number}.json", [json.dumps({"ts": at(s).isoformat(), "v": 1}) for s in instants])
        return folder(path, "json", schema="ts timestamp, v bigint", max_files_per_micro_batch=1)
    for number, instants in enumerate(seconds):
        write_parquet(path / f"{number}.parquet", timed_values(instants, [1] * ROWS))
    if kind == "parquet":
        return folder(path, "parquet", max_files_per_micro_batch=1)
    reader = spark.readStream.schema("ts timestamp, v bigint").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(path))  # type: ignore[return-value]


@pytest.mark.parametrize("kind", ["parquet", "json", "dataframe"])
def test_offered_rows_are_those_that_came(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    rows = stream("events", _source(spark, tmp_path / "in", kind), time="ts")
    other = stream("other", _source(spark, tmp_path / "other", "parquet"), time="ts")
    queries = network(
        rows.window("5 seconds").agg(n="count(*)").query("counted"),
        rows.filter("v > 0").query("themselves"),
        other.window("5 seconds").agg(n="count(*)").query("other"),
    )
    collected = Collected()
    run = queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK)
    finish(run, FILES - 1)
    journal = run.journal()
    assert journal.offered_rows.sum() == 2 * FILES * ROWS
    assert journal.admitted_rows.sum() == 2 * FILES * ROWS
    assert len(collected.rows("themselves", kind="row")) == FILES * ROWS
    assert sum(row.value or 0 for row in collected.rows("counted")) == FILES * ROWS


def test_offered_rows_of_a_source_that_counts_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    """Brokers and the rate source report their rows by another way than files do."""
    ticks = stream("ticks", rate(200), time="timestamp")
    queries = network(
        ticks.window("1 second").agg(n="count(*)").query("counted"), ticks.filter("value >= 0").query("themselves")
    )
    collected = Collected()
    with queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=collected, **QUICK) as run:
        wait_until(run, lambda: len(run.journal()) > 0 and run.journal().offered_rows.sum() > 0, "rows")
    journal = run.journal()
    delivered = [row.micro_batch_id for row in collected.rows("themselves", kind="row")]
    for entry in journal.itertuples():
        assert entry.offered_rows == delivered.count(entry.micro_batch_id)
