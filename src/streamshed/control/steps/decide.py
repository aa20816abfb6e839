"""What the coming micro-batch sheds, step by step."""

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.guard import guarded
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import OwnTime
from streamshed.control.state import ControlState
from streamshed.control.steps.estimate import Request, estimated
from streamshed.control.steps.expect import expected
from streamshed.control.steps.record import recorded
from streamshed.control.steps.settle import settled_plan
from streamshed.control.steps.spread import spread_over_queries
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.kept_work import KeptWork
from streamshed.planning.plan.work_shares import plan_work_shares


def decide(
    network: QueryNetwork,
    settings: ControlSettings,
    state: ControlState,
    upcoming: Upcoming,
    kept_work: KeptWork,
    *,
    time: OwnTime,
    decided_at_seconds: float,
) -> tuple[ControlState, Decision]:
    """Decide what the coming micro-batch sheds: estimate, expect, plan, settle, guard, spread, record."""
    request = Request(network, settings, state, upcoming, decided_at_seconds)
    expectation = expected(request, estimated(request), kept_work, time)
    statistics, budget = expectation.statistics, expectation.budget
    proposed = plan_work_shares(network, statistics, budget)
    steady, hysteresis = settled_plan(request, expectation, proposed)
    allowed = guarded(network, steady, statistics=statistics, budget=budget)
    spread = spread_over_queries(request, expectation, allowed.plan)
    decision = recorded(request, expectation, proposed, allowed, spread)
    return state.with_decision(decision, hysteresis), decision
