"""Benchmark `goodput`: useful rows a second at many times the load that is sustained ÷ those at that load."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamshed.network.model.network import QueryNetwork
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.load_profile import constant_load
from streamshed.traces.stage import StagingOptions, stage
from streamshed.traces.staged_feed import StagedFeed
from streamshed.traces.trace import Trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.packet_input import EVENT_ROWS_PER_SECOND
from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity, calibrated
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.runs.fed_run import START_MICROSECONDS
from streamshed_bench.runs.pictures import draw_goodput
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.speed.goodput_figures import LoadFigures, mean_error, oracle_error
from streamshed_bench.speed.goodput_networks import GOODPUT_NETWORKS, GoodputNetwork
from streamshed_bench.speed.goodput_sizes import BASE_LOAD, FULL, QUICK, GoodputSizes
from streamshed_bench.speed.loaded_run import LATENCY_SECONDS, LoadedRun, run_at_loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLoad:
    """One network at one load.

    Args:
        figures: Useful rows, and delay.
        error: Mean relative error of the answers of windows of which all rows count; None without any.
        count_error: That of the counts among them.
        oracle_error: That of the same counts by an oracle that knows the capacity.
    """

    figures: LoadFigures
    error: float | None
    count_error: float | None
    oracle_error: float | None


def run(options: BenchOptions) -> BenchResult:
    """Measure goodput.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    sizes = QUICK if options.quick else FULL
    measured: dict[str, dict[float, AtLoad]] = {}
    sustained: dict[str, float] = {}
    with workplace() as place, bench_session("goodput") as spark:
        for number, name in enumerate(sizes.networks):
            network = GOODPUT_NETWORKS[name]
            bench = _Bench(spark, place, network.trace(options), sizes, network)

            def progress(step: str, share: float, number: int = number, name: str = name) -> None:
                options.progress(f"{name}: {step}", (number + share) / len(sizes.networks))

            capacity = bench.capacity(progress)
            sustained[name] = capacity.rows_per_second(sizes.trigger_seconds)
            measured[name] = bench.measured(capacity, progress)
    return BenchResult(
        figures=figures_of(measured, sustained),
        details=_details(measured, sizes),
        picture=partial(draw_goodput, courses=_courses(measured)),
    )


def figures_of(measured: Mapping[str, Mapping[float, AtLoad]], sustained: Mapping[str, float]) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures: the worst network decides."""
    figures: dict[str, float] = {}
    loads = sorted({load for by_load in measured.values() for load in by_load if load > 1})
    for load in loads:
        goodputs = [goodput(by_load, load) for by_load in measured.values() if load in by_load]
        figures[f"goodput_at_{load:g}"] = min(goodputs)
        figures[f"kept_share_at_{load:g}"] = min(
            by_load[load].figures.kept_share for by_load in measured.values() if load in by_load
        )
    figures["worst_delay_ratio"] = max(
        at_load.figures.delay_ratio for by_load in measured.values() for at_load in by_load.values()
    )
    ratios = [
        at_load.count_error / at_load.oracle_error
        for by_load in measured.values()
        for at_load in by_load.values()
        if at_load.count_error is not None and at_load.oracle_error
    ]
    if ratios:
        figures["worst_error_ratio"] = max(ratios)
    return figures | {f"{name}_rows_per_second_sustained": value for name, value in sustained.items()}


def goodput(by_load: Mapping[float, AtLoad], load: float) -> float:
    """Useful rows per second at a load ÷ at load 1."""
    return by_load[load].figures.useful_rows_per_second / by_load[1.0].figures.useful_rows_per_second


class _Bench:
    """One network.

    Args:
        spark: The session.
        place: Where to work.
        trace: The rows that are repeated.
        sizes: Loads, and how long each lasts.
        network: The network.
    """

    def __init__(
        self, spark: SparkSession, place: Workplace, trace: Trace, sizes: GoodputSizes, network: GoodputNetwork
    ) -> None:
        self._spark = spark
        self._place = place
        self._trace = trace
        self._sizes = sizes
        self._of = network
        self._hosts = network.hosts(place.new("hosts").with_suffix(".parquet"))

    def capacity(self, progress: Callable[[str, float], None]) -> Capacity:
        """Measure what the machine sustains."""
        sizes = self._sizes
        progress("staging", 0.0)
        seconds = sizes.calibration_file_count * sizes.calibration_rows_per_file / EVENT_ROWS_PER_SECOND
        feed = self._staged(
            self._of.shape,
            rows_per_second=EVENT_ROWS_PER_SECOND,
            event_seconds=seconds,
            file_seconds=sizes.calibration_rows_per_file / EVENT_ROWS_PER_SECOND,
        )
        return calibrated(
            self._spark,
            self._place,
            sizes,
            files=[file.path for file in feed.files],
            network_over=self._network,
            progress=lambda share: progress("calibrating", 0.05 + 0.25 * share),
        )

    def measured(self, capacity: Capacity, progress: Callable[[str, float], None]) -> dict[float, AtLoad]:
        """Feed one load after the other, and compare with the exact answers."""
        sizes = self._sizes
        progress("staging the loads", 0.3)
        rows_per_second = BASE_LOAD * capacity.rows_per_second(sizes.trigger_seconds) / sizes.event_speed
        span = {
            "rows_per_second": rows_per_second,
            "event_seconds": sizes.seconds * sizes.event_speed,
            "file_seconds": sizes.file_seconds * sizes.event_speed,
        }
        feed = self._staged(self._of.shape, **span)
        typed = self._staged(None, **span) if self._of.shape else feed
        oracle, files = DuckDB(os.cpu_count() or 2), [file.path for file in typed.files]
        exact = oracle.answers(files, self._of.compared, self._hosts, slide_seconds=self._of.slide_seconds)
        oracle.close()
        answers: dict[Key, float] = {}
        through = run_at_loads(
            self._network,
            self._spark,
            self._place,
            feed,
            lambda frame: _take(frame, [query.name for query in self._of.compared], answers),
            sizes=sizes,
            capacity=capacity,
            progress=lambda share: progress("feeding", 0.4 + 0.6 * share),
        )
        return {load: at for load in sizes.loads if (at := self._at(load, through, answers, exact)) is not None}

    def _at(
        self, load: float, through: LoadedRun, answers: Mapping[Key, float], exact: Mapping[Key, float]
    ) -> AtLoad | None:
        figures = through.figures(load)
        if figures is None:
            return None
        windows = {query.name: query.window_seconds for query in self._of.compared}
        span = through.span_seconds(load)
        first, last = (START_MICROSECONDS / 1e6 + seconds * self._sizes.event_speed for seconds in span)
        copies = self._sizes.copies_at(span[0])
        within = {key: value * copies for key, value in exact.items() if first + windows[key[0]] <= key[2] <= last}
        counts = {key: value for key, value in within.items() if key[1] == self._of.count}
        return AtLoad(
            figures=figures,
            error=mean_error(answers, within),
            count_error=mean_error(answers, counts),
            oracle_error=oracle_error(counts, load=load),
        )

    def _network(self, watched: Path) -> QueryNetwork:
        watched.mkdir(exist_ok=True)
        return self._of.network(watched, self._hosts)

    def _staged(
        self, shape: KafkaShape | None, *, rows_per_second: float, event_seconds: float, file_seconds: float
    ) -> StagedFeed:
        folder = self._place.new("staged")
        return stage(
            self._trace,
            constant_load(round(event_seconds * 1_000_000)),
            rows_per_second=rows_per_second,
            watched=folder / "watched",
            options=StagingOptions(
                shape=shape,
                interval_microseconds=round(file_seconds * 1_000_000),
                start_microseconds=START_MICROSECONDS,
                folder=folder / "staged",
                workers=2,
            ),
        )


def _take(frame: DataFrame, compared: Sequence[str], answers: dict[Key, float]) -> None:
    rows = frame.where(frame["query"].isin(*compared) & (frame["kind"] == "answer")).selectExpr(
        "query", "aggregate", "unix_seconds(window_end) AS end", "coalesce(value, 0) AS value"
    )
    for row in rows.collect():
        answers[row.query, row.aggregate, row.end] = float(row.value)


def _courses(measured: Mapping[str, Mapping[float, AtLoad]]) -> dict[str, dict[str, dict[float, float]]]:
    """What is drawn: by panel, by network, over the load."""
    courses: dict[str, dict[str, dict[float, float]]] = {"goodput": {}, "delay": {}, "error": {}, "oracle": {}}
    for name, by_load in measured.items():
        courses["goodput"][name] = {load: goodput(by_load, load) for load in by_load}
        courses["delay"][name] = {load: at.figures.delay_ratio for load, at in by_load.items()}
        courses["error"][name] = {load: at.count_error for load, at in by_load.items() if at.count_error is not None}
        courses["oracle"][name] = {load: at.oracle_error for load, at in by_load.items() if at.oracle_error is not None}
    return courses


def _details(measured: Mapping[str, Mapping[float, AtLoad]], sizes: GoodputSizes) -> dict[str, object]:
    return {
        "trigger_seconds": sizes.trigger_seconds,
        "latency_seconds": LATENCY_SECONDS,
        "headroom": HEADROOM,
        "networks": {
            name: [
                {
                    "load": load,
                    "useful_rows_per_second": at.figures.useful_rows_per_second,
                    "kept_share": at.figures.kept_share,
                    "delay_ratio": at.figures.delay_ratio,
                    "utilization": at.figures.utilization,
                    "mean_error": at.error,
                    "count_error": at.count_error,
                    "oracle_error": at.oracle_error,
                }
                for load, at in by_load.items()
            ]
            for name, by_load in measured.items()
        },
        "left_out": list(sizes.left_out),
    }
