"""Benchmark `windows`: answers that are exact or absent, under overload ([T06] §4)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from streamshed.answering.table.dropped_windows import SHUT_DOWN, SHUT_DOWN_FOR_MEMORY
from streamshed.traces.trace import Trace, read_trace
from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.packet_input import linked, packet_trace, stage_typed
from streamshed_bench.inputs.recordings import recording_file, recordings_folder
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.calibration import Capacity, calibrated_on
from streamshed_bench.runs.fed_run import START_MICROSECONDS, run_fed, staged_feed
from streamshed_bench.runs.ratios import median_interval, paired_ratios
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.speed.overhead import OverheadSizes, seconds_of_turns, turns
from streamshed_bench.windows.drop_places import DropPlaces, drops_at_places
from streamshed_bench.windows.windows_figures import Delivered, delivered, most_rows_share
from streamshed_bench.windows.windows_optimum import most_delivered
from streamshed_bench.windows.windows_picture import draw_windows
from streamshed_bench.windows.windows_queries import (
    MIXED,
    Answers,
    WindowsQuery,
    exact_answers,
    rows_by_cell,
    unloaded_network,
    windows_network,
)
from streamshed_bench.windows.windows_sizes import FULL, QUICK, WindowsSizes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RECORDINGS = ("fares", "net_events")
_PLACES_FROM = 0.4
"""The share of the time that recordings take."""
_TURNS = OverheadSizes(rows_per_file=500_000, files_per_micro_batch=8, warm_up=28, pairs=16)
"""Of the network that may drop windows and of the one that may not; before so many, Java is still compiling either."""


@dataclass(slots=True)
class Answered:
    """What a run answered.

    Attributes:
        answers: Those that were delivered.
        gaps: Windows that were dropped, each as often as it was said.
        shut: Those of them that were dropped because their query was shut down.
    """

    answers: Answers = field(default_factory=dict)
    gaps: list[tuple[str, int]] = field(default_factory=list)
    shut: set[tuple[str, int]] = field(default_factory=set)

    def take(self, frame: DataFrame, _: int) -> None:
        """Take in the answers of a micro-batch."""
        rows = frame.where("kind IN ('answer', 'gap')").selectExpr(
            "kind", "query", "unix_micros(window_start) AS start", "aggregate", "coalesce(value, 0) AS value", "reason"
        )
        for row in rows.collect():
            place = (row.query, row.start)
            if row.kind == "gap":
                self.gaps.append(place)
                self.shut |= {place} if row.reason in {SHUT_DOWN, SHUT_DOWN_FOR_MEMORY} else set()
                continue
            n, last = self.answers.get(place, (-1.0, -1.0))
            self.answers[place] = (row.value, last) if row.aggregate == "n" else (n, row.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One run.

    Args:
        delivered: What became of its windows, by query.
        ideal: The largest mean share of windows that any policy could deliver at what its rows cost.
        ideal_of_rows: The same of any policy that works on as many rows.
        time_ratios: Processing time ÷ trigger interval, per micro-batch.
    """

    delivered: Mapping[str, Delivered]
    ideal: float
    ideal_of_rows: float
    time_ratios: tuple[float, ...]

    @property
    def share(self) -> float:
        """The mean share of their windows that queries delivered."""
        return sum(one.share for one in self.delivered.values()) / len(self.delivered)


def run(options: BenchOptions) -> BenchResult:
    """Measure what window drop delivers.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        MissingRecordingsError: `options.trace` names a folder without the recordings.
        UnfinishedBenchmarkError: The machine is too slow, or too busy, for the trigger interval.
    """
    sizes = QUICK if options.quick else FULL
    with workplace() as place, bench_session("windows") as spark:
        traces = _traces(options, sizes)
        first = next(iter(traces.values()))
        capacity = calibrated_on(
            first,
            spark,
            place,
            sizes,
            network_over=partial(windows_network, queries=MIXED),
            progress=lambda step, share: options.progress(step, 0.12 * share),
        )
        bench = _Bench(spark, place, sizes, capacity)
        real = _replayed(bench, traces, options)
        ratios = {
            selectivity: _unloaded(spark, place, first, selectivity, options.progress)
            for selectivity in sizes.selectivities
        }
        places = DropPlaces()
        if sizes.places:
            places = drops_at_places(
                spark, place, lambda step, share: options.progress(step, _PLACES_FROM + (1 - _PLACES_FROM) * share)
            )
    return BenchResult(
        figures=figures_of(real, capacity.rows_per_second(sizes.trigger_seconds))
        | ratio_figures(ratios)
        | places.figures(),
        details=_details(real, sizes)
        | {"ratios_unloaded": {f"{of:g}": list(r) for of, r in ratios.items()}}
        | ({"places": places.to_document()} if sizes.places else {}),
        picture=partial(
            draw_windows,
            real={key: (course.share, course.ideal) for key, course in real.items()},
            places=places,
        ),
    )


def _replayed(bench: _Bench, traces: Mapping[str, Trace], options: BenchOptions) -> dict[tuple[str, float], Course]:
    """Replay every trace at every load."""
    courses = {}
    cases = list(itertools.product(traces, bench.sizes.loads))
    until = _PLACES_FROM if bench.sizes.places else 1.0
    for number, (name, load) in enumerate(cases):
        options.progress(f"{name} at load {load:g}", 0.12 + (until - 0.12) * number / len(cases))
        courses[name, load] = bench.measured(traces[name], MIXED, load)
    return courses


def figures_of(real: Mapping[tuple[str, float], Course], rows_per_second: float) -> dict[str, float]:
    """Condense what recordings showed into the benchmark's figures."""
    everything = [one for course in real.values() for one in course.delivered.values()]
    overloaded = [course for (_, load), course in real.items() if load > 1]
    return {
        "subset_violations": float(sum(one.wrong for one in everything)),
        "gap_violations": float(sum(one.gaps_too_long + one.neither + one.twice for one in everything)),
        "shut_down_windows": float(sum(one.shut_down for one in everything)),
        "windows": float(sum(one.windows for one in everything)),
        "share_of_optimum": min((course.share / course.ideal for course in overloaded), default=1.0),
        "share_of_optimum_of_rows": min((course.share / course.ideal_of_rows for course in overloaded), default=1.0),
        "p95_time_ratio": max(percentile(course.time_ratios, 0.95) for course in real.values()),
        "rows_per_second_sustained": rows_per_second,
    }


def ratio_figures(ratios: Mapping[float, Sequence[float]]) -> dict[str, float]:
    """Return rows per second with window drop ÷ without while nothing is dropped ([T06] Table 4), at worst."""
    if not ratios:
        return {}
    intervals = {selectivity: median_interval(found) for selectivity, found in ratios.items()}
    return {
        "throughput_ratio": min(one.median for one in intervals.values()),
        "throughput_ratio_high": min(one.high for one in intervals.values()),
        **{f"throughput_ratio_{selectivity:g}": one.median for selectivity, one in intervals.items()},
    }


def _unloaded(
    spark: SparkSession,
    place: Workplace,
    trace: Trace,
    selectivity: float,
    progress: Callable[[str, float], None],
) -> tuple[float, ...]:
    files = stage_typed(
        trace,
        place.new("unloaded"),
        files=_TURNS.files,
        rows_per_file=_TURNS.rows_per_file,
        progress=lambda share: progress(f"staging for selectivity {selectivity:g}", 0.1 + 0.01 * share),
    )
    watched = linked(files, place.new("rows"))
    dropping, exact = (
        unloaded_network(watched, selectivity, _TURNS.files_per_micro_batch, may_drop=may_drop)
        for may_drop in (True, False)
    )

    def report_step(step: str, share: float) -> None:
        progress(f"selectivity {selectivity:g}, {step}", 0.1 + 0.02 * share)

    seconds = seconds_of_turns(dropping, spark, place, _TURNS, report_step, other=exact)
    return paired_ratios(turns(_TURNS.pairs), seconds)


def _traces(options: BenchOptions, sizes: WindowsSizes) -> dict[str, Trace]:
    if options.trace is None:
        return {"packets": packet_trace(options)}
    recordings = recordings_folder(options, RECORDINGS)
    names = RECORDINGS if len(sizes.loads) > len(QUICK.loads) else RECORDINGS[:1]
    return {name: _times_of(read_trace(recording_file(recordings, name), time="ts")) for name in names}


def _times_of(trace: Trace) -> Trace:
    return Trace(table=trace.table.select([trace.time]), time=trace.time)


@dataclass(frozen=True, slots=True)
class _Bench:
    spark: SparkSession
    place: Workplace
    sizes: WindowsSizes
    capacity: Capacity

    def measured(self, trace: Trace, queries: Sequence[WindowsQuery], load: float) -> Course:
        """Replay a trace at a load factor, and judge what is delivered."""
        sizes, capacity, answered = self.sizes, self.capacity, Answered()
        rows_per_second = load * capacity.rows_per_second(sizes.trigger_seconds)
        feed = staged_feed(trace, self.place.new("feed"), sizes, rows_per_second)
        network_over = partial(windows_network, queries=queries)
        fed = run_fed(network_over, self.spark, self.place, feed, answered.take, sizes=sizes, capacity=capacity)
        since, shut = fed.since_microseconds, answered.shut
        worked_on = float(fed.journal["admitted_rows"].sum() / fed.journal["offered_rows"].sum())
        files = [file.path for file in feed.files]
        exact = exact_answers(files, queries, sizes.seconds, START_MICROSECONDS)
        rows = rows_by_cell(files, queries, sizes.seconds, START_MICROSECONDS, since)
        return Course(
            delivered={
                query.name: delivered(query, answered.answers, answered.gaps, exact, since, shut=shut)
                for query in queries
            },
            ideal=most_delivered(queries, rows, most_rows_share(fed.journal, capacity, sizes.trigger_seconds)),
            ideal_of_rows=most_delivered(queries, rows, worked_on),
            time_ratios=fed.time_ratios,
        )


def _details(real: Mapping[tuple[str, float], Course], sizes: WindowsSizes) -> dict[str, object]:
    return {
        "trigger_seconds": sizes.trigger_seconds,
        "headroom": HEADROOM,
        "recordings": [{"recording": name, "load": load, **_course(course)} for (name, load), course in real.items()],
        "left_out": list(sizes.left_out),
    }


def _course(course: Course) -> dict[str, object]:
    return {
        "delivered_share": course.share,
        "ideal_share": course.ideal,
        "ideal_share_of_rows": course.ideal_of_rows,
        "p95_time_ratio": percentile(course.time_ratios, 0.95),
        "queries": {name: one.to_document() for name, one in course.delivered.items()},
    }
