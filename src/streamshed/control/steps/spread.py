"""Step 6: the work that may be done, spread over the queries: their rates, and the windows that they keep."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamshed.control.steps.estimate import Request
from streamshed.control.steps.expect import Expectation, unneeded_times
from streamshed.planning.plan.coming_work import ComingWork
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.tree.quantization import WHOLE
from streamshed.planning.window_drop.track.decisions import still_dropped
from streamshed.planning.window_drop.track.state_limit import NOTHING_HELD
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops


@dataclass(frozen=True, slots=True)
class QuerySpread:
    """What each query is answered from.

    Attributes:
        planned: As the plan has it.
        applied: As it is done: in advisory mode nothing is shed.
        work_codes: Per stream, the code of the share of its work that is done.
        demanded_shares: Per stream, the share that would be done if there were time for all that is of use.
        drops: Which windows are dropped.
    """

    planned: QueryRates
    applied: QueryRates
    work_codes: Mapping[str, int]
    demanded_shares: Mapping[str, float]
    drops: WindowDrops


def spread_over_queries(request: Request, expectation: Expectation, plan: SheddingPlan) -> QuerySpread:
    """Return what each query is answered from.

    Args:
        request: What is to be decided.
        expectation: What the micro-batch brings.
        plan: How much of the work of each stream may be done.
    """
    settings, policy, work_codes = request.settings, request.settings.shedding_policy, plan.work_codes
    planned = applied = policy.query_rates(expectation.useful, work_codes, plan.exact_work_shares)
    # In advisory mode everything is done, whether or not anybody has a use for it.
    demanded_shares = {} if settings.advisory else policy.demanded_shares(expectation.useful, planned)
    if settings.advisory:
        work_codes = dict.fromkeys(work_codes, WHOLE)
        applied = policy.query_rates(_nothing_made_room_for(expectation.work), work_codes)
    drops = _drops(request, applied)
    return QuerySpread(planned, applied, work_codes, demanded_shares, drops)


def _drops(request: Request, applied: QueryRates) -> WindowDrops:
    """The decisions on windows, the rows that no network downstream needs, and those that are too old."""
    upcoming = request.upcoming
    if applied.windows is not None:
        drops = applied.windows.drops
    else:
        drops = NOTHING_DROPPED if upcoming.windows is None else still_dropped(upcoming.windows)
    elsewhere = unneeded_times(request.network, request.settings, upcoming, of_windows=False)
    return replace(drops, elsewhere=elsewhere, stale=request.stale)


def _nothing_made_room_for(work: ComingWork) -> ComingWork:
    """The work as if state had no limit and no query were shut down."""
    drops = work.upcoming.drops.all_back
    return replace(work, upcoming=replace(work.upcoming, state=NOTHING_HELD, drops=drops))
