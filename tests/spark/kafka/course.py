"""A network over a topic: killed and started again, partitions are added, rows deleted, and the reader changes."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamshed as ss
from streamshed.columnar.topics import topic_way
from streamshed.network.model.network import QueryNetwork
from streamshed.spark.common.connector import DELTA, KAFKA, connector_settings
from streamshed.spark.sinks.delta_sink import delta_sink
from streamshed.spark.sinks.iceberg_sink import iceberg_sink
from streamshed.spark.sinks.kafka_sink import kafka_sink
from streamshed.spark.sinks.postgres_sink import postgres_sink
from tests.iceberg_lake import IcebergLake
from tests.programs import script
from tests.spark.budget import note_all_starts
from tests.spark.harness import PATIENCE_SECONDS, QUICK, wait_until
from tests.spark.kafka.broker import Topics
from tests.spark.sessions import session_for_tests

TOPIC, ANSWERS, TABLE = "packets", "answers", "live.answers"
STEP_SECONDS = 100
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = (12_000, 450, 450, 450, 450)
"""In each step; the first has more than a first micro-batch takes."""

GROWN_IN, KILLED_IN, LOST_IN, LAST_IN = 1, 2, 3, 4
"""The steps in which a partition is added, the process is killed, rows are deleted before they are read, and the last.

Tasks read the records of the first three and of the last step. From the kill to that, Spark reads them.
"""

DELETED_OF_LOST_STEP = 50
BAD_VALUES = (b"\xff\xfe{", b'{"ts": ', None, b"")
"""Records that nobody can read; two of them have no text at all or an empty one."""


def partitions_in(step: int) -> int:
    """How many partitions the topic has in a step."""
    return 2 if step < GROWN_IN else 3


def rows_of(step: int) -> Iterator[dict[str, Any]]:
    """What comes in a step: when, in which partition, and what."""
    for number in range(ROWS[step]):
        seconds = STEP_SECONDS * (step + number / ROWS[step])
        yield {
            "ts": EPOCH + timedelta(microseconds=round(seconds * 1e6)),
            "partition": number % partitions_in(step),
            "key": "ab"[number % 7 % 2],
            "size": number * 37 % 1500,
            "step": step,
        }


def offset_after(step: int, partition: int) -> int:
    """The offset of a partition after a step."""
    rows = (row for before in range(step + 1) for row in rows_of(before))
    bad = len(BAD_VALUES) if partition == 1 else 0
    return sum(1 for row in rows if row["partition"] == partition) + bad


def write(topics: Topics, step: int) -> None:
    """Write a step; the first one ends with what cannot be read."""
    records: list[Mapping[str, Any]] = [
        {"key": row["key"].encode(), "value": _text(row).encode(), "partition": row["partition"]}
        for row in rows_of(step)
    ]
    if step == 0:
        records += [{"value": value, "partition": 1} for value in BAD_VALUES]
    topics.write(TOPIC, records)


def _text(row: Mapping[str, Any]) -> str:
    return json.dumps({"ts": row["ts"].strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "size": row["size"], "offset": -1})


def network_over(servers: str) -> QueryNetwork:
    """The queries; records say an offset, too, so that the broker's columns have a prefix."""
    source = ss.kafka(TOPIC, servers, start="earliest", prefix="k_")
    parse = ss.parse_json("value", "ts timestamp, size int, offset bigint")
    packets = ss.stream("packets", source, time="ts", watermark="1 second", parse=parse)
    in_topic = packets.filter(f"k_topic = '{TOPIC}' AND k_timestamp > TIMESTAMP '2026-01-01'")
    by_key = in_topic.map(key="CAST(k_key AS string)")
    return ss.network(
        packets.window("10 seconds").agg(n="count(*)", total="sum(size)").query("all"),
        by_key.window("20 seconds").by("key", "k_partition").agg(n="count(*)", mean="avg(size)").query("by_key"),
        packets.window("10 seconds").agg(largest="max(size)", least="min(offset)").query("largest", mode="exact"),
    )


class Sink:
    """Writes answers to a topic, three tables and files, and lets the next step come; it may kill the process.

    Args:
        folder: For files and a table.
        topics: Of the broker.
        servers: The broker.
        postgres: How a server of Postgres is reached; empty: there is none.
        steps: Those that come.
        kills: Whether the process is killed.
    """

    def __init__(
        self, folder: Path, topics: Topics, servers: str, *, postgres: str, steps: list[int], kills: bool
    ) -> None:
        self._folder, self._topics, self._steps, self.kills = folder, topics, steps, kills
        self.read_by_spark: list[tuple[bool, int]] = []
        self._sink = kafka_sink(ANSWERS, servers)
        self._sink.check()
        self._table = delta_sink(folder / "table", partition_by=("query",)) if DELTA.fits() else None
        if self._table is not None:
            self._table.check()
        self._iceberg = iceberg_sink(TABLE, IcebergLake.name, partition_by=("query",))
        self._iceberg.check()
        self._postgres = postgres_sink("answers", postgres) if postgres else None
        if self._postgres is not None:
            self._postgres.check()

    def __call__(self, answers: DataFrame, micro_batch_id: int) -> None:
        self.read_by_spark = _rows_read_by_spark(SparkSession.builder.getOrCreate())
        self._sink.write(answers, "", micro_batch_id)
        if self._table is not None:
            self._table.write(answers, "a", micro_batch_id)
        self._iceberg.write(answers, "a", micro_batch_id)
        if self._postgres is not None:
            self._postgres.write(answers, "a", micro_batch_id)
        if self.kills and micro_batch_id == KILLED_IN + 1:
            (self._folder / "read_by_spark.json").write_text(json.dumps(self.read_by_spark))
            os.kill(os.getpid(), signal.SIGKILL)
        answers.write.mode("overwrite").parquet(str(self._folder / "answers" / f"{micro_batch_id:03}"))
        # The first step takes two micro-batches.
        if micro_batch_id >= 1 and self._steps:
            step = self._steps.pop(0)
            if step == GROWN_IN:
                self._topics.grow(TOPIC, partitions_in(step))
            write(self._topics, step)


def _reads_of_topic(spark: SparkSession) -> list[Mapping[str, Any]]:
    """What Spark tells of the topic, for each micro-batch that has finished."""
    progress = [json.loads(one.json) for query in spark.streams.active for one in query.recentProgress]
    return [source for one in progress for source in one["sources"] if "Kafka" in source["description"]]


def _rows_read_by_spark(spark: SparkSession) -> list[tuple[bool, int]]:
    """Of each micro-batch that has finished, whether the offsets of the topic went on, and how many rows Spark read."""
    reads = _reads_of_topic(spark)
    return [(source["startOffset"] != source["endOffset"], source["numInputRows"]) for source in reads]


def _run(spark: SparkSession, servers: str, folder: Path, sink: Sink, *, until: int | None = None) -> dict[str, Any]:
    """Run the network until the sink kills the process, a step is read, or, without one, all is answered."""
    checkpoint, drained = folder / "checkpoint", False
    with network_over(servers).start(spark, checkpoint=checkpoint, sink=sink, advisory=True, **QUICK) as run:
        if sink.kills:
            run.await_termination(PATIENCE_SECONDS)
        elif until is not None:
            # A drain would move the time on, and rows that come then would be late.
            wait_until(run, lambda: _has_read(spark, until), f"step {until}")
            sink.read_by_spark = _rows_read_by_spark(spark)
        else:
            drained = run.drain(PATIENCE_SECONDS)
    status = run.status()
    told = {"drained": drained, "unreadable_rows": status.unreadable_rows, "lost_rows": status.lost_rows}
    return told | {"read_by_spark": sink.read_by_spark, "exception": str(run.exception or "")}


def _has_read(spark: SparkSession, step: int) -> bool:
    ends = {str(partition): offset_after(step, partition) for partition in range(partitions_in(step))}
    return any(source["endOffset"] == {TOPIC: ends} for source in _reads_of_topic(spark))


def main() -> None:
    """Run one of two processes: the arguments are which, the folder, the broker and a server of Postgres, or none."""
    note_all_starts()
    which, folder, servers, postgres = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    connectors = [connector for connector in (KAFKA, DELTA) if connector.fits()]
    jars = ",".join(script("jars.sh", connector.name) for connector in connectors)
    options = connector_settings(connectors, are_there=True)
    spark = session_for_tests(options={"spark.jars": jars} | options)
    topics = Topics(spark, servers)
    sink = partial(Sink, folder, topics, servers, postgres=postgres)
    if which == "first":
        topics.create(TOPIC, partitions_in(0))
        topics.create(ANSWERS, 2, **{"cleanup.policy": "compact"})
        write(topics, 0)
        _run(spark, servers, folder, sink(steps=[GROWN_IN, KILLED_IN], kills=True))
        return
    write(topics, LOST_IN)
    # What was being read when the process was killed is gone, too, and some of what came since.
    topics.delete_before(TOPIC, 0, offset_after(KILLED_IN, 0) + DELETED_OF_LOST_STEP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_way, "find_spec", lambda _name: None)
        outcome = _run(spark, servers, folder, sink(steps=[], kills=False), until=LOST_IN)
    write(topics, LAST_IN)
    last = _run(spark, servers, folder, sink(steps=[], kills=False))
    (folder / "outcome.json").write_text(json.dumps(outcome | {"last": last}))
    records = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", ANSWERS).load()
    if DELTA.fits():
        spark.read.format("delta").load(str(folder / "table")).write.parquet(str(folder / "in_table"))
    records.selectExpr("CAST(key AS string)", "CAST(value AS string)").write.parquet(str(folder / "records"))
    topics.close()


if __name__ == "__main__":
    main()
