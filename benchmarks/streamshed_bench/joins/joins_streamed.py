"""A full join of two streams and windows over it, on Spark: ours beside Spark's own join, over the same files."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.joins.join_runs import SECOND
from streamshed_bench.joins.joins_throughput import wide_rows
from streamshed_bench.runs.duckdb_oracle import duckdb_module
from streamshed_bench.runs.native import progress_document
from streamshed_bench.runs.ours import Collect
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEFT, RIGHT = "calls", "alerts"
SCHEMA = "ts timestamp, key bigint, bytes bigint, seconds double, host string, is_known boolean"
WITHIN_SECONDS = 20
KEYS = 5_000
"""Windows and values as in the paper's experiments on equality ([G05] §6)."""

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = 900.0


@dataclass(frozen=True, kw_only=True)
class StreamedSizes:
    """How much is joined.

    Args:
        rows_per_second: Per side, of event time.
        file_seconds: Event time of a file; each micro-batch takes one of either side.
        filling: Micro-batches until windows are full, which do not count.
        counted: Those that do.
        rounds: How often either join goes through all of them, in turn.
    """

    rows_per_second: int
    file_seconds: int
    filling: int
    counted: int
    rounds: int

    @property
    def files(self) -> int:
        """How many files each side has."""
        return self.filling + self.counted


def _at(rows_per_second: int, *, counted: int, rounds: int) -> StreamedSizes:
    return StreamedSizes(
        rows_per_second=rows_per_second, file_seconds=2, filling=WITHIN_SECONDS // 2, counted=counted, rounds=rounds
    )


STREAMED_FULL = (
    _at(10_000, counted=6, rounds=3),
    _at(20_000, counted=4, rounds=2),
    _at(40_000, counted=3, rounds=1),
    _at(80_000, counted=3, rounds=1),
)
"""Up to the rate at which a full join has six times as much to do as there is time for, as at the paper's peak, where
rows are 2.5 times as many as can be joined in full; results go by its square."""
STREAMED_QUICK = (_at(10_000, counted=3, rounds=1),)


@dataclass(frozen=True, kw_only=True)
class StreamedJoin:
    """One join going through all files.

    Args:
        seconds: Of each micro-batch that counts.
        results: All pairs, as its windows count them.
        state_bytes: What its state takes at the end, as it tells.
    """

    seconds: tuple[float, ...]
    results: int
    state_bytes: int


@dataclass(frozen=True, kw_only=True)
class StreamedJoins:
    """Every round.

    Args:
        ours: Of our join.
        native: Of Spark's.
        counted_results: Pairs that come in the micro-batches that count.
        all_results: All pairs, by DuckDB.
    """

    ours: tuple[StreamedJoin, ...]
    native: tuple[StreamedJoin, ...]
    counted_results: int
    all_results: int

    def speeds(self, joins: tuple[StreamedJoin, ...]) -> list[float]:
        """Return result rows per second of each round."""
        return [self.counted_results / sum(one.seconds) for one in joins]


def streamed_figures(measured: Mapping[int, StreamedJoins]) -> dict[str, float]:
    """Return how many times as fast ours is, the median of the rounds, and speeds and states.

    Args:
        measured: By rows per second of either side. What is not named after one is of the most.
    """
    peak = measured[max(measured)]
    figures: dict[str, float] = {
        "streamed_state_bytes": float(peak.ours[-1].state_bytes),
        "native_state_bytes": float(peak.native[-1].state_bytes),
        "streamed_results_different": float(
            sum(
                join.results != joins.all_results
                for joins in measured.values()
                for join in (*joins.ours, *joins.native)
            )
        ),
    }
    for suffix, joins in {"": peak, **{f"_{rate}": joins for rate, joins in measured.items()}}.items():
        ours, native = joins.speeds(joins.ours), joins.speeds(joins.native)
        figures[f"ratio_to_native{suffix}"] = statistics.median(
            mine / other for mine, other in zip(ours, native, strict=True)
        )
        figures[f"streamed_result_rows_per_second{suffix}"] = statistics.median(ours)
        figures[f"native_result_rows_per_second{suffix}"] = statistics.median(native)
    return figures


def streamed_document(measured: StreamedJoins) -> dict[str, object]:
    """Return the rounds as what JSON can hold."""
    return {
        "counted_results": measured.counted_results,
        "all_results": measured.all_results,
        **{
            name: [list(one.seconds) for one in joins]
            for name, joins in (("seconds_of_ours", measured.ours), ("seconds_of_native", measured.native))
        },
    }


def measure_rates(
    rates: Sequence[StreamedSizes], *, seed: int, progress: Callable[[str], None]
) -> dict[int, StreamedJoins]:
    """Run both joins at one rate after the other; see `measure_streamed`."""

    def progress_at(rows_per_second: int) -> Callable[[str], None]:
        return lambda step: progress(f"{rows_per_second:,} rows/s, {step}")

    return {
        sizes.rows_per_second: measure_streamed(sizes, seed=seed, progress=progress_at(sizes.rows_per_second))
        for sizes in rates
    }


def measure_streamed(sizes: StreamedSizes, *, seed: int, progress: Callable[[str], None]) -> StreamedJoins:
    """Run both joins through the same files, in turn.

    Raises:
        MissingExtraError: DuckDB is not installed.
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: One does not come to an end.
    """
    with workplace() as place:
        files = _staged(place, sizes, seed)
        all_results, counted_results = _results(files, sizes)
        with bench_session("joins") as spark:
            rounds: dict[str, list[StreamedJoin]] = {"ours": [], "native": []}
            ways = {"ours": run_ours, "native": run_native}
            for number in range(sizes.rounds):
                for name in list(ways) if number % 2 == 0 else reversed(ways):
                    progress(f"on Spark, {name}, round {number + 1} of {sizes.rounds}")
                    rounds[name].append(ways[name](spark, place, files, sizes))
    return StreamedJoins(
        ours=tuple(rounds["ours"]),
        native=tuple(rounds["native"]),
        counted_results=counted_results,
        all_results=all_results,
    )


def run_ours(spark: SparkSession, place: Workplace, files: Path, sizes: StreamedSizes) -> StreamedJoin:
    """Run our join, and windows over it, as a user would."""
    from streamshed.spark import start

    counts: dict[int, int] = {}
    run = start(
        _network(files),
        spark,
        checkpoint=str(place.new("checkpoint")),
        sink=_counting(counts),
        trigger="10 milliseconds",
        advisory=True,
    )
    with run:
        _wait(lambda: run.status().micro_batch_id >= sizes.files - 1, lambda: run.await_termination(_POLL_SECONDS))
        joins = run.status().joins
        if not run.drain(_PATIENCE_SECONDS):
            raise UnfinishedBenchmarkError(f"windows were not answered within {_PATIENCE_SECONDS:g} seconds")
        journal = run.journal()
    seconds = journal[journal["offered_rows"] > 0]["processing_seconds"].tolist()
    return StreamedJoin(
        seconds=tuple(seconds[sizes.filling :]),
        results=sum(counts.values()),
        state_bytes=next(iter(joins.values())).stored_bytes,
    )


def run_native(spark: SparkSession, place: Workplace, files: Path, sizes: StreamedSizes) -> StreamedJoin:
    """Run Spark's stream-stream join, and windows over it, as somebody writes them who has plain Spark."""
    counts: dict[int, int] = {}
    for name in (LEFT, RIGHT):
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files / name))
        rows.withWatermark("ts", "0 seconds").createOrReplaceTempView(f"native_{name}")
    answers = spark.sql(
        f"SELECT window, count(*) AS n, sum(a.bytes) AS bytes, sum(length(b.host)) AS letters,"
        f" sum(length(a.host)) AS others, avg(b.seconds) AS seconds"
        f" FROM native_{LEFT} a JOIN native_{RIGHT} b ON a.key = b.key"
        f" AND b.ts BETWEEN a.ts - INTERVAL {WITHIN_SECONDS} SECONDS AND a.ts + INTERVAL {WITHIN_SECONDS} SECONDS"
        f" GROUP BY window(a.ts, '10 seconds')"
    )
    query = (
        answers.writeStream.outputMode("update")
        .foreachBatch(lambda frame, number: counts.update({number: _latest_counts(frame, totals)}))
        .option("checkpointLocation", str(place.new("checkpoint")))
        .trigger(availableNow=True)
    )
    totals: dict[Any, int] = {}
    started = query.start()
    if not started.awaitTermination(_PATIENCE_SECONDS):  # type: ignore[arg-type]
        started.stop()
        raise UnfinishedBenchmarkError(f"Spark's join did not end within {_PATIENCE_SECONDS:g} seconds")
    documents = [progress_document(progress) for progress in started.recentProgress]
    with_rows = [document for document in documents if document["numInputRows"] > 0]
    seconds = [document["durationMs"]["triggerExecution"] / 1000 for document in with_rows]
    state = with_rows[-1]["stateOperators"]
    return StreamedJoin(
        seconds=tuple(seconds[sizes.filling :]),
        results=sum(totals.values()),
        state_bytes=sum(int(document["memoryUsedBytes"]) for document in state),
    )


def _network(files: Path) -> QueryNetwork:
    left, right = (
        stream(name, folder(files / name, "parquet", schema=SCHEMA, max_files_per_micro_batch=1), time="ts")
        for name in (LEFT, RIGHT)
    )
    pairs = left.join(right, on="key", within=f"{WITHIN_SECONDS} s", basic_window="1 s")
    windows = pairs.window("10 seconds").agg(
        n="count(*)",
        bytes=f"sum({LEFT}_bytes)",
        letters=f"sum(length({RIGHT}_host))",
        others=f"sum(length({LEFT}_host))",
        seconds=f"avg({RIGHT}_seconds)",
    )
    return network(windows.query("windows", mode="exact"))


def _counting(counts: dict[int, int]) -> Collect:
    def take(answers: Any, number: int) -> None:
        totals = answers.where("kind = 'answer' AND aggregate = 'n'").selectExpr("cast(sum(value) AS bigint)")
        counts[number] = totals.collect()[0][0] or 0

    return take


def _latest_counts(frame: Any, totals: dict[Any, int]) -> int:
    """Take in the counts of the windows that have changed; return how many these are."""
    changed = {row["window"]: row["n"] for row in frame.collect()}
    totals.update(changed)
    return len(changed)


def _wait(is_done: Callable[[], bool], pause: Callable[[], object]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_done():
        if time.monotonic() > deadline:
            raise UnfinishedBenchmarkError(f"our join was not through within {_PATIENCE_SECONDS:g} seconds")
        pause()


def _staged(place: Workplace, sizes: StreamedSizes, seed: int) -> Path:
    files, random = place.new("streams"), np.random.default_rng(seed)
    for number, name in itertools.product(range(sizes.files), (LEFT, RIGHT)):
        seconds = range(number * sizes.file_seconds, (number + 1) * sizes.file_seconds)
        rows = pa.concat_tables([wide_rows(random, one, sizes.rows_per_second, KEYS) for one in seconds])
        times = rows.column("t").cast(pa.timestamp("us", "UTC"))
        (files / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.set_column(0, "ts", times), files / name / f"{number:04d}.parquet")
    return files


def _results(files: Path, sizes: StreamedSizes) -> tuple[int, int]:
    """All pairs, and those of them that come in micro-batches that count: with the later file."""
    begun = sizes.filling * sizes.file_seconds * SECOND
    within = f"abs(epoch_us(a.ts) - epoch_us(b.ts)) <= {WITHIN_SECONDS * SECOND}"
    with duckdb_module().connect() as database:
        counts = database.execute(
            f"SELECT count(*), count(*) FILTER (greatest(epoch_us(a.ts), epoch_us(b.ts)) >= {begun})"
            f" FROM read_parquet('{files / LEFT}/*.parquet') a JOIN read_parquet('{files / RIGHT}/*.parquet') b"
            f" ON a.key = b.key AND {within}"
        ).fetchone()
    if counts is None:
        raise UnfinishedBenchmarkError("DuckDB counted no pairs")
    return int(counts[0]), int(counts[1])
