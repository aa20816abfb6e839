"""What a running network looks like from outside: read-only snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.network.words.notebook import ShownInBrief
from streamshed.network.words.wording import count_text, seconds_text, share_text
from streamshed.spark.cluster.scaling_status import ScalingStatus


@dataclass(frozen=True)
class QueryStatus:
    """The answers of one query in one micro-batch.

    Attributes:
        answers: How many.
        exact_answers: How many of them are exact.
        relative_error: Mean over the answers of half the interval's width by the value; 0 where all are exact, None
            where no answer has both.
        late_pairs: (row, window) pairs that came when the window had closed.
        rows: Rows delivered, of a set-valued query.
        gaps: Windows that were dropped, began before the query was added, or need rows that were skipped.
        predictions: Predictions of windows that were dropped in this micro-batch or before, one for each group and
            aggregate, that its answers allow.
        latest_window_end_seconds: End of the latest window answered, seconds since the epoch.
        latest_window_until: The number at which it ends, where windows lie along numbers.
    """

    answers: int = 0
    exact_answers: int = 0
    relative_error: float | None = None
    late_pairs: int = 0
    rows: int = 0
    gaps: int = 0
    predictions: int = 0
    latest_window_end_seconds: float | None = None
    latest_window_until: int | None = None


@dataclass(frozen=True, kw_only=True)
class JoinStatus:
    """A join in one micro-batch.

    Attributes:
        work_share: The share of the cost of the full join that was spent, by what comparisons and results cost.
        left_share: r1, that of the comparisons with the window of left rows.
        right_share: r2, that of the comparisons with the window of right rows.
        yields: Results per comparison of each cell, or their weight where they have one, as known now: of the window of
            left rows, youngest first, then of the other.
        comparisons: How many were made.
        results: How many there were.
        weight: What these were worth; their number where they have no weight.
        late_rows: Rows that came too late to be joined; each counts once, to however many partitions it goes.
        stored_rows: Rows in the windows, each counted once.
        stored_bytes: How large they are.
        released_rows: Rows that left the windows early, for memory.
        missed_results: How many results rows that had left so would have given, by what comparisons yield.
        sampling_rate: The rate at which rows were drawn, of a join that is sampled; else 1.
        basic_window_seconds: b, as it is from the next micro-batch in which the join is shed.
    """

    work_share: float
    left_share: float
    right_share: float
    yields: tuple[float, ...]
    comparisons: float
    results: float
    weight: float
    late_rows: int
    stored_rows: int
    stored_bytes: int
    released_rows: int
    missed_results: float = 0.0
    sampling_rate: float = 1.0
    basic_window_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class RunStatus(ShownInBrief):
    """The state of a time domain after its latest finished micro-batch.

    Attributes:
        clock: The time domain.
        micro_batch_id: The latest finished micro-batch; -1 before the first.
        started_at_seconds: When it started, seconds since the epoch.
        processing_seconds: How long it took.
        trigger_interval_seconds: How long it should take at most.
        latency_goal_seconds: How long after their rows answers should come at most.
        utilization: The one by the other.
        offered_rows: Rows read.
        admitted_rows: Rows that passed the samplers; estimated for a stream that is alone in its time domain.
        sampling_rates: Per stream, that of the sampler behind its source.
        effective_sampling_rates: Per query, the share of its rows that it is answered from, at least.
        kept_shares: Per query whose windows may be dropped, the share of them that it keeps in the long run; 0: it is
            shut down.
        samplers: The sampling rate of each sampler, by what it stands before: the address of a stream or operator,
            or `query` and the name of a query.
        missed_goals: Queries whose `max_error` the load does not allow to keep to.
        backlog_rows: Rows known to wait.
        skipped_rows: About how many of the rows read were skipped, older than `max_age`.
        delay_seconds: From the arrival of its oldest row to its answers.
        reason: Of the decision.
        explanation: The same with figures.
        watermark_seconds: Event time before which all windows are closed, seconds since the epoch; where windows lie
            along numbers, a thousandth of the number.
        state_rows: Groups held in state.
        state_bytes: How much they take, as Spark writes them.
        queries: Per query, what it answered.
        unreadable_rows: Rows set aside, since the start.
        lost_rows: Rows that a broker had deleted before they were read, since the start.
        joins: By joined stream, what came of its join.
        scaling: Workers, and what was decided on them; None: their number is not ours to change.
        steps_seconds: How long each step took, in their order: `look_for_rows`, `note_offsets`, `open_sources`,
            `plan_query`, `compute` (with the decision, where it was not made before), `commit`.
    """

    clock: str
    micro_batch_id: int = -1
    started_at_seconds: float = 0.0
    processing_seconds: float = 0.0
    trigger_interval_seconds: float = 1.0
    latency_goal_seconds: float = 2.0
    offered_rows: int = 0
    admitted_rows: int = 0
    sampling_rates: Mapping[str, float] = field(default_factory=dict)
    effective_sampling_rates: Mapping[str, float] = field(default_factory=dict)
    kept_shares: Mapping[str, float] = field(default_factory=dict)
    samplers: Mapping[str, float] = field(default_factory=dict)
    missed_goals: tuple[str, ...] = ()
    backlog_rows: int = 0
    skipped_rows: int = 0
    delay_seconds: float = 0.0
    reason: str = "starting"
    explanation: str = ""
    watermark_seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    queries: Mapping[str, QueryStatus] = field(default_factory=dict)
    unreadable_rows: int = 0
    lost_rows: int = 0
    joins: Mapping[str, JoinStatus] = field(default_factory=dict)
    scaling: ScalingStatus | None = None
    steps_seconds: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.micro_batch_id < 0:
            return f"{self.clock}: before the first micro-batch"
        delay, took, interval = map(
            seconds_text, (self.delay_seconds, self.processing_seconds, self.trigger_interval_seconds)
        )
        rows = f"{count_text(self.admitted_rows)} of {count_text(self.offered_rows)} rows kept"
        parts = [
            f"micro-batch {self.micro_batch_id}",
            self.reason,
            f"delay {delay}",
            f"took {took} of {interval}",
            rows,
        ]
        lines = [f"{self.clock}: {', '.join(parts)}"]
        for name, query in self.queries.items():
            shed = self.effective_sampling_rates.get(name, 1.0) * self.kept_shares.get(name, 1.0)
            exact = "" if query.answers == query.exact_answers else f", {count_text(query.exact_answers)} exact"
            gaps = f", {count_text(query.gaps)} windows missing" if query.gaps else ""
            lines.append(f"  {name}: {count_text(query.answers)} answers{exact}{gaps}, from {share_text(shed)}")
        return "\n".join(lines)

    @property
    def utilization(self) -> float:
        """Processing time as a share of the trigger interval."""
        return self.processing_seconds / self.trigger_interval_seconds

    @property
    def is_shedding(self) -> bool:
        """Whether rows, results of joins or windows were shed in the latest micro-batch."""
        joins = self.joins.values()
        of_queries = (*self.effective_sampling_rates.values(), *self.kept_shares.values())
        shares = (*self.sampling_rates.values(), *of_queries, *(join.work_share for join in joins))
        of_memory = any(join.released_rows or join.missed_results for join in joins)
        return of_memory or self.skipped_rows > 0 or any(share < 1 for share in shares)
