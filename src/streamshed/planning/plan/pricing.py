"""What a plan is expected to cost once its shares of work were changed."""

from collections.abc import Mapping
from dataclasses import replace

from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.plan import Remedy, SheddingPlan
from streamshed.statistics.forecast import Statistics


def with_work_codes(
    plan: SheddingPlan, work_codes: Mapping[str, int], *, statistics: Statistics, budget: Budget
) -> SheddingPlan:
    """Return the plan with other shares of work and the expectation that goes with them."""
    if work_codes == plan.work_codes:
        return plan
    changed = replace(plan, work_codes=dict(work_codes))
    expected_seconds = statistics.seconds(changed.work_shares)
    remedy = Remedy.SHED if changed.sheds and plan.remedy is Remedy.NONE else plan.remedy
    return replace(
        changed,
        remedy=remedy,
        expected_seconds=expected_seconds,
        expected_utilization=budget.utilization(expected_seconds),
    )
