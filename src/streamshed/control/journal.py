"""The journal: every decision beside what became of it."""

from dataclasses import dataclass

from streamshed.control.decision import Decision
from streamshed.statistics.micro_batch import MicroBatchOutcome

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One micro-batch: what was decided and expected, and what was measured.

    Args:
        decision: What was decided; None for a micro-batch that nobody asked about.
        outcome: What was measured.
        model_seconds: What the load model says after having learned from the outcome.
        learned: False for an outcome that was known already, and for one that tells nothing of costs: an outlier, or a
            cold one.
    """

    decision: Decision | None
    outcome: MicroBatchOutcome
    model_seconds: float
    learned: bool

    @property
    def reason(self) -> str:
        """Short and stable: that of the decision, or `unplanned`."""
        return "unplanned" if self.decision is None else self.decision.reason

    @property
    def expected_seconds(self) -> float | None:
        """How long the micro-batch was predicted to take; None where nothing was predicted."""
        return None if self.decision is None else self.decision.expected_seconds

    @property
    def expectation_error(self) -> float | None:
        """Measured ÷ expected seconds − 1; None where nothing was predicted."""
        expected = self.expected_seconds
        return None if expected is None else self.outcome.processing_seconds / expected - 1

    def to_row(self) -> dict[str, Cell]:
        """Return the entry as one row of a table: figures of all streams together."""
        outcome, decision = self.outcome, self.decision
        effective = {} if decision is None else decision.effective_sampling_rates
        least_rate = min((*outcome.sampling_rates.values(), *effective.values()), default=1.0)
        least_share = min(outcome.shares_done.values(), default=1.0)
        offered = sum(outcome.offered_rows.values())
        plan = None if decision is None else decision.plan
        is_shedding = min(least_rate, least_share) < 1 or (decision is not None and decision.sheds_windows_or_backlog)
        return {
            "micro_batch_id": outcome.micro_batch_id,
            "started_at_seconds": outcome.started_at_seconds,
            "reason": self.reason,
            "explanation": "" if decision is None else decision.explanation,
            "clamps": "" if decision is None else " ".join(map(str, decision.clamps)),
            "missed_goals": "" if decision is None else " ".join(decision.missed_goals),
            "remedy": None if plan is None else plan.remedy.value,
            "advisory": None if decision is None else decision.advisory,
            "shedding": is_shedding,
            "sampling_rate": least_rate,
            "work_share": least_share,
            "offered_rows": offered,
            "admitted_rows": sum(outcome.admitted_rows.values()),
            "expected_offered_rows": None if decision is None else sum(decision.offered_rows.values()),
            "sizes_known": None if decision is None else decision.sizes_known,
            "backlog_rows": None if decision is None else decision.backlog_rows,
            "skipped_rows": None if decision is None else decision.skipped_rows,
            "budget_seconds": None if decision is None else decision.budget_seconds,
            "unshed_seconds": None if plan is None else plan.unshed_seconds,
            "unsheddable_seconds": None if plan is None else plan.unsheddable_seconds,
            "expected_seconds": self.expected_seconds,
            "processing_seconds": outcome.processing_seconds,
            "expectation_error": self.expectation_error,
            "correction": None if decision is None else decision.correction,
            "model_seconds": self.model_seconds,
            "trigger_interval_seconds": outcome.trigger_interval_seconds,
            "utilization": outcome.utilization,
        }
