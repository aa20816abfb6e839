"""What a plan is expected to cost once its sampling rates were changed."""

from collections.abc import Mapping
from dataclasses import replace

from streamshed.planning.budget import Budget
from streamshed.planning.plan import Remedy, SheddingPlan
from streamshed.statistics.forecast import Statistics


def with_sampling_codes(
    plan: SheddingPlan, sampling_codes: Mapping[str, int], *, statistics: Statistics, budget: Budget
) -> SheddingPlan:
    """Return the plan with other sampling rates and the expectation that goes with them."""
    if sampling_codes == plan.sampling_codes:
        return plan
    changed = replace(plan, sampling_codes=dict(sampling_codes))
    expected_seconds = statistics.seconds(changed.sampling_rates)
    remedy = Remedy.SHED if changed.sheds and plan.remedy is Remedy.NONE else plan.remedy
    return replace(
        changed,
        remedy=remedy,
        expected_seconds=expected_seconds,
        expected_utilization=budget.utilization(expected_seconds),
    )
