"""Step 7: the decision as it is written down, with its reason."""

from dataclasses import replace
from typing import Any

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.guard import GuardedPlan
from streamshed.control.steps.estimate import Request
from streamshed.control.steps.expect import Expectation
from streamshed.control.steps.spread import QuerySpread
from streamshed.network.words.byte_size import rounded_byte_size
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.window_drop.track.state_limit import TIGHT, Pressure, StateUse
from streamshed.statistics.forecast import Statistics

_NO_ROOM = "gaps of all queries cannot be kept within their max_gap"


def recorded(
    request: Request, expectation: Expectation, proposed: SheddingPlan, allowed: GuardedPlan, spread: QuerySpread
) -> Decision:
    """Return the decision with all that the journal says of it."""
    upcoming, statistics, planned, applied = request.upcoming, expectation.statistics, spread.planned, spread.applied
    return Decision(
        micro_batch_id=upcoming.micro_batch_id,
        work_codes=spread.work_codes,
        proposed_work_codes=proposed.work_codes,
        query_codes=applied.codes,
        work_shares=statistics.of_all_rows(applied.work_shares),
        expected_errors=planned.expected_errors,
        missed_goals=planned.missed_goals,
        samplers=applied.samplers,
        sized=applied.sized,
        counting=applied.counting,
        drops=spread.drops,
        row_shares=_row_shares(statistics, applied),
        fresh_shares=statistics.fresh_shares,
        **_what_is_read(statistics),
        kept_shares={} if applied.windows is None else applied.windows.kept_shares,
        plan=_expected(allowed.plan, expectation, planned),
        reason=allowed.plan.reason,
        explanation=_explanation(request, allowed, planned, expectation),
        advisory=request.settings.advisory,
        clamps=allowed.clamps,
        offered_rows=statistics.offered_rows,
        sizes_known=upcoming.sizes_known,
        backlog_rows=upcoming.backlog_rows,
        budget_seconds=expectation.budget.seconds,
        headroom=expectation.allotment.headroom * expectation.allotment.share,
        demanded_seconds=statistics.seconds(spread.demanded_shares),
        state_bytes=expectation.state_use.taken_bytes,
        correction=statistics.correction,
        speedup=upcoming.speedup,
        useful_rates=expectation.useful.useful,
        reach=_needed_reach(expectation, upcoming),
        needs=upcoming.needs,
        now_seconds=upcoming.now_seconds,
        decided_at_seconds=request.decided_at_seconds,
    )


def _needed_reach(expectation: Expectation, upcoming: Upcoming) -> dict[str, float]:
    reach, needed = expectation.work.reach, upcoming.needs.rows_per_second
    return {query: share for query, share in reach.items() if query in needed}


def _row_shares(statistics: Statistics, applied: QueryRates) -> dict[str, float]:
    """Per stream, which share of all of its rows anybody needs."""
    fresh = statistics.fresh_shares
    return {stream: share * fresh.get(stream, 1.0) for stream, share in applied.row_shares.items()}


def _what_is_read(statistics: Statistics) -> dict[str, Any]:
    """Per stream of which blocks are left unread, which share is read, and how many neighbors together."""
    shares, widths = statistics.read_shares, statistics.bundle_widths
    return {"read_shares": shares, "bundle_widths": {name: widths.get(name, 1) for name in shares}}


def _expected(plan: SheddingPlan, expectation: Expectation, planned: QueryRates) -> SheddingPlan:
    """The plan, with what the rates of queries are expected to take, which are quantized."""
    seconds = expectation.statistics.seconds(planned.work_shares)
    return replace(plan, expected_seconds=seconds, expected_utilization=expectation.budget.utilization(seconds))


def _explanation(request: Request, allowed: GuardedPlan, planned: QueryRates, expectation: Expectation) -> str:
    advisory = request.settings.advisory
    changes = "".join(f"; {clamp}" for clamp in allowed.clamps)
    goals = planned.missed_goals
    missed = f"; the load leaves too little for the max_error of {', '.join(goals)}" if goals else ""
    shut = () if planned.windows is None else planned.windows.shut_down
    makes_room = planned.windows is not None and planned.windows.drops.pressure is not Pressure.NONE
    if shut:
        cause = "state has to be kept within its limit" if makes_room else _NO_ROOM
        missed += f"; shut down, as {cause}: {', '.join(shut)}"
    missed += _about_state(expectation.state_use, makes_room=makes_room)
    missed += "".join(
        f"; of {stream} about {1 - share:.3g} of the rows are skipped, older than max_age"
        for stream, share in expectation.statistics.fresh_shares.items()
    )
    missed += "".join(
        f"; of {stream} {share:.3g} of the rows are read, in whole blocks"
        for stream, share in expectation.statistics.read_shares.items()
    )
    missed += "".join(
        f"; of {query} no more than {share:.3g} of the rows are of use to those it feeds"
        for query, share in expectation.useful.useful.items()
    )
    return f"{allowed.plan.explanation}{changes}{missed}" + ("; advisory, nothing is shed" if advisory else "")


def _about_state(use: StateUse, *, makes_room: bool) -> str:
    if use.limit_bytes is None or not (makes_room or use.expected_share >= TIGHT):
        return ""
    size_text = f"; state takes {rounded_byte_size(use.taken_bytes)} of at most {rounded_byte_size(use.limit_bytes)}: "
    if makes_room:
        return size_text + "queries in mode subset keep as few windows as their max_gap allows"
    return (
        size_text + "no query gives up windows (mode subset, max_gap); fewer groups or shorter windows would take less"
    )
