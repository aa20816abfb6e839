"""What a run has done so far, put together from its states after each micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from streamshed.spark.loop.run_status import QueryStatus, RunStatus

_REMEMBERED = 60
_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMoment:
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
class DomainSoFar:
    """One time domain up to now.

    Attributes:
        latest: Its state after its latest micro-batch.
        moments: Its latest micro-batches, oldest first.
        late_pairs: (row, window) pairs that came too late, of all its queries.
        micro_batches: How many have finished, by the reason of their decisions.
        processing_seconds: How long they took.
        shedding_seconds: How long those took that shed, by the reason.
        late_seconds: How long those took whose answers came later than the latency goal.
        offered_rows: Rows that came.
        admitted_rows: Rows that passed the samplers.
        skipped_rows: About how many rows were skipped as too old.
        missed_goals: By query, in how many micro-batches the load did not allow to keep to its `max_error`.
    """

    latest: RunStatus
    moments: tuple[RunMoment, ...] = ()
    late_pairs: int = 0
    micro_batches: Mapping[str, int] = field(default_factory=dict)
    processing_seconds: float = 0.0
    shedding_seconds: Mapping[str, float] = field(default_factory=dict)
    late_seconds: float = 0.0
    offered_rows: int = 0
    admitted_rows: int = 0
    skipped_rows: int = 0
    missed_goals: Mapping[str, int] = field(default_factory=dict)

    def after(self, status: RunStatus) -> DomainSoFar:
        """Add the state after one more micro-batch."""
        is_late = status.delay_seconds > status.latency_goal_seconds
        shed_seconds = {status.reason: status.processing_seconds} if status.is_shedding else {}
        return DomainSoFar(
            latest=status,
            moments=(*self.moments, _moment(self, status))[-_REMEMBERED:],
            late_pairs=self.late_pairs + sum(query.late_pairs for query in status.queries.values()),
            micro_batches=_sum(self.micro_batches, {status.reason: 1}),
            processing_seconds=self.processing_seconds + status.processing_seconds,
            shedding_seconds=_sum(self.shedding_seconds, shed_seconds),
            late_seconds=self.late_seconds + status.processing_seconds * is_late,
            offered_rows=self.offered_rows + status.offered_rows,
            admitted_rows=self.admitted_rows + status.admitted_rows,
            skipped_rows=self.skipped_rows + status.skipped_rows,
            missed_goals=_sum(self.missed_goals, dict.fromkeys(status.missed_goals, 1)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHistory:
    """A run up to now.

    Attributes:
        latest: The state after the micro-batch that finished last, in whichever time domain; None before the first.
        domains: The time domains that have finished a micro-batch, by clock.
        queries: What each query has answered since the run began, by name; the error is that of its latest answers.
    """

    latest: RunStatus | None = None
    domains: Mapping[str, DomainSoFar] = field(default_factory=dict)
    queries: Mapping[str, QueryStatus] = field(default_factory=dict)

    @property
    def micro_batches(self) -> int:
        """How many have finished."""
        return sum(sum(domain.micro_batches.values()) for domain in self.domains.values())

    @property
    def offered_rows(self) -> int:
        """Rows that came, in all of them."""
        return sum(domain.offered_rows for domain in self.domains.values())

    @property
    def admitted_rows(self) -> int:
        """Rows that passed the samplers."""
        return sum(domain.admitted_rows for domain in self.domains.values())

    @property
    def moment(self) -> RunMoment | None:
        """The micro-batch that finished last; None before the first."""
        return None if self.latest is None else self.domains[self.latest.clock].moments[-1]

    @property
    def micro_batch_ids(self) -> Mapping[str, int]:
        """The latest micro-batch of each time domain, by clock."""
        return {clock: domain.latest.micro_batch_id for clock, domain in self.domains.items()}

    def after(self, status: RunStatus) -> RunHistory:
        """Add the state after one more micro-batch; one that is known already changes nothing."""
        if status.micro_batch_id <= self.micro_batch_ids.get(status.clock, -1):
            return self
        queries = dict(self.queries)
        for name, query in status.queries.items():
            queries[name] = _so_far(queries[name], query) if name in queries else query
        return replace(
            self,
            latest=status,
            domains={**self.domains, status.clock: self._domain(status).after(status)},
            queries=queries,
        )

    def _domain(self, status: RunStatus) -> DomainSoFar:
        return self.domains.get(status.clock, DomainSoFar(latest=status))


def _so_far(before: QueryStatus, status: QueryStatus) -> QueryStatus:
    ends = (before.latest_window_end_seconds, status.latest_window_end_seconds)
    numbers = (before.latest_window_until, status.latest_window_until)
    return replace(
        status,
        answers=before.answers + status.answers,
        exact_answers=before.exact_answers + status.exact_answers,
        relative_error=status.relative_error if status.answers else before.relative_error,
        late_pairs=before.late_pairs + status.late_pairs,
        rows=before.rows + status.rows,
        gaps=before.gaps + status.gaps,
        predictions=before.predictions + status.predictions,
        latest_window_end_seconds=max((end for end in ends if end is not None), default=None),
        latest_window_until=max((number for number in numbers if number is not None), default=None),
    )


def _sum(sums: Mapping[str, _Number], added: Mapping[str, _Number]) -> dict[str, _Number]:
    return {**sums, **{name: sums[name] + number if name in sums else number for name, number in added.items()}}


def _moment(before: DomainSoFar, status: RunStatus) -> RunMoment:
    gap = status.trigger_interval_seconds
    if before.moments:
        gap = max(gap, status.started_at_seconds - before.latest.started_at_seconds)
    return RunMoment(
        offered_rows_per_second=status.offered_rows / gap,
        kept_share=status.admitted_rows / status.offered_rows if status.offered_rows else 1.0,
        utilization=status.utilization,
        delay_seconds=status.delay_seconds,
    )
