"""What the coming micro-batch sheds, step by step."""

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.guard import guarded
from streamshed.control.hysteresis import Hysteresis
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import OwnTime
from streamshed.control.state import ControlState
from streamshed.control.steps.estimate import Request, estimated
from streamshed.control.steps.expect import Expectation, expected, streams_that_keep_windows
from streamshed.control.steps.record import recorded
from streamshed.control.steps.settle import settled_plan
from streamshed.control.steps.spread import spread_over_queries
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.kept_work import KeptWork
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.window_drop.choose.drop_plan import DropPlan


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
    """Decide what the coming micro-batch sheds: estimate, expect, plan, settle, guard, spread, record.

    All rows are read where some may be in windows that are kept. If it comes to be decided that none is, blocks may be
    left unread: then all but windows is decided anew.
    """
    request = Request(network, settings, state, upcoming, decided_at_seconds)
    statistics = estimated(request)
    expectation = expected(request, statistics, kept_work, time)
    hysteresis, decision, windows = _decided(request, expectation)
    if windows is not None and expectation.read_for_windows - streams_that_keep_windows(
        expectation.work, windows.drops
    ):
        hysteresis, decision, _ = _decided(request, expected(request, statistics, kept_work, time, windows))
    return state.with_decision(decision, hysteresis), decision


def _decided(request: Request, expectation: Expectation) -> tuple[Hysteresis, Decision, DropPlan | None]:
    """The decision, and what becomes of windows."""
    network, statistics, budget = request.network, expectation.statistics, expectation.budget
    proposed = plan_work_shares(network, statistics, budget)
    steady, hysteresis = settled_plan(request, expectation, proposed)
    allowed = guarded(network, steady, statistics=statistics, budget=budget)
    spread = spread_over_queries(request, expectation, allowed.plan)
    return hysteresis, recorded(request, expectation, proposed, allowed, spread), spread.applied.windows
