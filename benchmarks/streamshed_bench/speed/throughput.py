"""Benchmark `throughput`: rows per second of ours, of plain Spark and of DuckDB, and how they fall with queries."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.networks import grouped_network
from streamshed_bench.inputs.packet_input import packet_trace, stage_typed
from streamshed_bench.inputs.workload import packet_queries
from streamshed_bench.runs.answer_check import AnswerCheck
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.runs.workplace import bench_session, workplace
from streamshed_bench.speed.contest import Contest, Portion
from streamshed_bench.speed.contest_rounds import DUCKDB_THREADS, Rounds, figures_of_rounds, measured_rounds
from streamshed_bench.speed.text_throughput import run_over_text
from streamshed_bench.speed.throughput_pictures import draw_throughput
from streamshed_bench.speed.throughput_sizes import FULL, QUICK, ThroughputSizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """What was measured, in rows per second.

    Args:
        seven: The seven queries in three ways.
        ours_70: Our seventy queries, on micro-batches as large as those of the seven.
        native_70: Seventy native queries; None: not measured.
        by_queries: Ours by the number of queries.
        by_keys: Ours by the number of groups of one query.
    """

    seven: Rounds
    ours_70: float
    native_70: float | None
    by_queries: Mapping[int, float] = field(default_factory=dict)
    by_keys: Mapping[int, float] = field(default_factory=dict)


def figures_of(speeds: Speeds, check: AnswerCheck) -> dict[str, float]:
    """Condense speeds into the benchmark's figures."""
    seventy_native = (
        {}
        if speeds.native_70 is None
        else {
            "ratio_to_native_70": speeds.ours_70 / speeds.native_70,
            "rows_per_second_native_70": speeds.native_70,
        }
    )
    return {
        **figures_of_rounds(speeds.seven, check),
        **seventy_native,
        "rows_per_second_70_over_7": speeds.ours_70 / statistics.median(speeds.seven.ours),
        "rows_per_second_70": speeds.ours_70,
        "worst_growth_per_doubling_of_queries": worst_doubling(speeds.by_queries),
        "worst_growth_per_doubling_of_keys": worst_doubling(speeds.by_keys),
    }


def run(options: BenchOptions) -> BenchResult:
    """Measure throughput, over lines of JSON where that is asked for.

    Raises:
        MissingExtraError: DuckDB is not installed.
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
    """
    if options.text:
        return run_over_text(options)
    sizes = QUICK if options.quick else FULL
    duckdb = DuckDB(DUCKDB_THREADS)
    with workplace() as place:
        known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")
        files = stage_typed(
            packet_trace(options),
            place.folder,
            files=sizes.files,
            rows_per_file=sizes.rows_per_file,
            progress=lambda share: options.progress("staging packets", 0.05 * share),
        )
        with bench_session("throughput") as spark:
            contest = Contest(spark, place, files=files, rows_per_file=sizes.rows_per_file, known_hosts=known_hosts)
            check, speeds = _measured(contest, duckdb, sizes, options.progress)
    duckdb.close()
    return BenchResult(
        figures=figures_of(speeds, check),
        details=_details(speeds, sizes),
        picture=partial(_draw, speeds=speeds),
    )


def _measured(
    contest: Contest, duckdb: DuckDB, sizes: ThroughputSizes, progress: Callable[[str, float], None]
) -> tuple[AnswerCheck, Speeds]:
    check, rounds = measured_rounds(
        contest, duckdb, sizes.of_rounds, lambda step, share: progress(step, 0.05 + 0.45 * share)
    )
    seventy = packet_queries(70)
    progress("70 queries", 0.5)
    ours_70 = contest.ours(seventy, sizes.ours)
    if sizes.native_70 is not None:
        progress("70 native queries", 0.55)
    native_70 = None if sizes.native_70 is None else contest.native(seventy, sizes.native_70)
    speeds = Speeds(
        seven=rounds,
        ours_70=ours_70,
        native_70=native_70,
        by_queries=_by_queries(contest, sizes, progress, _measured_already(sizes, rounds.ours, ours_70)),
        by_keys=_by_keys(contest, sizes, progress),
    )
    return check, speeds


def _measured_already(sizes: ThroughputSizes, ours: Sequence[float], ours_70: float) -> dict[int, float]:
    """What the rounds tell of the growth with queries: something, if their micro-batches were as large."""
    alike = sizes.ours.files_per_micro_batch == sizes.grown.files_per_micro_batch
    return {7: statistics.median(ours), 70: ours_70} if alike else {}


def _by_queries(
    contest: Contest, sizes: ThroughputSizes, progress: Callable[[str, float], None], measured: Mapping[int, float]
) -> dict[int, float]:
    speeds = dict(measured)
    for number, count in enumerate(count for count in sizes.query_counts if count not in measured):
        progress(f"{count} queries", 0.65 + 0.2 * number / len(sizes.query_counts))
        speeds[count] = contest.ours(packet_queries(count), sizes.grown)
    return speeds


def _by_keys(contest: Contest, sizes: ThroughputSizes, progress: Callable[[str, float], None]) -> dict[int, float]:
    speeds = {}
    for number, count in enumerate(sizes.key_counts):
        progress(f"{count} groups", 0.85 + 0.15 * number / len(sizes.key_counts))
        speeds[count] = contest.network_speed(partial(grouped_network, keys=count), sizes.grown)
    return speeds


def _details(speeds: Speeds, sizes: ThroughputSizes) -> dict[str, object]:
    def rows(portion: Portion) -> int:
        return sizes.rows_of(portion)

    return {
        "rows_per_micro_batch": {
            "ours": rows(sizes.ours),
            "native_7": rows(sizes.native_7),
            "growth": rows(sizes.grown),
            **({} if sizes.native_70 is None else {"native_70": rows(sizes.native_70)}),
        },
        "rounds": asdict(speeds.seven),
        "rows_per_second_by_queries": {str(count): speed for count, speed in speeds.by_queries.items()},
        "rows_per_second_by_keys": {str(count): speed for count, speed in speeds.by_keys.items()},
        "duckdb_threads": DUCKDB_THREADS,
        "left_out": list(sizes.left_out),
    }


def _draw(path: Path, *, speeds: Speeds) -> None:
    bars = {**speeds.seven.medians, "ours, 70 queries": speeds.ours_70}
    if speeds.native_70 is not None:
        bars["plain Spark, 70 queries"] = speeds.native_70
    draw_throughput(path, bars=bars, by_queries=speeds.by_queries, by_keys=speeds.by_keys)


def worst_doubling(rows_per_second: Mapping[int, float]) -> float:
    """Return by which factor the cost of a row grows per doubling, between the worst two neighboring sizes.

    Between sizes n < m with speeds v(n), v(m) the factor per doubling is (v(n)/v(m))^(1/log2(m/n)).

    Args:
        rows_per_second: Speed by size; at least two sizes.

    Example:
        >>> worst_doubling({7: 3e6, 14: 2e6, 56: 0.5e6})
        2.0
    """
    if len(rows_per_second) < 2:
        raise ValueError(f"growth needs at least two sizes, got {len(rows_per_second)}")
    return max(
        math.pow(rows_per_second[few] / rows_per_second[many], 1 / math.log2(many / few))
        for few, many in itertools.pairwise(sorted(rows_per_second))
    )
