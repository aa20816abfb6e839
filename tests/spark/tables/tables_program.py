"""Reads tables of Delta Lake and Iceberg as streams, as a whole and as relations, in a process with the connector."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import feather
from pyspark.sql import DataFrame, SparkSession

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.relation import relation
from streamshed.network.source.delta_source import delta
from streamshed.network.source.iceberg_source import iceberg
from streamshed.spark.common.connector import DELTA
from streamshed.spark.sinks.sinks import ParquetSink, parquet_sink
from tests.iceberg_lake import IcebergLake
from tests.spark.budget import note_all_starts
from tests.spark.event_times import at
from tests.spark.harness import PATIENCE_SECONDS
from tests.spark.sessions import session_for_tests
from tests.spark.tables.stored_labels import KINDS, TABLES, labeled, write_labels

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
    """Add the rows of a commit to a table of Delta Lake."""
    spark.createDataFrame(rows_of(number)).coalesce(1).write.format("delta").mode("append").save(str(table))


def commit_to_lake(lake: IcebergLake, number: int) -> None:
    """Add the rows of a commit to the table of Iceberg."""
    with lake.catalog as catalog:
        catalog.create_namespace_if_not_exists("live")
        catalog.create_table_if_not_exists("live.rides", rows_of(number).schema).append(rows_of(number))


def fares(table: Path, kinds: tuple[str, ...]) -> QueryNetwork:
    """A query by group with sliding windows, one over its answers, and lookups; the first also of the other table."""
    rows = stream("fares", delta(table, max_files_per_micro_batch=1), time="ts", identity=["id"])
    rides = iceberg("live.rides", IcebergLake.name, schema=SCHEMA, max_files_per_micro_batch=1)
    others = stream("rides", rides, time="ts", identity=["id"])
    by_zone, others_by_zone = (
        each.window("20 seconds", every="5 seconds").by("zone").agg(n="count(*)", total="sum(fare)")
        for each in (rows, others)
    )
    nested = by_zone.window("20 seconds").agg(most="max(total)")
    lookups = labeled(rows, table.parent, kinds)
    return network(
        by_zone.query("by_zone", mode="exact"),
        nested.query("nested", mode="exact"),
        others_by_zone.query("rides_by_zone", mode="exact"),
        *lookups,
    )


class DeadlySink(ParquetSink):
    """Writes the answers of a micro-batch, and replaces the labels; then writes those of the next one, and dies."""

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Write them, and replace the labels or die."""
        super().write(answers, query_id, micro_batch_id)
        if micro_batch_id == 0:
            write_labels(answers.sparkSession, Path(self.path).parent, 1, TABLES)
        if micro_batch_id == 1:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run; the arguments are the jars, a folder, and the part: `whole`, or `dies` and then `goes on`."""
    note_all_starts()
    jars, folder, part = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    lake = IcebergLake(folder)
    os.environ.update(lake.environment)
    spark = session_for_tests(options={"spark.jars": jars, **DELTA.settings})
    table = folder / "table"
    for number in {"whole": range(COMMITS), "dies": range(COMMITS - 1), "goes on": [COMMITS - 1]}[part]:
        commit(spark, table, number)
        commit_to_lake(lake, number)
    if part != "goes on":
        write_labels(spark, folder, 0)
    if part == "whole":
        feather.write_feather(fares(table, KINDS).answers(spark).toArrow(), folder / "answers.arrow")
        (folder / "refused.json").write_text(json.dumps(_refused(spark, table)))
    else:
        _stream(spark, folder, dies=part == "dies")
    spark.stop()


def _stream(spark: SparkSession, folder: Path, *, dies: bool) -> None:
    """Read the table as a stream; at the end rows of it are deleted, and the run is told to go on all the same."""
    built, answers = fares(folder / "table", TABLES), folder / "answers"
    sink = DeadlySink(str(answers)) if dies else parquet_sink(answers)
    settings: dict[str, Any] = {"checkpoint": str(folder / "checkpoint"), "trigger": "100 ms", "partitions": 1}
    with built.start(spark, sink=sink, **settings) as run:
        assert run.drain(PATIENCE_SECONDS), run.exception
    outcome: dict[str, Any] = {"unreadable": run.status().unreadable_rows}
    spark.sql(f"DELETE FROM delta.`{folder / 'table'}` WHERE id = 7")
    with built.start(spark, sink=sink, fault_patience="1 second", **settings) as run:
        try:
            run.await_termination(PATIENCE_SECONDS)
        except SourceUnavailableError as error:
            outcome["changed"] = str(error)
    (folder / "outcome.json").write_text(json.dumps(outcome))


def _refused(spark: SparkSession, table: Path) -> list[str]:
    """What is said of tables that are not there, of columns that a table does not have, and of keys that repeat."""
    gone, other = table.with_name("gone"), SCHEMA.replace("zone int", "zone string")
    streams = [
        stream("fares", delta(place, schema=says), time="ts") for place, says in ((gone, SCHEMA), (table, other))
    ]
    rows = stream("fares", delta(table, schema="ts timestamp, zone int"), time="ts")
    broken, schema = table.with_name("broken"), "zone int, fare double"
    commit(spark, broken, 0)
    for file in broken.glob("*.parquet"):
        file.unlink()
    places = [(gone, schema), (table, "zone int, fare int"), (table, schema), (broken, schema)]
    prices = [relation("prices", delta(place, schema=says)) for place, says in places]
    lookups = [rows.lookup(each, on="zone", columns=["fare"]) for each in prices]
    messages = []
    for asked in (*streams, *lookups):
        try:
            network(asked.query("rows")).answers(spark)
        except SourceUnavailableError as error:
            messages.append(str(error))
    return messages


if __name__ == "__main__":
    main()
