"""Benchmark `nexmark`: queries of Nexmark beside plain Spark's, and a network of its windows under load."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.machine import cores
from streamshed_bench.nexmark.events import MIDNIGHT_MICROSECONDS
from streamshed_bench.nexmark.nexmark_figures import QuerySpeeds, UnderLoad, load_figures_of, query_figures
from streamshed_bench.nexmark.nexmark_load import measured_loads
from streamshed_bench.nexmark.nexmark_picture import draw_nexmark
from streamshed_bench.nexmark.nexmark_sizes import FULL, QUICK, NexmarkSizes
from streamshed_bench.nexmark.side_by_side import SideBySide
from streamshed_bench.nexmark.staged_events import StagedEvents, spans_in_row, staged_events
from streamshed_bench.nexmark.statements import ASKED, COLUMNS, NOT_EXPRESSIBLE, NexmarkQuery
from streamshed_bench.runs.workplace import bench_session, workplace

_BEFORE_MIDNIGHT = 8_000_000
"""Event time begins so long before a midnight, microseconds: a window of a day ends during each run."""
_SIDE_BY_SIDE = 0.6
"""The share of the time that comparing with plain Spark takes."""


def run(options: BenchOptions) -> BenchResult:
    """Measure queries of Nexmark.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        UnfinishedBenchmarkError: The machine is too slow, or too busy.
    """
    sizes = QUICK if options.quick else FULL
    with workplace() as place, bench_session("nexmark") as spark:

        def staged(events_per_file: int, files: int) -> StagedEvents:
            start = MIDNIGHT_MICROSECONDS - _BEFORE_MIDNIGHT
            spans = spans_in_row(files, events_per_file, start_microseconds=start, seed=options.seed)
            progress = partial(options.progress, "staging events")
            return staged_events(place.new("events"), spans, tuple(COLUMNS), lambda share: progress(0.02 * share))

        checked = SideBySide(spark, place, staged(sizes.checked_events_per_file, sizes.checked.files))
        measured = SideBySide(spark, place, staged(sizes.events_per_file, sizes.measured.files))
        speeds = {
            name: _speeds(ASKED[name], checked, measured, sizes, partial(_progress, options, sizes, name))
            for name in sizes.queries
        }
        sustained, loaded = measured_loads(
            spark,
            place,
            sizes.loaded,
            seed=options.seed,
            progress=lambda step, share: options.progress(step, _SIDE_BY_SIDE + (1 - _SIDE_BY_SIDE) * share),
        )
    figures = query_figures(speeds, cores=cores()) | load_figures_of(loaded, sustained, cores=cores())
    return BenchResult(
        figures=figures,
        details=_details(speeds, loaded, sizes),
        picture=partial(draw_nexmark, figures=figures),
    )


def _progress(options: BenchOptions, sizes: NexmarkSizes, name: str, step: str) -> None:
    done = sizes.queries.index(name) / len(sizes.queries)
    options.progress(f"{name}: {step}", 0.02 + (_SIDE_BY_SIDE - 0.02) * done)


def _speeds(
    query: NexmarkQuery, checked: SideBySide, measured: SideBySide, sizes: NexmarkSizes, progress: Callable[[str], None]
) -> QuerySpeeds:
    progress("answers compared")
    check = checked.check(query, sizes.checked)
    ours: list[float] = []
    native: list[float] = []
    refusal = None
    for number in range(sizes.rounds):
        progress(f"round {number + 1} of {sizes.rounds}")
        for is_ours in (True, False) if number % 2 == 0 else (False, True):
            if is_ours:
                ours.append(measured.ours(query, sizes.measured))
            elif isinstance(outcome := measured.native(query, sizes.measured), str):
                refusal = outcome
            else:
                native.append(outcome)
    return QuerySpeeds(ours=tuple(ours), native=tuple(native), refusal=refusal, check=check)


def _details(
    speeds: Mapping[str, QuerySpeeds], loaded: Mapping[float, UnderLoad], sizes: NexmarkSizes
) -> dict[str, object]:
    return {
        "events_per_micro_batch": sizes.events_per_file * sizes.measured.files_per_micro_batch,
        "rounds": {name: {"ours": of.ours, "native": of.native} for name, of in speeds.items()},
        "rows_compared": {name: [of.check.compared, of.check.different] for name, of in speeds.items()},
        "not_expressible": dict(NOT_EXPRESSIBLE),
        "refused_by_native": {name: of.refusal for name, of in speeds.items() if of.refusal is not None},
        "kept_share": {f"{load:g}": under.figures.kept_share for load, under in loaded.items()},
        "utilization": {f"{load:g}": under.figures.utilization for load, under in loaded.items()},
        "left_out": list(sizes.left_out),
    }
