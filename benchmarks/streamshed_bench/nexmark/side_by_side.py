"""One query of Nexmark at a time through the same files: ours, and plain Spark's."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.document.document import Language, parse_network
from streamshed.network.model.network import QueryNetwork
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.packet_input import linked
from streamshed_bench.nexmark.staged_events import StagedEvents
from streamshed_bench.nexmark.statements import COLUMNS, SIDE_INPUT, WATERMARK_SECONDS, NexmarkQuery, streams_sql
from streamshed_bench.runs.micro_batches import MicroBatchTime, rows_per_second
from streamshed_bench.runs.native import micro_batch_of, progress_document
from streamshed_bench.runs.ours import run_through
from streamshed_bench.runs.workplace import Workplace
from streamshed_bench.speed.contest import Portion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = "q"

_PATIENCE_SECONDS = 300.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """How what a network delivered compares with what plain Spark says of the same rows at once.

    Args:
        compared: Rows that plain Spark gives.
        different: Rows that only one of the two gives.
    """

    compared: int
    different: int


class SideBySide:
    """Runs queries of Nexmark over staged events.

    Args:
        spark: The session.
        place: Where to work.
        staged: The events.
    """

    def __init__(self, spark: SparkSession, place: Workplace, staged: StagedEvents) -> None:
        self._spark = spark
        self._place = place
        self._staged = staged

    def ours(self, query: NexmarkQuery, portion: Portion) -> float:
        """Run a query as a network of its own, nothing shed; returns rows per second."""
        from streamshed.spark import parquet_sink

        micro_batches = run_through(
            self._network(query, self._folders(query, portion), portion),
            self._spark,
            checkpoint=self._place.new("checkpoint"),
            micro_batches=portion.micro_batches,
            collect=parquet_sink(str(self._place.new("answers"))) if query.to_files else None,
        )
        return self._speed(micro_batches, query, portion)

    def native(self, query: NexmarkQuery, portion: Portion) -> float | str:
        """Run a query as a streaming query of plain Spark; returns rows per second, or why Spark refuses it."""
        from pyspark.errors import AnalysisException

        self._show(query, self._folders(query, portion), portion)
        writer = self._spark.sql(query.native).writeStream.outputMode("append").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self._place.new("checkpoint")))
        if query.to_files:
            writer = writer.format("parquet").option("path", str(self._place.new("answers")))
        else:
            writer = writer.format("noop")
        try:
            running = writer.start()
        except AnalysisException as error:
            return str(error).partition("\n")[0].rstrip(";")
        if not running.awaitTermination(_PATIENCE_SECONDS):  # type: ignore[arg-type]
            running.stop()
            raise UnfinishedBenchmarkError(f"plain Spark did not end within {_PATIENCE_SECONDS:g} seconds")
        finished = [micro_batch_of(progress_document(progress)) for progress in running.recentProgress]
        return self._speed(finished, query, portion)

    def check(self, query: NexmarkQuery, portion: Portion) -> RowCheck:
        """Run a query through files to its last window; compare its rows with plain Spark's over the same files."""
        from streamshed.spark import parquet_sink, query_view, start

        folders, delivered = self._folders(query, portion), self._place.new("answers")
        network = self._network(query, folders, portion)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with start(
            network,
            self._spark,
            checkpoint=str(self._place.new("checkpoint")),
            sink=parquet_sink(str(delivered)),
            trigger="10 milliseconds",
            advisory=True,
        ) as run:
            while run.status().micro_batch_id < portion.micro_batches - 1:
                if time.monotonic() > deadline:
                    raise UnfinishedBenchmarkError(f"files were not read within {_PATIENCE_SECONDS:g} seconds")
                run.await_termination(_POLL_SECONDS)
            if not run.drain(_PATIENCE_SECONDS):
                raise UnfinishedBenchmarkError(f"windows were still open after {_PATIENCE_SECONDS:g} seconds")
        self._show(query, folders, None)
        expected = self._spark.sql(query.native)
        rows = query_view(self._spark.read.parquet(str(delivered)), network, QUERY)
        return _compared(_as_text(rows, expected.columns), _as_text(expected, expected.columns))

    def _speed(self, finished: Sequence[MicroBatchTime], query: NexmarkQuery, portion: Portion) -> float:
        if len(finished) < portion.micro_batches:
            raise UnfinishedBenchmarkError(f"{len(finished)} of {portion.micro_batches} micro-batches were run")
        # Rows count once: we count those of a join's sides once more, Spark leaves out what a filter spared its scan.
        rows = self._staged.rows_of(query.streams, portion.files_per_micro_batch)
        alike = [replace(micro_batch, rows=rows) for micro_batch in finished[: portion.micro_batches]]
        return rows_per_second(alike, skipped=portion.skipped)

    def _network(self, query: NexmarkQuery, folders: Mapping[str, Path], portion: Portion) -> QueryNetwork:
        declared = streams_sql(
            folders, side_input=self._staged.side_input, files_per_micro_batch=portion.files_per_micro_batch
        )
        return parse_network(f"{declared}\n{query.ours}", folder=self._place.folder, language=Language.SQL).network

    def _folders(self, query: NexmarkQuery, portion: Portion) -> dict[str, Path]:
        return {
            stream: linked(self._staged.files[stream][: portion.files], self._place.new(stream))
            for stream in query.streams
        }

    def _show(self, query: NexmarkQuery, folders: Mapping[str, Path], portion: Portion | None) -> None:
        """Give plain Spark the streams by name; without a portion as bounded tables."""
        for stream in query.streams:
            if portion is None:
                rows = self._spark.read.schema(COLUMNS[stream]).parquet(str(folders[stream]))
            else:
                reader = self._spark.readStream.schema(COLUMNS[stream])
                reader = reader.option("maxFilesPerTrigger", portion.files_per_micro_batch)
                rows = reader.parquet(str(folders[stream])).withWatermark("date_time", f"{WATERMARK_SECONDS} seconds")
            rows.createOrReplaceTempView(stream)
        self._spark.read.parquet(str(self._staged.side_input)).createOrReplaceTempView(SIDE_INPUT)


def _as_text(rows: DataFrame, columns: list[str]) -> DataFrame:
    return rows.selectExpr(*(f"CAST({column} AS string) AS {column}" for column in columns))


def _compared(rows: DataFrame, expected: DataFrame) -> RowCheck:
    rows, expected = rows.cache(), expected.cache()
    try:
        different = rows.exceptAll(expected).count() + expected.exceptAll(rows).count()
        return RowCheck(compared=expected.count(), different=different)
    finally:
        rows.unpersist()
        expected.unpersist()
