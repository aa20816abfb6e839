"""Benchmark `start`: how soon a network answers that finds a backlog, and how soon with a short trigger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from streamshed_bench.contract import BenchOptions, BenchResult
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.packet_input import packet_trace
from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_figures import percentile
from streamshed_bench.runs.burst_sizes import HEADROOM
from streamshed_bench.runs.workplace import workplace
from streamshed_bench.topics.cold_run import ColdRun, ColdRuns
from streamshed_bench.topics.start_figures import (
    StartedMicroBatch,
    answer_seconds,
    answer_shares,
    course_of,
    kept_share,
    start_figures,
)
from streamshed_bench.topics.start_picture import draw_start
from streamshed_bench.topics.start_sizes import FULL, QUICK, StartSizes
from streamshed_bench.topics.topic_start import topic_runs

_BEST_IS_MOST = ("share",)
"""Of figures whose names have this the least decides, of others the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start with a backlog.

    Attributes:
        figures: By name, without that of the source.
        course: Its micro-batches with rows.
    """

    figures: Mapping[str, float]
    course: Sequence[StartedMicroBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortTrigger:
    """A run with a short trigger.

    Attributes:
        utilizations: Processing time ÷ trigger interval of the micro-batches that count.
        answer_seconds: From the arrival of the last row of a window to each of its answers.
        kept_share: Share of the work on the rows that was done.
        shares: Of answers that came, and in how many of them the exact value is within bounds.
    """

    utilizations: Sequence[float]
    answer_seconds: Sequence[float]
    kept_share: float
    shares: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOutcome:
    """What was measured.

    Attributes:
        starts: By source, each start.
        short: With the short trigger.
    """

    starts: Mapping[str, Sequence[Start]]
    short: ShortTrigger


def run(options: BenchOptions) -> BenchResult:
    """Measure starts.

    Raises:
        JavaUnavailableError: There is no Java, or it is too old.
        SourceUnavailableError: The trace cannot be read, or no broker can be started.
        UnfinishedBenchmarkError: The machine is too slow, or too busy.
    """
    sizes = QUICK if options.quick else FULL
    with workplace() as place:
        trace = packet_trace(options)
        runs = ColdRuns(place, trace, sizes)
        starts = {"folder": _starts(runs, sizes, lambda step, share: options.progress(step, 0.4 * share))}
        short = _short_trigger(runs, sizes, lambda step, share: options.progress(step, 0.4 + 0.2 * share))
        if sizes.topic_rows_per_second:
            cold, exact = topic_runs(
                place, trace, runs, sizes, lambda step, share: options.progress(step, 0.6 + 0.4 * share)
            )
            starts["kafka"] = [start_of(one, exact, sizes) for one in cold]
    outcome = StartOutcome(starts=starts, short=short)
    return BenchResult(
        figures=figures_of(outcome),
        details=_details(outcome, sizes),
        picture=partial(
            draw_start,
            courses={source: starts[0].course for source, starts in outcome.starts.items()},
            answer_seconds=short.answer_seconds,
            goal_seconds=sizes.latency_seconds,
        ),
    )


def figures_of(outcome: StartOutcome) -> dict[str, float]:
    """Condense what was measured into the benchmark's figures: of several starts the worst decides."""
    figures: dict[str, float] = {}
    for source, starts in outcome.starts.items():
        for name in starts[0].figures:
            worst = min if any(part in name for part in _BEST_IS_MOST) else max
            figures[f"{source}_{name}"] = worst(start.figures[name] for start in starts)
    short = outcome.short
    return figures | {
        "half_second_trigger_utilization_p95": percentile(short.utilizations, 0.95),
        "half_second_answer_p95_seconds": percentile(short.answer_seconds, 0.95),
        "half_second_kept_share": short.kept_share,
        "half_second_answered_share": short.shares[0],
        "half_second_in_bounds_share": short.shares[1],
    }


def start_of(run: ColdRun, exact: Mapping[Key, float], sizes: StartSizes) -> Start:
    """Say how a start went.

    Args:
        run: What it left.
        exact: The exact answers.
        sizes: How much was run.

    Raises:
        UnfinishedBenchmarkError: It answered nothing.
    """
    called = run.notes.called_at_seconds
    if not run.notes.answers:
        raise UnfinishedBenchmarkError("a network that was started answered no window")
    course = course_of(run.journal, run.sent, called_at_seconds=called)
    first = min(answer.at_seconds for answer in run.notes.answers)
    answered_share, in_bounds_share = answer_shares(run.notes.answers, exact)
    figures = {
        "seconds_to_first_answer": first - called,
        "seconds_from_process_to_first_answer": first - run.launched_seconds,
        **start_figures(
            course,
            settled_seconds=sizes.settled_seconds,
            until_seconds=run.fed_seconds - called,
            goal_seconds=sizes.latency_seconds,
        ),
        "answered_share": answered_share,
        "in_bounds_share": in_bounds_share,
    }
    return Start(figures=figures, course=course)


def _starts(runs: ColdRuns, sizes: StartSizes, progress: Callable[[str, float], None]) -> list[Start]:
    progress("staging", 0.0)
    seconds = sizes.backlog_seconds + sizes.fed_seconds
    feed = runs.staged(seconds, rows_per_second=sizes.rows_per_second, file_seconds=sizes.file_seconds)
    exact = runs.exact(feed)
    starts = []
    for number in range(sizes.rounds):
        step = f"start {number + 1} of {sizes.rounds} over a folder"

        def show(share: float, step: str = step, number: int = number) -> None:
            progress(step, 0.1 + 0.9 * (number + share) / sizes.rounds)

        starts.append(start_of(runs.with_backlog(feed, show), exact, sizes))
    return starts


def _short_trigger(runs: ColdRuns, sizes: StartSizes, progress: Callable[[str, float], None]) -> ShortTrigger:
    step = f"a trigger of {sizes.short_trigger_seconds:g} s"
    progress(step, 0.0)
    seconds = sizes.short_warm_up_seconds + sizes.short_seconds
    feed = runs.staged(seconds, rows_per_second=sizes.rows_per_second, file_seconds=sizes.short_file_seconds)
    run = runs.with_short_trigger(feed, lambda share: progress(step, 0.1 + 0.9 * share))
    course = [
        micro_batch
        for micro_batch in course_of(run.journal, run.sent, called_at_seconds=run.began_seconds)
        if sizes.short_warm_up_seconds <= micro_batch.started_seconds <= run.fed_seconds - run.began_seconds
    ]
    late = answer_seconds(
        run.notes.answers,
        feed.files,
        began_seconds=run.began_seconds,
        speed=sizes.event_speed,
        settled_seconds=sizes.short_warm_up_seconds,
    )
    if not (course and late):
        raise UnfinishedBenchmarkError(f"with {step} no window was answered in {sizes.short_seconds:g} s")
    return ShortTrigger(
        utilizations=[one.seconds / sizes.short_trigger_seconds for one in course],
        answer_seconds=late,
        kept_share=kept_share(course),
        shares=answer_shares(run.notes.answers, runs.exact(feed)),
    )


def _details(outcome: StartOutcome, sizes: StartSizes) -> dict[str, object]:
    return {
        "rows_per_second": sizes.rows_per_second,
        "topic_rows_per_second": sizes.topic_rows_per_second,
        "backlog_seconds": sizes.backlog_seconds,
        "fed_seconds": sizes.fed_seconds,
        "trigger_seconds": sizes.trigger_seconds,
        "latency_seconds": sizes.latency_seconds,
        "headroom": HEADROOM,
        "event_speed": sizes.event_speed,
        "starts": {source: [dict(one.figures) for one in starts] for source, starts in outcome.starts.items()},
        "late_at_the_end": {
            source: [start.course[-1].arrival_delay_seconds > sizes.latency_seconds for start in starts]
            for source, starts in outcome.starts.items()
        },
        "courses": {
            source: [[_row(one) for one in start.course] for start in starts]
            for source, starts in outcome.starts.items()
        },
        "short_trigger_seconds": sizes.short_trigger_seconds,
        "short_micro_batches": len(outcome.short.utilizations),
        "short_mean_utilization": sum(outcome.short.utilizations) / len(outcome.short.utilizations),
        "short_answers": len(outcome.short.answer_seconds),
        "left_out": list(sizes.left_out),
    }


def _row(micro_batch: StartedMicroBatch) -> dict[str, float]:
    return {
        "started_seconds": round(micro_batch.started_seconds, 2),
        "processing_seconds": round(micro_batch.seconds, 3),
        "delay_seconds": round(micro_batch.delay_seconds, 2),
        "arrival_delay_seconds": round(micro_batch.arrival_delay_seconds, 2),
        "rows": micro_batch.rows,
        "work_share": round(micro_batch.work_share, 4),
    }
