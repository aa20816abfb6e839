"""What a run looked like over time: the data behind its picture."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

Course = tuple[tuple[float, float], ...]
"""Points (seconds since the start, value) in the order of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of time worth marking, in seconds since the start."""

    begin_seconds: float
    end_seconds: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A run over time. Points of micro-batches stand where the micro-batch started.

    Args:
        trigger_interval_seconds: How often a micro-batch should start.
        offered: Rows per second that came.
        admitted: Rows per second that passed the samplers.
        sampling_rates: The least effective sampling rate of any query.
        processing: Seconds that micro-batches took.
        delay: Seconds from the arrival of a micro-batch's oldest row to its answers.
        errors: Relative error of the answers by query, at the ends of their windows.
        error_name: What the error is, for the axis.
        spans: What is to be marked.
    """

    trigger_interval_seconds: float
    offered: Course
    admitted: Course
    sampling_rates: Course
    processing: Course
    delay: Course
    errors: Mapping[str, Course] = field(default_factory=dict)
    error_name: str = "relative error"
    spans: tuple[Span, ...] = ()


def timeline_of_journal(journal: pd.DataFrame, *, start_seconds: float) -> Timeline:
    """Put a run's journal on a time axis.

    Args:
        journal: One row per micro-batch, as `Run.journal` returns it.
        start_seconds: The zero of the axis, seconds since the epoch.

    Returns:
        The timeline, without errors and spans; its error would be the one that the intervals promise.
    """
    rows = journal.sort_values("started_at_seconds")
    begins = [float(value) - start_seconds for value in rows["started_at_seconds"]]
    interval = float(rows["trigger_interval_seconds"].iloc[-1]) if len(rows) else 1.0
    gaps = [interval] + [max(interval, late - early) for early, late in itertools.pairwise(begins)]

    def course(values: list[float]) -> Course:
        return tuple(zip(begins, values, strict=True))

    def column(name: str) -> list[float]:
        return [float(value) for value in rows[name]]

    def per_second(name: str) -> list[float]:
        return [value / gap for value, gap in zip(column(name), gaps, strict=False)]

    return Timeline(
        trigger_interval_seconds=interval,
        offered=course(per_second("offered_rows")),
        admitted=course(per_second("admitted_rows")),
        sampling_rates=course(column("sampling_rate")),
        processing=course(column("processing_seconds")),
        delay=course(column("delay_seconds")),
    )
