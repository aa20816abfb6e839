"""Less time for a plan whose prediction is in doubt."""

import math
from dataclasses import replace

from streamshed.network.network import QueryNetwork
from streamshed.planning.budget import Budget
from streamshed.planning.plan import SheddingPlan
from streamshed.planning.work_shares import plan_work_shares
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import NOISE_DEVIATION

LARGEST_CAUTION = 1.5
"""The factor by which doubt may shrink a budget."""

LEAST_WORK = 0.25
"""The share of the time for work that doubt must leave: it alone makes no plan saturated."""


def plan_cautiously(network: QueryNetwork, statistics: Statistics, budget: Budget) -> tuple[SheddingPlan, Budget]:
    """Plan, and where the prediction behind the plan is in doubt, plan again with less time.

    A load model that has only seen small micro-batches hardly knows which part of their cost was fixed, so a
    first large one may take much longer than predicted. The doubt is the standard deviation of ln(seconds) at
    the planned shares of work; what exceeds the ordinary noise shrinks the budget. It fades with the
    measurements that such a micro-batch brings.

    Returns:
        The plan, and the budget that it had to fit.
    """
    plan = plan_work_shares(network, statistics, budget)
    doubt = statistics.load_model.doubt(statistics.costed_rows, plan.work_shares)
    doubtful = min(LARGEST_CAUTION, math.exp(max(0.0, doubt - NOISE_DEVIATION)))
    caution = min(doubtful, _saturating(plan, budget))
    if caution <= 1:
        return plan, budget
    cautious = replace(budget, caution=caution)
    return plan_work_shares(network, statistics, cautious), cautious


def _saturating(plan: SheddingPlan, budget: Budget) -> float:
    """Return the caution that leaves just the least share of what there is for work."""
    for_work = budget.seconds - plan.unsheddable_seconds
    return budget.seconds / (plan.unsheddable_seconds + LEAST_WORK * for_work) if for_work > 0 else 1.0
