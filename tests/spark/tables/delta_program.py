"""Reads a table of Delta Lake as a stream and as a whole, in a process of its own with the connector."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.delta_source import delta
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.stream import stream
from streamshed.spark.common.connector import DELTA
from streamshed.spark.sinks.sinks import ParquetSink, parquet_sink
from tests.spark.budget import note_all_starts
from tests.spark.event_times import at
from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.sessions import session_for_tests

COMMITS, SECONDS, ROWS_PER_SECOND = 4, 30, 5
"""So many commits of so many seconds each."""
SCHEMA = "id bigint, ts timestamp, zone int, fare double"


def rows_of(commit: int) -> pa.Table:
    """The rows of a commit; one of them has no event time."""
    ids = range(commit * SECONDS * ROWS_PER_SECOND, (commit + 1) * SECONDS * ROWS_PER_SECOND)
    times = [at(number // ROWS_PER_SECOND) for number in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array([None, *times[1:]], pa.timestamp("us", "UTC")),
            "zone": pa.array([number % 3 for number in ids], pa.int32()),
            "fare": pa.array([float(number * 37 % 101) for number in ids], pa.float64()),
        }
    )


def commit(spark: SparkSession, table: Path, number: int) -> None:
    """Add the rows of a commit to the table."""
    spark.createDataFrame(rows_of(number)).coalesce(1).write.format("delta").mode("append").save(str(table))


def fares(table: Path) -> QueryNetwork:
    """A query by group with sliding windows, and one over its answers."""
    rows = stream("fares", delta(table, max_files_per_micro_batch=1), time="ts", identity=["id"])
    by_zone = rows.window("20 seconds", every="5 seconds").by("zone").agg(n="count(*)", total="sum(fare)")
    nested = by_zone.window("20 seconds").agg(most="max(total)")
    return network(by_zone.query("by_zone", mode="exact"), nested.query("nested", mode="exact"))


class DeadlySink(ParquetSink):
    """Writes the answers of the first micro-batches, and those of one more; then the process dies."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Write them, and die."""
        super().write(answers, query_id, micro_batch_id)
        if micro_batch_id == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run; the arguments are the jars, a folder, and whether the process dies in a micro-batch."""
    note_all_starts()
    jars, folder, dies = sys.argv[1], Path(sys.argv[2]), sys.argv[3:] == ["dies"]
    spark = session_for_tests(options={"spark.jars": jars, **DELTA.settings})
    table, is_new = folder / "table", not (folder / "table").exists()
    if is_new:
        for number in range(COMMITS - 1):
            commit(spark, table, number)
    built = fares(table)
    sink = DeadlySink(str(folder / "answers")) if dies else parquet_sink(folder / "answers")
    with built.start(spark, checkpoint=str(folder / "checkpoint"), sink=sink, trigger="100 ms", partitions=1) as run:
        commit(spark, table, COMMITS - 1)
        assert run.drain(PATIENCE_SECONDS), run.exception
        unreadable = run.status().unreadable_rows
    feather.write_feather(built.answers(spark).toArrow(), folder / "whole.arrow")
    (folder / "outcome.json").write_text(json.dumps({"unreadable": unreadable, "refused": _refused(spark, table)}))
    spark.stop()


def _refused(spark: SparkSession, table: Path) -> list[str]:
    """What is said of tables that are not there, and of columns that a table does not have."""
    gone, other = table.with_name("gone"), SCHEMA.replace("zone int", "zone string")
    sources = [delta(gone, schema=SCHEMA), delta(table, schema=other)]
    messages = []
    for source in sources:
        asked = network(stream("fares", source, time="ts").query("rows"))
        try:
            asked.answers(spark)
        except SourceUnavailableError as error:
            messages.append(str(error))
    return messages


if __name__ == "__main__":
    main()
