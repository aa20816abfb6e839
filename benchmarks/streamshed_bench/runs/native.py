"""The same queries as somebody writes them who has plain Spark: SQL over a view, one streaming query each."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.networks import PACKET_COLUMNS, PARSED_COLUMNS, RECORD_COLUMNS, WATERMARK, PacketSource
from streamshed_bench.inputs.workload import SLIDE_SECONDS, PacketQuery
from streamshed_bench.runs.micro_batches import MicroBatchTime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PACKETS_VIEW, HOSTS_VIEW = "native_packets", "native_hosts"

_TIMEOUT_SECONDS = 1800.0


def native_sql(query: PacketQuery, *, time_column: str = "ts") -> str:
    """Write one query in Spark's SQL.

    Args:
        query: The query.
        time_column: The column of event time.

    Example:
        >>> from streamshed_bench.inputs.workload import SEVEN_QUERIES
        >>> print(native_sql(SEVEN_QUERIES[5]))
        SELECT window, sum(size) AS bytes
        FROM native_packets
        WHERE (proto = 6) AND src_host IN (SELECT host FROM native_hosts)
        GROUP BY window(ts, '600 seconds', '10 seconds')
    """
    aggregates = ", ".join(f"{sql} AS {name}" for name, sql in query.aggregates.items())
    conditions = [f"({condition})" for condition in query.conditions]
    if query.known_senders:
        conditions.append(f"src_host IN (SELECT host FROM {HOSTS_VIEW})")
    return (
        f"SELECT window, {aggregates}\nFROM {PACKETS_VIEW}\nWHERE {' AND '.join(conditions)}\n"
        f"GROUP BY window({time_column}, '{query.window_seconds} seconds', '{SLIDE_SECONDS} seconds')"
    )


def native_packets(spark: SparkSession, source: PacketSource) -> DataFrame:
    """Return the stream of typed packets, watermarked."""
    return _folder(spark, source, PACKET_COLUMNS).withWatermark("ts", WATERMARK)


def native_records(spark: SparkSession, source: PacketSource) -> DataFrame:
    """Return the stream of packets out of records with JSON text, watermarked by the broker's time."""
    records = _folder(spark, source, RECORD_COLUMNS)
    parsed = records.selectExpr("timestamp", f"from_json(cast(value AS string), '{PARSED_COLUMNS}') AS packet")
    return parsed.selectExpr("timestamp", "packet.*").withWatermark("timestamp", WATERMARK)


class NativeRun:
    """Streaming queries of plain Spark, one per packet query, in one application.

    Args:
        packets: `native_packets` or `native_records`.
        queries: What is asked.
        known_hosts: The file of the stored relation.
        time_column: The column of event time.
        checkpoints: A new folder, for a checkpoint of each.
        trigger: Of `DataStreamWriter.trigger`.
    """

    def __init__(
        self,
        packets: DataFrame,
        queries: Sequence[PacketQuery],
        *,
        known_hosts: Path,
        time_column: str,
        checkpoints: Path,
        trigger: dict[str, Any],
    ) -> None:
        spark = packets.sparkSession
        packets.createOrReplaceTempView(PACKETS_VIEW)
        spark.read.parquet(str(known_hosts)).createOrReplaceTempView(HOSTS_VIEW)
        self._queries: list[StreamingQuery] = []
        for query in queries:
            answers = spark.sql(native_sql(query, time_column=time_column))
            writer = answers.writeStream.outputMode("append").format("noop").trigger(**trigger)
            self._queries.append(writer.option("checkpointLocation", str(checkpoints / query.name)).start())

    def await_end(self, timeout_seconds: float) -> None:
        """Wait until all of them have ended.

        Raises:
            UnfinishedBenchmarkError: The time ran out; they are stopped.
        """
        deadline = time.monotonic() + timeout_seconds
        for query in self._queries:
            left = max(deadline - time.monotonic(), 0.001)
            if not query.awaitTermination(left):  # type: ignore[arg-type]
                self.stop()
                raise UnfinishedBenchmarkError(f"native queries did not end within {timeout_seconds:g} seconds")

    def stop(self) -> None:
        """Stop them."""
        for query in self._queries:
            query.stop()

    def micro_batches(self) -> tuple[tuple[MicroBatchTime, ...], ...]:
        """Return the finished micro-batches of each query; rows that a pushed filter spared it do not count."""
        return tuple(
            tuple(micro_batch_of(progress_document(progress)) for progress in query.recentProgress)
            for query in self._queries
        )


def native_through(
    spark: SparkSession,
    source: PacketSource,
    queries: Sequence[PacketQuery],
    *,
    checkpoints: Path,
    micro_batches: int,
    rows: int,
) -> tuple[tuple[MicroBatchTime, ...], ...]:
    """Run native queries, all at once, through a folder of typed packets.

    Args:
        spark: The session.
        source: The folder.
        queries: What is asked.
        checkpoints: A new folder.
        micro_batches: How many the folder's files make.
        rows: Rows of each.

    Returns:
        The micro-batches of each query, all of so many rows, whatever a filter pushed into the scan spared it.

    Raises:
        UnfinishedBenchmarkError: The time ran out, or a query ended early.
    """
    run = NativeRun(
        native_packets(spark, source),
        queries,
        known_hosts=source.known_hosts,
        time_column="ts",
        checkpoints=checkpoints,
        trigger={"availableNow": True},
    )
    run.await_end(_TIMEOUT_SECONDS)
    finished = run.micro_batches()
    if short := [query.name for query, done in zip(queries, finished, strict=True) if len(done) < micro_batches]:
        raise UnfinishedBenchmarkError(f"these native queries ended early: {', '.join(short)}")
    return tuple(tuple(replace(one, rows=rows) for one in done[:micro_batches]) for done in finished)


def micro_batch_of(progress: dict[str, Any]) -> MicroBatchTime:
    """Read a progress report of Spark.

    Example:
        >>> micro_batch_of({"timestamp": "1970-01-01T00:00:05.250Z", "numInputRows": 7,
        ...     "durationMs": {"triggerExecution": 1500}})
        MicroBatchTime(rows=7, started_at_seconds=5.25, seconds=1.5)
    """
    return MicroBatchTime(
        rows=int(progress["numInputRows"]),
        started_at_seconds=datetime.fromisoformat(progress["timestamp"]).timestamp(),
        seconds=progress["durationMs"].get("triggerExecution", 0) / 1000,
    )


def _folder(spark: SparkSession, source: PacketSource, columns: str) -> DataFrame:
    reader = spark.readStream.schema(columns)
    if source.files_per_micro_batch is not None:
        reader = reader.option("maxFilesPerTrigger", source.files_per_micro_batch)
    return reader.format(source.format).load(str(source.watched))


def progress_document(progress: Any) -> dict[str, Any]:
    """Return a progress report of Spark as what its JSON holds."""
    document: dict[str, Any] = json.loads(progress.json) if hasattr(progress, "json") else progress
    return document
