"""What happened in a simulation of a network on a cluster, and the figures that it comes down to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseMoment:
    """One micro-batch.

    Attributes:
        started_at_seconds: When it took its rows.
        offered_rows: How many, of all streams.
        shed_share: The share of rows that queries are not answered from, on average over queries.
        worst_error: The largest relative standard error that is expected of a query.
        latency_seconds: From the arrival of its oldest row to its answers.
        processing_seconds: How long it took.
        running: Workers that it ran on.
        committed: Those, and those that were starting.
        wanted: How many there should be.
        scaling_reason: Why.
        scaling_explanation: The same as a sentence.
        offered_utilization: τ of the offered load.
        admitted_utilization: τ of the admitted load.
        fixed_utilization: The part of both that workers do not share.
        demand: How many workers' whole time the offered work takes that can be shared out.
        saturated: Whether what nothing can save did not fit.
        skipped_rows: About how many of the offered rows were skipped as too old.
    """

    started_at_seconds: float
    offered_rows: int
    shed_share: float
    worst_error: float
    latency_seconds: float
    processing_seconds: float
    running: int
    committed: int
    wanted: int
    scaling_reason: str
    scaling_explanation: str
    offered_utilization: float
    admitted_utilization: float
    fixed_utilization: float
    demand: float
    saturated: bool
    skipped_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryCourse:
    """What became of the answers of one query.

    Attributes:
        query: Its name.
        whole_share: The share of the time in which nothing of it was shed.
        least_rate: Its smallest effective sampling rate.
        worst_error: The largest relative standard error expected of it.
        mean_error: The same, on average over the time in which it was shed; 0 where it never was.
        kept_windows_share: The share of its windows that it kept in the long run, at worst; 1: none was dropped.
    """

    query: str
    whole_share: float
    least_rate: float
    worst_error: float
    mean_error: float
    kept_windows_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spell:
    """A time in which load was shed without a break.

    Attributes:
        start_seconds: When it began.
        end_seconds: When it ended.
        worst_share: The largest share of rows shed.
    """

    start_seconds: float
    end_seconds: float
    worst_share: float


@dataclass(frozen=True, kw_only=True)
class Course:
    """A simulation, micro-batch by micro-batch.

    Attributes:
        moments: In order, at least one.
        queries: What became of each query's answers.
        failures: How many workers died.
        end_seconds: When the last micro-batch was due to be followed.
        latency_goal_seconds: The goal of latencies.
    """

    moments: Sequence[CourseMoment]
    queries: Sequence[QueryCourse]
    failures: int
    end_seconds: float
    latency_goal_seconds: float

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Seconds from the start of each micro-batch to that of the next."""
        starts = [moment.started_at_seconds for moment in self.moments]
        return np.diff(np.array([*starts, max(self.end_seconds, starts[-1])]))

    @property
    def rows_skipped_share(self) -> float:
        """About which share of all rows was skipped as too old."""
        rows = sum(moment.offered_rows for moment in self.moments)
        return sum(moment.skipped_rows for moment in self.moments) / rows if rows else 0.0

    @property
    def rows_shed_share(self) -> float:
        """The share of all rows that queries are not answered from, on average over queries; none that was skipped."""
        rows = np.array([moment.offered_rows for moment in self.moments], dtype=np.float64)
        skipped = np.array([moment.skipped_rows for moment in self.moments], dtype=np.float64)
        shed = np.array([moment.shed_share for moment in self.moments])
        return float((rows - skipped) @ shed / rows.sum()) if rows.sum() > 0 else 0.0

    @property
    def time_over_latency_goal_seconds(self) -> float:
        """How long answers came later than they should."""
        late = np.array([moment.latency_seconds for moment in self.moments]) > self.latency_goal_seconds * (1 + 1e-9)
        return float(self.lengths[late].sum())

    @property
    def rescales(self) -> Sequence[CourseMoment]:
        """The moments in which workers were asked for or released."""
        return [moment for moment in self.moments if moment.wanted != moment.committed]

    @property
    def worker_hours(self) -> float:
        """How long workers ran, all together."""
        return float(self.lengths @ np.array([moment.running for moment in self.moments], dtype=np.float64)) / 3600

    def latency_seconds(self, share: float) -> float:
        """Return the latency that this share of micro-batches kept to."""
        return float(np.quantile([moment.latency_seconds for moment in self.moments], share))

    @property
    def spells(self) -> Sequence[Spell]:
        """When load was shed."""
        return list(self._spells())

    def _spells(self) -> Iterator[Spell]:
        start, worst = None, 0.0
        for moment in self.moments:
            if moment.shed_share > 0:
                start, worst = moment.started_at_seconds if start is None else start, max(worst, moment.shed_share)
            elif start is not None:
                yield Spell(start_seconds=start, end_seconds=moment.started_at_seconds, worst_share=worst)
                start, worst = None, 0.0
        if start is not None:
            yield Spell(start_seconds=start, end_seconds=self.end_seconds, worst_share=worst)
