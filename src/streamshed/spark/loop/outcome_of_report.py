"""What came of a micro-batch, from Spark's report of it and from what its streams were told."""

from __future__ import annotations

from collections.abc import Mapping

from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.join_planner import JoinOutcome, JoinPlanner
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.statistics.micro_batch import MicroBatchOutcome


def outcome_of(
    report: MicroBatchReport,
    plans: Mapping[str, StreamPlan],
    joined: Mapping[str, JoinOutcome],
    facts: DomainFacts,
    joins: JoinPlanner,
    *,
    started_at_seconds: float,
    is_cold: bool,
) -> MicroBatchOutcome:
    """Return a finished micro-batch as the control loop understands it.

    Args:
        report: What Spark says of it.
        plans: What each stream was told.
        joined: What came of its joins.
        facts: What never changes.
        joins: Plans joins.
        started_at_seconds: When it started, by the clock that never steps.
        is_cold: See `ColdStart`.
    """
    row_shares = {name: plan.row_share for name, plan in plans.items() if plan.row_share is not None}
    rates = {name: plan.sampling_rate for name, plan in plans.items()}
    expected_shares = rates | row_shares
    expected_rows = {name: rows * expected_shares.get(name, 1.0) for name, rows in report.offered_rows.items()}
    counted_rows = {name: float(rows) for name, rows in report.admitted_rows.items()}
    work_shares = {name: plan.work_share for name, plan in plans.items()}
    work_shares |= {name: outcome.status.work_share for name, outcome in joined.items() if joins.sheds(name)}
    work_per_row = dict(joins.work_per_row(report.offered_rows))
    work_per_row |= {name: outcome.work_per_row for name, outcome in joined.items()}
    cuts = {name: plan.blocks for name, plan in plans.items() if plan.blocks is not None}
    read_shares = facts.of_those_asked({name: cut.share for name, cut in cuts.items()})
    return MicroBatchOutcome(
        micro_batch_id=report.micro_batch_id,
        offered_rows=facts.of_asked(report.offered_rows),
        admitted_rows=facts.of_asked(expected_rows | counted_rows, row_shares),
        sampling_rates=facts.of_those_asked(rates),
        work_shares=facts.of_those_asked(work_shares),
        work_per_row=facts.of_those_asked(work_per_row),
        read_shares=read_shares,
        bundle_widths={name: cuts[name].width for name in read_shares},
        processing_seconds=report.processing_seconds,
        trigger_interval_seconds=facts.trigger_interval_seconds,
        started_at_seconds=started_at_seconds,
        state_entries=report.state_rows,
        state_written_entries=report.state_written_rows,
        state_written_bytes=report.state_written_bytes,
        is_cold=is_cold,
    )
