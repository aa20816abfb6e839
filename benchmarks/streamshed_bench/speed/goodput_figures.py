"""What the benchmark `goodput` says of each load: useful rows, delay, and errors beside those of an oracle."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from streamshed_bench.runs.answer_check import Key
from streamshed_bench.runs.burst_figures import percentile


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedMicroBatch:
    """One micro-batch at a load.

    Args:
        started_at_seconds: When it started, on the clock.
        offered_rows: Rows read.
        work_share: Share of the work on its rows that was done.
        delay_seconds: From the arrival of its oldest row to its answers.
        utilization: Processing time ÷ trigger interval.
    """

    started_at_seconds: float
    offered_rows: int
    work_share: float
    delay_seconds: float
    utilization: float

    @property
    def useful_rows(self) -> float:
        """Rows on which the work was done."""
        return self.offered_rows * self.work_share


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """How a run does at a load.

    Args:
        useful_rows_per_second: Rows per second of the clock on which the work was done.
        kept_share: Of the rows that came.
        delay_ratio: 95th percentile of the delay ÷ the latency goal.
        utilization: Mean processing time ÷ trigger interval.
    """

    useful_rows_per_second: float
    kept_share: float
    delay_ratio: float
    utilization: float


def load_figures(micro_batches: Sequence[LoadedMicroBatch], *, goal_seconds: float) -> LoadFigures | None:
    """Condense the micro-batches of a load that count.

    Args:
        micro_batches: In order; the last one only ends the time of those before it.
        goal_seconds: The latency goal.

    Returns:
        The figures; None where fewer than two micro-batches started: it is not told how long one took.

    Example:
        >>> micro_batches = [
        ...     LoadedMicroBatch(started_at_seconds=start, offered_rows=400, work_share=0.5, delay_seconds=3.0,
        ...                      utilization=0.8)
        ...     for start in (0.0, 2.0, 4.0)
        ... ]
        >>> load_figures(micro_batches, goal_seconds=5.0)
        LoadFigures(useful_rows_per_second=100.0, kept_share=0.5, delay_ratio=0.6, utilization=0.8)
    """
    if len(micro_batches) < 2:
        return None
    counted = micro_batches[:-1]
    seconds = micro_batches[-1].started_at_seconds - micro_batches[0].started_at_seconds
    offered = sum(micro_batch.offered_rows for micro_batch in counted)
    useful = sum(micro_batch.useful_rows for micro_batch in counted)
    return LoadFigures(
        useful_rows_per_second=useful / seconds,
        kept_share=useful / offered if offered else 1.0,
        delay_ratio=percentile([micro_batch.delay_seconds for micro_batch in counted], 0.95) / goal_seconds,
        utilization=fmean(micro_batch.utilization for micro_batch in counted),
    )


def mean_error(answers: Mapping[Key, float], exact: Mapping[Key, float]) -> float | None:
    """Return the mean relative error of the answers, None without any.

    Args:
        answers: Those that were delivered.
        exact: The right ones; what is 0 has no relative error, and does not count.

    Example:
        >>> mean_error({("q", "n", 10): 9.0, ("q", "n", 20): 20.0}, {("q", "n", 10): 10.0, ("q", "n", 20): 20.0})
        0.05
    """
    errors = [abs(answers[key] - exact[key]) / abs(exact[key]) for key in answers.keys() & exact.keys() if exact[key]]
    return fmean(errors) if errors else None


def oracle_error(counts: Mapping[Key, float], *, load: float) -> float | None:
    """Return the mean relative error of counts by an oracle that knows the capacity, and keeps as many rows as fit.

    It keeps each row with probability P = min(1, 1/L). A count of n rows is then off by a relative standard error
    of √((1 − P)/(P·n)) ([B04] §3), of which the mean absolute deviation is √(2/π).

    Args:
        counts: The exact counts.
        load: L, as a multiple of what is sustained.

    Returns:
        The mean; None without any count above 0.

    Example:
        >>> oracle_error({("q", "n", 10): 100.0}, load=0.5), round(oracle_error({("q", "n", 10): 100.0}, load=2.0), 4)
        (0.0, 0.0798)
    """
    sampling_rate = min(1.0, 1.0 / load)
    errors = [math.sqrt((1 - sampling_rate) / (sampling_rate * count)) for count in counts.values() if count > 0]
    return math.sqrt(2 / math.pi) * fmean(errors) if errors else None
