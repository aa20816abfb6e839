"""Step 4: a plan that does not swing: shedding begins and ends once, and shares of work rise step by step."""

import math
from collections.abc import Mapping
from dataclasses import replace

from streamshed.control.hysteresis import Hysteresis, entered, held, settled
from streamshed.control.rise import limited
from streamshed.control.state import ControlState
from streamshed.control.steps.estimate import Request
from streamshed.control.steps.expect import Expectation
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.statistics.micro_batch import MicroBatchOutcome

_LEAST_SECONDS = 1e-3
"""No micro-batch takes less."""


def settled_plan(request: Request, expectation: Expectation, proposed: SheddingPlan) -> tuple[SheddingPlan, Hysteresis]:
    """Return the plan that follows the last one without swinging, and whether shedding is on.

    Args:
        request: What is to be decided.
        expectation: What the micro-batch brings.
        proposed: The plan that would be best for it alone.
    """
    state, statistics, budget = request.state, expectation.statistics, expectation.budget
    # Of rows that are only estimated there may be more: then headroom is no place to wait in.
    most_seconds = math.inf if request.upcoming.sizes_known else proposed.allowed_seconds
    hysteresis = state.hysteresis.updated(
        unshed_seconds=proposed.unshed_seconds,
        budget_seconds=proposed.allowed_seconds,
        utmost_seconds=min(budget.utmost_seconds, most_seconds),
        is_saturated=proposed.unsheddable_seconds > budget.utmost_seconds,
    )
    steady = entered(proposed, hysteresis, statistics=statistics, budget=budget)
    steady = limited(
        steady,
        _as_planned(state, state.last_outcome) if request.is_warm else None,
        last_least_shares=_last_least_shares(state, steady),
        statistics=statistics,
        budget=budget,
    )
    last_work_codes = state.decisions[-1].work_codes if state.decisions else {}
    steady = held(steady, last_work_codes, statistics=statistics, budget=budget)
    return settled(steady, hysteresis, statistics=statistics, budget=budget), hysteresis


def _as_planned(state: ControlState, last: MicroBatchOutcome | None) -> MicroBatchOutcome | None:
    """What the last micro-batch would have been had just those windows been kept in it that are in the long run.

    In one, more of the windows are kept that its rows belong to, in another fewer, which says nothing of the load. Nor
    do rows that were skipped as too old.
    """
    decision = None if last is None else state.decision(last.micro_batch_id)
    if last is not None and decision is not None and decision.fresh_shares:
        last = _without_skipped(last, decision.fresh_shares)
    if last is None or decision is None or not decision.kept_shares or decision.advisory:
        return last
    planned = {**last.work_shares, **decision.plan.work_shares}
    as_planned = replace(last, work_shares=planned)
    more, less = (state.load_model.seconds(one.costed_rows, one.costed_shares) for one in (as_planned, last))
    seconds = last.processing_seconds + more - less
    return replace(as_planned, processing_seconds=max(seconds, _LEAST_SECONDS))


def _without_skipped(last: MicroBatchOutcome, fresh_shares: Mapping[str, float]) -> MicroBatchOutcome:
    """The micro-batch as if the rows had not come that it skipped; it took no longer for them."""
    rows, done = last.offered_rows, last.shares_done
    fresh = {stream: share for stream, share in fresh_shares.items() if stream in rows}
    return replace(
        last,
        offered_rows={**rows, **{stream: round(share * rows[stream]) for stream, share in fresh.items()}},
        work_shares={**done, **{stream: min(1.0, done.get(stream, 1.0) / share) for stream, share in fresh.items()}},
    )


def _last_least_shares(state: ControlState, plan: SheddingPlan) -> Mapping[str, float]:
    """The shares that nothing could shed in the last measured micro-batch; today's where it is forgotten."""
    decision = None if state.last_outcome is None else state.decision(state.last_outcome.micro_batch_id)
    return plan.least_shares if decision is None else decision.plan.least_shares
