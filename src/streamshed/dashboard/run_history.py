"""What a run has done so far, put together from its states after each micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamshed.spark.run_status import QueryStatus, RunStatus

_REMEMBERED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One micro-batch.

    Attributes:
        offered_rows_per_second: Rows that came, by the time since the micro-batch before.
        kept_share: Rows that passed the samplers by rows that came; 1 where none came.
        utilization: Processing time as a share of the trigger interval.
        delay_seconds: From the arrival of its oldest row to its answers.
    """

    offered_rows_per_second: float
    kept_share: float
    utilization: float
    delay_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySoFar:
    """What a query has answered since the run began.

    Attributes:
        answers: How many answers.
        exact_answers: How many of them are exact.
        relative_error: Of its latest answers: mean of half the interval's width by the value.
        late_pairs: (row, window) pairs that came too late.
        rows: Rows delivered, of a set-valued query.
        latest_window_end_seconds: End of the latest window answered, seconds since the epoch.
    """

    answers: int = 0
    exact_answers: int = 0
    relative_error: float | None = None
    late_pairs: int = 0
    rows: int = 0
    latest_window_end_seconds: float | None = None

    def after(self, status: QueryStatus) -> QuerySoFar:
        """Add the answers of one more micro-batch."""
        answered = status.answers > 0
        ends = (self.latest_window_end_seconds, status.latest_window_end_seconds)
        return QuerySoFar(
            answers=self.answers + status.answers,
            exact_answers=self.exact_answers + status.exact_answers,
            relative_error=status.relative_error if answered else self.relative_error,
            late_pairs=self.late_pairs + status.late_pairs,
            rows=self.rows + status.rows,
            latest_window_end_seconds=max((end for end in ends if end is not None), default=None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """A run up to now.

    Attributes:
        latest: Its state after the latest micro-batch; None before the first.
        moments: The latest micro-batches, oldest first.
        queries: What each query has answered, by name.
        micro_batches: How many have finished.
        offered_rows: Rows that came, in all of them.
        admitted_rows: Rows that passed the samplers.
        unreadable_rows: Rows set aside.
    """

    latest: RunStatus | None = None
    moments: tuple[Moment, ...] = ()
    queries: Mapping[str, QuerySoFar] = field(default_factory=dict)
    micro_batches: int = 0
    offered_rows: int = 0
    admitted_rows: int = 0
    unreadable_rows: int = 0

    @property
    def late_pairs(self) -> int:
        """(row, window) pairs that came too late, of all queries."""
        return sum(query.late_pairs for query in self.queries.values())

    def after(self, status: RunStatus) -> RunHistory:
        """Add the state after one more micro-batch; one that is known already changes nothing."""
        if status.micro_batch_id < 0 or (self.latest and status.micro_batch_id <= self.latest.micro_batch_id):
            return self
        queries = dict(self.queries)
        for name, query in status.queries.items():
            queries[name] = queries.get(name, QuerySoFar()).after(query)
        return replace(
            self,
            latest=status,
            moments=(*self.moments, self._moment(status))[-_REMEMBERED:],
            queries=queries,
            micro_batches=self.micro_batches + 1,
            offered_rows=self.offered_rows + status.offered_rows,
            admitted_rows=self.admitted_rows + status.admitted_rows,
            unreadable_rows=status.unreadable_rows,
        )

    def _moment(self, status: RunStatus) -> Moment:
        gap = status.trigger_interval_seconds
        if self.latest is not None:
            gap = max(gap, status.started_at_seconds - self.latest.started_at_seconds)
        return Moment(
            offered_rows_per_second=status.offered_rows / gap,
            kept_share=status.admitted_rows / status.offered_rows if status.offered_rows else 1.0,
            utilization=status.utilization,
            delay_seconds=status.delay_seconds,
        )
