"""The seven queries over a topic: as a network, and as streaming queries of plain Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.networks import PACKET_COLUMNS, packet_network
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.micro_batches import MicroBatchTime
from streamshed_bench.runs.native import NativeRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TIMEOUT_SECONDS = 1800.0
_WATERMARK = "10 seconds"
"""What is sent at once comes partition by partition."""


def network_of_topic(servers: str, topic: str, known_hosts: Path, *, most_rows: int | None = None) -> QueryNetwork:
    """Ask the seven queries of the packets in a topic, read from its first record.

    Args:
        servers: The broker.
        topic: The topic.
        known_hosts: The file of the stored relation.
        most_rows: Of a micro-batch; None: as many as there is time for.
    """
    source = kafka(topic, servers, start="earliest", max_rows_per_micro_batch=most_rows)
    packets = stream("packets", source, time="ts", watermark=_WATERMARK, parse=parse_json("value", PACKET_COLUMNS))
    return packet_network(packets, SEVEN_QUERIES, known_hosts)


def native_through_topic(
    spark: SparkSession,
    servers: str,
    topic: str,
    *,
    known_hosts: Path,
    checkpoints: Path,
    most_rows: int,
    micro_batches: int,
) -> tuple[tuple[MicroBatchTime, ...], ...]:
    """Run the seven queries as plain Spark's, all at once, through a topic.

    Args:
        spark: A session with the connector.
        servers: The broker.
        topic: The topic.
        known_hosts: The file of the stored relation.
        checkpoints: A new folder.
        most_rows: Of a micro-batch.
        micro_batches: How many of them the topic has at least.

    Returns:
        So many micro-batches of each query, all of as many rows.

    Raises:
        UnfinishedBenchmarkError: The time ran out, or a query ended early.
    """
    run = NativeRun(
        _native_packets(spark, servers, topic, most_rows),
        SEVEN_QUERIES,
        known_hosts=known_hosts,
        time_column="ts",
        checkpoints=checkpoints,
        trigger={"availableNow": True},
    )
    run.await_end(_TIMEOUT_SECONDS)
    return alike(run.micro_batches(), micro_batches=micro_batches, rows=most_rows)


def alike(
    queries: Sequence[Sequence[MicroBatchTime]], *, micro_batches: int, rows: int
) -> tuple[tuple[MicroBatchTime, ...], ...]:
    """Return the first micro-batches with rows of each query; Spark may round their rows down, by partition.

    Args:
        queries: The micro-batches of each.
        micro_batches: How many are kept.
        rows: How many rows they count as.

    Raises:
        UnfinishedBenchmarkError: A query has fewer.

    Example:
        >>> done = [MicroBatchTime(rows=rows, started_at_seconds=0.0, seconds=1.0) for rows in (99, 0, 98, 3)]
        >>> [[one.rows for one in query] for query in alike([done], micro_batches=2, rows=100)]
        [[100, 100]]
    """
    with_rows = [[one for one in query if one.rows > 0][:micro_batches] for query in queries]
    if any(len(query) < micro_batches for query in with_rows):
        counts = [len(query) for query in with_rows]
        raise UnfinishedBenchmarkError(f"native queries ended after {counts} of {micro_batches} micro-batches")
    return tuple(tuple(replace(one, rows=rows) for one in query) for query in with_rows)


def _native_packets(spark: SparkSession, servers: str, topic: str, most_rows: int) -> DataFrame:
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", most_rows)
        .load()
    )
    parsed = records.selectExpr(f"from_json(cast(value AS string), '{PACKET_COLUMNS}') AS packet")
    return parsed.selectExpr("packet.*").withWatermark("ts", _WATERMARK)
