"""Benchmark `throughput --text`: rows per second over lines of JSON, and CPU per row of the demo's queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.inputs.known_hosts import write_known_hosts
from streamshed_bench.inputs.packet_input import packet_trace, stage_typed
from streamshed_bench.inputs.packet_lines import written_as_lines
from streamshed_bench.runs.answer_check import AnswerCheck
from streamshed_bench.runs.duckdb_oracle import DuckDB
from streamshed_bench.runs.workplace import Workplace, bench_session, workplace
from streamshed_bench.speed.contest import Contest, Portion
from streamshed_bench.speed.contest_rounds import (
    DUCKDB_THREADS,
    Rounds,
    RoundSizes,
    figures_of_rounds,
    measured_rounds,
)
from streamshed_bench.speed.demo_cpu import DemoRun, DemoSizes, demo_cpu, microseconds_per_row
from streamshed_bench.speed.throughput_pictures import draw_text_throughput


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSizes:
    """How much is measured.

    Args:
        rows_per_file: Rows of a staged file.
        seven: What the rounds of the seven queries measure.
        demo: What is measured of the demo's queries.
        left_out: What the full benchmark measures beyond this.
    """

    rows_per_file: int
    seven: RoundSizes
    demo: DemoSizes
    left_out: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """How many files are staged."""
        return max(self.seven.ours.files, self.seven.native.files)

    def rows_of(self, portion: Portion) -> int:
        """Rows of a micro-batch."""
        return portion.files_per_micro_batch * self.rows_per_file


TEXT_FULL = TextSizes(
    rows_per_file=500_000,
    seven=RoundSizes(
        warm_up=1,
        rounds=5,
        ours=Portion(files_per_micro_batch=6, micro_batches=4),
        native=Portion(files_per_micro_batch=6, micro_batches=3),
    ),
    demo=DemoSizes(warm_up=24, micro_batches=20),
)
TEXT_QUICK = TextSizes(
    rows_per_file=250_000,
    seven=RoundSizes(
        warm_up=0,
        rounds=1,
        ours=Portion(files_per_micro_batch=4, micro_batches=3),
        native=Portion(files_per_micro_batch=2, micro_batches=2),
    ),
    demo=DemoSizes(warm_up=8, micro_batches=6),
    left_out=(
        "micro-batches of 3 M rows: ours are of 1 M, plain Spark's of 0.5 M, so that fixed cost weighs more",
        "four of five rounds",
        "14 of 20 micro-batches of the demo, and 16 of 24 to warm up",
    ),
)


def figures_of_text(rounds: Rounds, check: AnswerCheck, cpu: Mapping[str, float]) -> dict[str, float]:
    """Condense measurements into figures.

    Args:
        rounds: The seven queries in three ways.
        check: How our answers compare with DuckDB's.
        cpu: Microseconds per row of the demo, by who used them; empty: the system does not tell.
    """
    used = {"cpu_microseconds_per_row": sum(cpu.values())} if cpu else {}
    return {**figures_of_rounds(rounds, check), **used}


def run_over_text(options: BenchOptions) -> BenchResult:
    """Measure throughput over lines of JSON.

    Raises:
        MissingExtraError: DuckDB is not installed.
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read.
        StuckQueryError: The demo's queries did not go on.
    """
    sizes = TEXT_QUICK if options.quick else TEXT_FULL
    progress, duckdb = options.progress, DuckDB(DUCKDB_THREADS)
    with workplace() as place:
        known_hosts = write_known_hosts(place.folder / "known_hosts.parquet")
        files = _staged(options, place, sizes)
        with bench_session("throughput --text") as spark:
            contest = Contest(spark, place, files=files, rows_per_file=sizes.rows_per_file, known_hosts=known_hosts)
            check, rounds = measured_rounds(
                contest, duckdb, sizes.seven, lambda step, share: progress(step, 0.1 + 0.6 * share)
            )
            demo = demo_cpu(
                spark,
                place,
                sizes.demo,
                seed=options.seed,
                progress=lambda step, share: progress(step, 0.7 + 0.3 * share),
            )
    duckdb.close()
    cpu = {} if demo.cpu is None else microseconds_per_row(demo.cpu, sizes.demo.micro_batches)
    return BenchResult(
        figures=figures_of_text(rounds, check, cpu),
        details=_details(rounds, demo, cpu, sizes),
        picture=partial(draw_text_throughput, bars=rounds.medians, cpu=cpu),
    )


def _staged(options: BenchOptions, place: Workplace, sizes: TextSizes) -> tuple[Path, ...]:
    typed = stage_typed(
        packet_trace(options),
        place.folder,
        files=sizes.files,
        rows_per_file=sizes.rows_per_file,
        progress=lambda share: options.progress("staging packets", 0.05 * share),
    )
    return written_as_lines(
        typed, place.new("lines"), progress=lambda share: options.progress("writing them as JSON", 0.05 + 0.05 * share)
    )


def _details(rounds: Rounds, demo: DemoRun, cpu: Mapping[str, float], sizes: TextSizes) -> dict[str, object]:
    return {
        "rows_per_micro_batch": {
            "ours": sizes.rows_of(sizes.seven.ours),
            "native_7": sizes.rows_of(sizes.seven.native),
        },
        "rounds": asdict(rounds),
        "demo_cpu_microseconds_per_row": dict(cpu),
        "demo_rows_of_micro_batches": list(demo.rows),
        "demo_micro_batches": sizes.demo.micro_batches,
        "demo_warm_up": sizes.demo.warm_up,
        "duckdb_threads": DUCKDB_THREADS,
        "left_out": list(sizes.left_out),
    }
