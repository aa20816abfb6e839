"""A run goes on with other partitions: what was open is answered once, as if nothing had been done."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.inspection.repartitionable import repartitionable
from streamshed.spark.repartition import repartition
from tests.spark.event_times import EPOCH, at
from tests.spark.files import write_lines
from tests.spark.harness import PATIENCE_SECONDS, QUICK, Collected
from tests.spark.trunks.windows_of_duckdb import Answers, ExactWindows
from tests.unit.spark.inspection.checkpoints import STOPPED_AT, STOPPED_SECONDS, stopped_checkpoint

SECONDS = 120
START = datetime(2026, 1, 1, tzinfo=UTC)
TOTALS = ExactWindows(aggregate="total", call="sum(size)", size=20, slide=5, by="host")
COUNTS = ExactWindows(aggregate="n", call="count(*)", size=20, slide=5, by="host")
MOST = ExactWindows(aggregate="most", call="max(value)", size=40, below=TOTALS)
FIRST_OPEN = {("by_host", "n"): 20, ("by_host", "total"): 20, ("nested", "most"): 0}
"""The start of the first window that was open when the run was stopped, at a watermark of 39 seconds."""


def _network(path: Path) -> QueryNetwork:
    """The network that the checkpoint was made for."""
    source = folder(path, "json", schema="ts timestamp, host string, size int")
    packets = stream("packets", source, time="ts", watermark="20 seconds")
    by_host = packets.window("20 seconds", every="5 seconds").by("host").agg(n="count(*)", total="sum(size)")
    nested = by_host.window("40 seconds").agg(most="max(total)")
    return network(by_host.query("by_host"), nested.query("nested", mode="exact"))


def _expected(exact: ExactWindows, since: int) -> Answers:
    """Of all rows, those before the stop and those after it."""
    seconds = range(SECONDS)
    times = pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": times, "host": [f"h{second % 7}" for second in seconds], "size": [*seconds]})
    return {(start, key): value for (start, key), value in exact.answers(rows).items() if start >= at(since)}


def test_open_windows_go_on_in_other_partitions(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = stopped_checkpoint(tmp_path)
    repartition(spark, str(checkpoint), repartitionable(Storage.reached(str(checkpoint)), 3), 3)
    rows = [
        {"ts": f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z", "host": f"h{second % 7}", "size": second}
        for second in range(STOPPED_SECONDS, SECONDS)
    ]
    file = tmp_path / "in" / "1.json"
    write_lines(file, [json.dumps(row) for row in rows])
    os.utime(file, (STOPPED_AT, STOPPED_AT))  # Spark passes over files that are a week older than others
    collected = Collected()
    with _network(tmp_path / "in").start(spark, checkpoint=str(checkpoint), sink=collected, **QUICK) as run:
        assert run.drain(PATIENCE_SECONDS)
    exact = {("by_host", "n"): COUNTS, ("by_host", "total"): TOTALS, ("nested", "most"): MOST}
    for (query, aggregate), first in FIRST_OPEN.items():
        found = [row for row in collected.rows(query) if row.aggregate == aggregate and row.value]
        answers = {(row.window_start - (START - EPOCH), row.key): row.value for row in found}
        assert len(answers) == len(found)
        assert all(row.exact for row in found)
        assert answers == {
            place: value for place, value in _expected(exact[query, aggregate], first).items() if value
        }, f"{query}.{aggregate}"
