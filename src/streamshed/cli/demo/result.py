"""What a demo measured, put together from its journal and its answers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamshed.cli.demo.answers import Pair, WindowError, window_errors
from streamshed.cli.demo.predicted import PredictionFigures, prediction_figures

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstTimes:
    """When the burst was, in seconds since 1970: on the clock, and in event time."""

    begin: float
    end: float
    event_begin: float
    event_end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchFigures:
    """How the engine fared.

    Args:
        micro_batches: How many there were.
        burst_micro_batches: How many of them took rows of the burst.
        p95_utilization: 95th percentile of processing time by trigger interval, from the burst on.
        burst_kept_share: Rows used by rows that came, in the burst.
        worst_delay_seconds: Longest time from a row's arrival to its answers.
        seconds_to_whole: From the end of the burst to the first micro-batch from which on nothing was shed;
            None: that did not come.
    """

    micro_batches: int
    burst_micro_batches: int
    p95_utilization: float
    burst_kept_share: float
    worst_delay_seconds: float
    seconds_to_whole: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """How the answers fared.

    Args:
        answers: How many exact values there are to be answered.
        approximate_answers: How many were answered from a sample.
        mean_error: Mean over aggregates and windows that were sampled of Σ|answer − exact| / Σ|exact|.
        worst_error: The largest of them.
        intervals: Answers with an interval to rely on.
        intervals_held: How many of these hold the exact value.
        outside_answers: Answers of windows that ended before the burst, or began after it.
        outside_exact_answers: How many of these were said to be exact.
        wrong_exact_answers: Answers said to be exact that differ from the exact value.
        missing_answers: Exact values without an answer, though nothing said that they would be missing.
        unseen_groups: Groups without an answer in windows whose other answers say that they are of samples.
        subset_answers: Exact values of the queries that dropped windows.
        dropped_answers: How many of these were said to be missing.
        longest_gap: How many windows in a row a group of them missed at most.
        predictions: How far off predictions of these would be.
    """

    answers: int
    approximate_answers: int
    mean_error: float
    worst_error: float
    intervals: int
    intervals_held: int
    outside_answers: int
    outside_exact_answers: int
    wrong_exact_answers: int
    missing_answers: int
    unseen_groups: int = 0
    subset_answers: int = 0
    dropped_answers: int = 0
    longest_gap: int = 0
    predictions: PredictionFigures = field(default_factory=PredictionFigures)


def micro_batch_figures(
    journal: pd.DataFrame, times: BurstTimes, *, trigger_interval_seconds: float
) -> MicroBatchFigures:
    """Take the figures out of a journal.

    A micro-batch that starts during the burst, or one interval after it, takes rows of the burst.
    """
    rows = journal.sort_values("started_at_seconds")

    def column(name: str) -> list[float]:
        return [float(value) for value in rows[name]]

    started = column("started_at_seconds")
    in_burst = [times.begin < time <= times.end + trigger_interval_seconds for time in started]
    offered, admitted = (
        sum(value for value, flag in zip(column(name), in_burst, strict=True) if flag)
        for name in ("offered_rows", "admitted_rows")
    )
    utilizations = [value for time, value in zip(started, column("utilization"), strict=True) if time > times.begin]
    shed = [time for time, rate in zip(started, column("sampling_rate"), strict=True) if rate < 1]
    last_shed = max(shed, default=times.end)
    whole = [time for time in started if time > max(last_shed, times.end)]
    return MicroBatchFigures(
        micro_batches=len(started),
        burst_micro_batches=sum(in_burst),
        p95_utilization=percentile(utilizations, 0.95),
        burst_kept_share=admitted / offered if offered else 1.0,
        worst_delay_seconds=max(column("delay_seconds"), default=0.0),
        seconds_to_whole=min(whole) - times.end if whole else None,
    )


def answer_figures(pairs: Sequence[Pair], times: BurstTimes) -> AnswerFigures:
    """Take the figures out of answers beside exact values."""
    outside = [pair for pair in pairs if is_outside(pair, times)]
    held = [pair.is_held for pair in pairs if pair.is_held is not None]
    errors = sampled_errors(pairs)
    dropping = {pair.truth.query for pair in pairs if pair.is_dropped}
    sampled = {_window(pair) for pair in pairs if pair.answer is not None and not pair.is_exact}
    absent = [pair for pair in pairs if pair.answer is None and not pair.is_dropped]
    unseen = sum(bool(pair.truth.key) and _window(pair) in sampled for pair in absent)
    return AnswerFigures(
        answers=len(pairs),
        approximate_answers=sum(pair.answer is not None and not pair.is_exact for pair in pairs),
        mean_error=statistics.fmean(errors) if errors else 0.0,
        worst_error=max(errors, default=0.0),
        intervals=len(held),
        intervals_held=sum(held),
        outside_answers=len(outside),
        outside_exact_answers=sum(pair.is_exact for pair in outside),
        wrong_exact_answers=sum(pair.is_exact and not pair.is_right for pair in pairs),
        missing_answers=len(absent) - unseen,
        unseen_groups=unseen,
        subset_answers=sum(pair.truth.query in dropping for pair in pairs),
        dropped_answers=sum(pair.is_dropped for pair in pairs),
        longest_gap=_longest_gap(pairs),
        predictions=prediction_figures(pairs),
    )


def _window(pair: Pair) -> tuple[str, int]:
    return pair.truth.query, pair.truth.start


def _longest_gap(pairs: Sequence[Pair]) -> int:
    longest, runs = 0, dict[tuple[object, ...], int]()
    for pair in pairs:
        group = (pair.truth.query, pair.truth.aggregate, pair.truth.key)
        runs[group] = runs.get(group, 0) + 1 if pair.is_dropped else 0
        longest = max(longest, runs[group])
    return longest


def sampled_errors(pairs: Sequence[Pair]) -> list[float]:
    """The errors of the windows that were not answered exactly."""
    return [error.error for error in all_window_errors(pairs) if not error.is_exact]


def all_window_errors(pairs: Sequence[Pair]) -> list[WindowError]:
    """The errors of all windows."""
    return list(window_errors(pairs))


def is_outside(pair: Pair, times: BurstTimes) -> bool:
    """Whether a window has nothing to do with the burst."""
    return pair.truth.end <= times.event_begin * 1e6 or pair.truth.start >= times.event_end * 1e6


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values do not exceed; 0 of none.

    Example:
        >>> percentile([0.5, 0.9, 0.7, 0.8], 0.95), percentile([], 0.95)
        (0.9, 0.0)
    """
    ordered = sorted(values)
    if not ordered:
        return 0.0
    rank = -int(-share * len(ordered) // 1)
    return ordered[max(0, rank - 1)]
