"""Three ways of answering the same queries over the same files, each as rows per second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.rows import Rows
from streamshed_bench.inputs.networks import PacketSource, packet_network, typed_packets
from streamshed_bench.inputs.packet_input import linked
from streamshed_bench.inputs.workload import PacketQuery
from streamshed_bench.runs.answer_check import AnswerCheck, checked
from streamshed_bench.runs.duckdb_oracle import Answers, DuckDB
from streamshed_bench.runs.micro_batches import joint_rows_per_second, rows_per_second
from streamshed_bench.runs.native import native_through
from streamshed_bench.runs.ours import run_through
from streamshed_bench.runs.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """How much of the staged files one measurement reads.

    Args:
        files_per_micro_batch: How many files make a micro-batch.
        micro_batches: How many micro-batches are run.
        skipped: How many of the first do not count.
    """

    files_per_micro_batch: int
    micro_batches: int
    skipped: int = 1

    @property
    def files(self) -> int:
        """How many files that are."""
        return self.files_per_micro_batch * self.micro_batches


class Contest:
    """Runs the contestants over staged files of packets: typed rows in Parquet, or lines of JSON.

    Args:
        spark: The session.
        place: Where to work.
        files: The staged files, in the order of event time.
        rows_per_file: Rows of each.
        known_hosts: The file of the stored relation.
    """

    def __init__(
        self, spark: SparkSession, place: Workplace, *, files: Sequence[Path], rows_per_file: int, known_hosts: Path
    ) -> None:
        self._spark = spark
        self._place = place
        self._files = tuple(files)
        self._rows_per_file = rows_per_file
        self._known_hosts = known_hosts

    def ours(self, queries: Sequence[PacketQuery], portion: Portion) -> float:
        """Run the queries as one network; returns rows per second."""
        return self.network_speed(lambda packets: packet_network(packets, queries, self._known_hosts), portion)

    def network_speed(self, network_over: Callable[[Rows], QueryNetwork], portion: Portion) -> float:
        """Run a network over the packets; returns rows per second."""
        network = network_over(typed_packets(self._source(portion)))
        micro_batches = run_through(
            network,
            self._spark,
            checkpoint=self._place.new("checkpoint"),
            micro_batches=portion.micro_batches,
        )
        return rows_per_second(micro_batches, skipped=portion.skipped)

    def native(self, queries: Sequence[PacketQuery], portion: Portion) -> float:
        """Run the queries as streaming queries of plain Spark, all at once; returns rows per second."""
        micro_batches = native_through(
            self._spark,
            self._source(portion),
            queries,
            checkpoints=self._place.new("checkpoints"),
            micro_batches=portion.micro_batches,
            rows=self._rows_per_file * portion.files_per_micro_batch,
        )
        return joint_rows_per_second(micro_batches, skipped=portion.skipped)

    def duckdb(self, duckdb: DuckDB, queries: Sequence[PacketQuery], portion: Portion) -> float:
        """Answer the queries over the files of one micro-batch in DuckDB; returns rows per second."""
        files = self._files[: portion.files_per_micro_batch]
        begin = time.perf_counter()
        duckdb.answers(files, queries, self._known_hosts)
        return self._rows_per_file * len(files) / (time.perf_counter() - begin)

    def check(self, duckdb: DuckDB, queries: Sequence[PacketQuery], portion: Portion) -> AnswerCheck:
        """Run the queries as one network, and compare its answers with those of DuckDB."""
        source = self._source(portion)
        values_by_window: Answers = {}

        def collect(answers: DataFrame, _micro_batch_id: int) -> None:
            rows = answers.where("kind = 'answer'").selectExpr(
                "query", "aggregate", "unix_seconds(window_end) AS end", "value"
            )
            values_by_window.update({(row.query, row.aggregate, row.end): row.value for row in rows.collect()})

        run_through(
            packet_network(typed_packets(source), queries, self._known_hosts),
            self._spark,
            checkpoint=self._place.new("checkpoint"),
            micro_batches=portion.micro_batches,
            collect=collect,
        )
        expected = duckdb.answers(self._files[: portion.files], queries, self._known_hosts)
        return checked(values_by_window, expected)

    def _source(self, portion: Portion) -> PacketSource:
        return PacketSource(
            watched=linked(self._files[: portion.files], self._place.new("packets")),
            known_hosts=self._known_hosts,
            files_per_micro_batch=portion.files_per_micro_batch,
            format=self._files[0].suffix.removeprefix("."),
        )
