"""The two steps of the control loop, as pure functions of its state."""

import math
from collections.abc import Mapping
from dataclasses import replace

from streamshed.control.deadline import allotted
from streamshed.control.decision import Decision, Upcoming
from streamshed.control.guard import GuardedPlan, guarded
from streamshed.control.hysteresis import entered, settled
from streamshed.control.journal import JournalEntry
from streamshed.control.known_needs import unneeded_by_definition
from streamshed.control.rise import limited
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import Allotment, OwnTime
from streamshed.control.state import ControlState
from streamshed.network.model.network import QueryNetwork
from streamshed.network.words.byte_size import rounded_byte_size
from streamshed.planning.explain.clock_work import ClockWork
from streamshed.planning.plan.budget import LASTING_SHARE
from streamshed.planning.plan.coming_work import ComingWork
from streamshed.planning.plan.kept_work import KeptWork
from streamshed.planning.plan.plan import SheddingPlan
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import WHOLE
from streamshed.planning.tree.work_tree import WorkTree
from streamshed.planning.window_drop.track.decisions import still_dropped
from streamshed.planning.window_drop.track.not_needed import unneeded_rows
from streamshed.planning.window_drop.track.retention import needed_share
from streamshed.planning.window_drop.track.state_limit import NOTHING_HELD, TIGHT, Pressure, StateUse
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.planning.window_drop.windows.provenance import NeededRows
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.learned import LearnedStatistics
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome


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
    """Decide what the coming micro-batch sheds: estimate, plan, settle, guard, apply."""
    elapsed_seconds = _elapsed_seconds(settings, state, upcoming)
    statistics = _estimated(network, state, upcoming, elapsed_seconds)
    last = state.last_outcome
    is_warm = last is None or not last.is_cold
    # How long the first of a run takes is no load's fault: the rows that came meanwhile are not given up for it.
    waited_seconds = elapsed_seconds if is_warm else min(elapsed_seconds, settings.trigger_interval_seconds)
    policy = settings.shedding_policy
    use = _state_use(settings, state)
    unneeded = _unneeded(network, settings, upcoming, of_windows=True)
    work = kept_work.coming_work(
        kept_work.network_statistics(state.learned, settings.statistics),
        statistics,
        None if upcoming.windows is None else replace(upcoming.windows, state=use, unneeded=unneeded),
    )
    useful = _useful(network, upcoming, work, _offered_per_second(settings, statistics, elapsed_seconds))
    allotment = time.allotment(_asked_of_time(useful, statistics))
    budget = allotted(
        settings,
        elapsed_seconds=waited_seconds,
        backlog_rows=upcoming.backlog_rows,
        allotment=allotment,
        held_up_seconds=upcoming.held_up_seconds,
    )
    if upcoming.windows is not None:
        work, useful = (
            _in_the_long_run(coming_work, settings, statistics, allotment, elapsed_seconds=waited_seconds)
            for coming_work in (work, useful)
        )
    statistics = replace(statistics, least_shares=policy.least_shares(work))
    proposed = plan_work_shares(network, statistics, budget)
    hysteresis = state.hysteresis.updated(
        unshed_seconds=proposed.unshed_seconds,
        budget_seconds=proposed.allowed_seconds,
        # Of rows that are only estimated there may be more: then headroom is no place to wait in.
        utmost_seconds=min(budget.utmost_seconds, math.inf if upcoming.sizes_known else proposed.allowed_seconds),
        is_saturated=proposed.unsheddable_seconds > budget.utmost_seconds,
    )
    steady = entered(proposed, hysteresis, statistics=statistics, budget=budget)
    steady = limited(
        steady,
        _as_planned(state, last) if is_warm else None,
        last_least_shares=_last_least_shares(state, steady),
        statistics=statistics,
        budget=budget,
    )
    steady = settled(steady, hysteresis, statistics=statistics, budget=budget)
    allowed = guarded(network, steady, statistics=statistics, budget=budget)
    planned = policy.query_rates(useful, allowed.plan.work_codes)
    nothing_shed = dict.fromkeys(allowed.plan.work_codes, WHOLE)
    work_codes = nothing_shed if settings.advisory else allowed.plan.work_codes
    applied = policy.query_rates(_nothing_made_room_for(work), work_codes) if settings.advisory else planned
    # In advisory mode everything is done, whether or not anybody has a use for it.
    demanded = {} if settings.advisory else policy.demanded_shares(useful, planned)
    decision = Decision(
        micro_batch_id=upcoming.micro_batch_id,
        work_codes=work_codes,
        proposed_work_codes=proposed.work_codes,
        query_codes=applied.codes,
        work_shares=applied.work_shares,
        expected_errors=planned.expected_errors,
        missed_goals=planned.missed_goals,
        samplers=applied.samplers,
        sized=applied.sized,
        counting=applied.counting,
        drops=_drops(network, settings, upcoming, applied),
        row_shares=applied.row_shares,
        kept_shares={} if applied.windows is None else applied.windows.kept_shares,
        plan=replace(
            allowed.plan,
            expected_seconds=statistics.seconds(planned.work_shares),
            expected_utilization=budget.utilization(statistics.seconds(planned.work_shares)),
        ),
        reason=allowed.plan.reason,
        explanation=_explanation(allowed, planned, use, useful.useful, advisory=settings.advisory),
        advisory=settings.advisory,
        clamps=allowed.clamps,
        offered_rows=statistics.offered_rows,
        sizes_known=upcoming.sizes_known,
        backlog_rows=upcoming.backlog_rows,
        budget_seconds=budget.seconds,
        headroom=allotment.headroom * allotment.share,
        demanded_seconds=statistics.seconds(demanded),
        state_bytes=use.taken_bytes,
        correction=statistics.correction,
        speedup=upcoming.speedup,
        useful_rates=useful.useful,
        reach={query: share for query, share in work.reach.items() if query in upcoming.needs.rows_per_second},
        needs=upcoming.needs,
        now_seconds=upcoming.now_seconds,
        decided_at_seconds=decided_at_seconds,
    )
    return state.with_decision(decision, hysteresis), decision


def learn(
    state: ControlState, outcome: MicroBatchOutcome, measured: Measured | None = None
) -> tuple[ControlState, JournalEntry]:
    """Learn from a finished micro-batch, once, and compare it with what was expected.

    The time of a cold micro-batch, or of an outlier, says nothing of those to come: only its rows, event times and
    windows count.
    """
    decision = state.decision(outcome.micro_batch_id)
    if state.last_outcome is not None and outcome.micro_batch_id <= state.last_outcome.micro_batch_id:
        return state, _entry(state, decision, outcome, learned=False)
    load_model = state.load_model if outcome.is_cold else state.load_model.updated(outcome, _functions(state, outcome))
    tells_costs = not (outcome.is_cold or load_model.disregards_latest)
    observed = replace(
        state,
        arrivals=state.arrivals.observed(outcome.offered_rows, outcome.started_at_seconds),
        load_model=load_model,
        last_outcome=outcome,
        state_size=state.state_size.updated(outcome),
        learned=_learned(state, outcome, measured, tells_costs=tells_costs),
    )
    if not tells_costs:
        return observed, _entry(observed, decision, outcome, learned=False)
    learned = replace(
        observed,
        regulator=state.regulator.updated(
            measured_seconds=outcome.processing_seconds,
            predicted_seconds=load_model.seconds(outcome.costed_rows, outcome.shares_done),
            correction=state.regulator.correction if decision is None else decision.correction,
        ),
    )
    return learned, _entry(learned, decision, outcome, learned=True)


def _functions(state: ControlState, outcome: MicroBatchOutcome) -> dict[str, float]:
    """What user functions and SQL take per row on the workers that the load model knows costs for; not of joins."""
    return {
        stream: state.learned.measured_seconds_per_row(stream) * outcome.speedup
        for stream in outcome.offered_rows
        if stream not in outcome.work_per_row
    }


def _learned(
    state: ControlState, outcome: MicroBatchOutcome, measured: Measured | None, *, tells_costs: bool
) -> LearnedStatistics:
    if measured is None:
        return state.learned
    usable = measured if tells_costs else replace(measured, calls={}, state_seconds=None)
    last = state.last_outcome
    elapsed_seconds = outcome.trigger_interval_seconds
    if last is not None:
        elapsed_seconds = max(outcome.started_at_seconds - last.started_at_seconds, 1e-3)
    return state.learned.updated(usable, offered_rows=outcome.offered_rows, elapsed_seconds=elapsed_seconds)


def _elapsed_seconds(settings: ControlSettings, state: ControlState, upcoming: Upcoming) -> float:
    if state.last_cut_seconds is None:
        return settings.trigger_interval_seconds
    return max(0.0, upcoming.now_seconds - state.last_cut_seconds)


def _estimated(network: QueryNetwork, state: ControlState, upcoming: Upcoming, elapsed_seconds: float) -> Statistics:
    offered_rows = {
        stream.name: state.arrivals.expected_rows(stream.name, elapsed_seconds) for stream in network.streams
    }
    known_rows = upcoming.offered_rows.items()
    offered_rows |= {stream: rows for stream, rows in known_rows if rows or upcoming.sizes_known}
    return Statistics(
        offered_rows=offered_rows,
        load_model=state.load_model,
        correction=state.regulator.correction,
        speedup=upcoming.speedup,
        work_per_row=upcoming.work_per_row,
    )


def _in_the_long_run(
    work: ComingWork,
    settings: ControlSettings,
    statistics: Statistics,
    allotment: Allotment,
    *,
    elapsed_seconds: float,
) -> ComingWork:
    """In the long run rows may take no longer than they took to come, less what no plan can save, and headroom.

    Queries are shut down only where it does not fit without any headroom, either.
    """
    unsheddable_seconds = _unsheddable_seconds(statistics)
    came_in = allotment.share * max(elapsed_seconds, settings.trigger_interval_seconds)
    steady, utmost = (max(0.0, part * came_in - unsheddable_seconds) for part in (allotment.headroom, LASTING_SHARE))
    return replace(work, upcoming=replace(work.upcoming, steady_seconds=steady, utmost_seconds=utmost))


def _asked_of_time(work: ComingWork, statistics: Statistics) -> ClockWork:
    """The time that the micro-batch asks for, without rows that nobody needs.

    Work that was computed for an earlier load has the seconds and errors of that load; one factor corrects them all.
    """
    tree, known_seconds = work.tree, float(work.tree.node_seconds.sum())
    now_seconds = sum(statistics.work_seconds(stream) for stream in statistics.offered_rows)
    growth = now_seconds / known_seconds if known_seconds > 0 else 1.0
    of_use = growth * tree.shares(tree.node_rates(work.largest * work.needed_shares))
    nodes = [replace(one, seconds=one.seconds * part) for one, part in zip(tree.nodes, of_use.tolist(), strict=True)]
    return ClockWork(
        tree=WorkTree(tuple(nodes)),
        demands=[replace(one, coefficient=work.error_factor * one.coefficient) for one in work.demands],
        droppable=work.droppable,
        fixed_seconds=statistics.correction * statistics.load_model.fixed_seconds,
        unsheddable_seconds=_unsheddable_seconds(statistics),
    )


def _unsheddable_seconds(statistics: Statistics) -> float:
    """Seconds that no plan can save; those of queries that need every row are not among them."""
    return statistics.seconds(dict.fromkeys(statistics.offered_rows, 0.0))


def _state_use(settings: ControlSettings, state: ControlState) -> StateUse:
    """The size of state, and its growth since the last micro-batch was planned."""
    taken = state.state_size.total_bytes
    before = state.decisions[-1].state_bytes if state.decisions else taken
    return StateUse(taken_bytes=taken, grown_bytes=taken - before, limit_bytes=settings.state_limit_bytes)


def _offered_per_second(settings: ControlSettings, statistics: Statistics, elapsed_seconds: float) -> dict[str, float]:
    """How many rows of each stream came a second."""
    since_seconds = max(elapsed_seconds, settings.trigger_interval_seconds)
    return {stream: rows / since_seconds for stream, rows in statistics.offered_rows.items()}


def _useful(
    network: QueryNetwork, upcoming: Upcoming, work: ComingWork, offered_per_second: Mapping[str, float]
) -> ComingWork:
    """The work where queries feed others, which may have no use for all rows."""
    needs = upcoming.needs
    times = {} if upcoming.windows is None else upcoming.windows.event_times
    needed = {}
    for query, intervals in needs.unneeded.items():
        event_times = times.get(network.query(query).stream.name)
        if event_times is not None:
            windows = work.droppable.get(query)
            rows = [NeededRows(start, end) for start, end in intervals]
            unneeded = rows if windows is None else unneeded_rows(windows, intervals, event_times)
            needed[query] = needed_share([unneeded], event_times.first, max(event_times.first, event_times.last))
    usable = {query: rows for query, rows in needs.rows_per_second.items() if network.query(query).aggregate is None}
    offered = {query: offered_per_second.get(network.query(query).stream.name, 0) for query in usable}
    wanted = {query: rows / offered[query] for query, rows in usable.items() if offered[query] > 0}
    return work.useful_to(wanted, needed)


def _drops(network: QueryNetwork, settings: ControlSettings, upcoming: Upcoming, applied: QueryRates) -> WindowDrops:
    """The decisions on windows, and the rows that no network downstream needs; none are dropped in advisory mode."""
    if applied.windows is not None:
        drops = applied.windows.drops
    else:
        drops = NOTHING_DROPPED if upcoming.windows is None else still_dropped(upcoming.windows)
    return replace(drops, elsewhere=_unneeded(network, settings, upcoming, of_windows=False))


def _unneeded(
    network: QueryNetwork, settings: ControlSettings, upcoming: Upcoming, *, of_windows: bool
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Times of rows, or starts of windows, that no network downstream needs; none in advisory mode."""
    unneeded = upcoming.needs.unneeded
    if settings.advisory or not unneeded:
        return {}
    asking = [query for query in network.queries if (query.aggregate is not None) is of_windows]
    return unneeded_by_definition(asking, unneeded)


def _nothing_made_room_for(work: ComingWork) -> ComingWork:
    """The work as if state had no limit and no query were shut down."""
    drops = work.upcoming.drops.all_back
    return replace(work, upcoming=replace(work.upcoming, state=NOTHING_HELD, drops=drops))


def _as_planned(state: ControlState, last: MicroBatchOutcome | None) -> MicroBatchOutcome | None:
    """What the last micro-batch would have been had just those windows been kept in it that are in the long run.

    In one, more of the windows are kept that its rows belong to, in another fewer, which says nothing of the load.
    """
    decision = None if last is None else state.decision(last.micro_batch_id)
    if last is None or decision is None or not decision.kept_shares or decision.advisory:
        return last
    planned = {**last.work_shares, **decision.plan.work_shares}
    more, less = (state.load_model.seconds(last.costed_rows, done) for done in (planned, last.shares_done))
    seconds = last.processing_seconds + more - less
    return replace(last, work_shares=planned, processing_seconds=max(seconds, _LEAST_SECONDS))


_LEAST_SECONDS = 1e-3
"""No micro-batch takes less."""


def _last_least_shares(state: ControlState, plan: SheddingPlan) -> Mapping[str, float]:
    """The shares that nothing could shed in the last measured micro-batch; today's where it is forgotten."""
    decision = None if state.last_outcome is None else state.decision(state.last_outcome.micro_batch_id)
    return plan.least_shares if decision is None else decision.plan.least_shares


def _explanation(
    allowed: GuardedPlan, planned: QueryRates, use: StateUse, useful: Mapping[str, float], *, advisory: bool
) -> str:
    changes = "".join(f"; {clamp}" for clamp in allowed.clamps)
    goals = planned.missed_goals
    missed = f"; the load leaves too little for the max_error of {', '.join(goals)}" if goals else ""
    shut = () if planned.windows is None else planned.windows.shut_down
    makes_room = planned.windows is not None and planned.windows.drops.pressure is not Pressure.NONE
    if shut:
        cause = "state has to be kept within its limit" if makes_room else _NO_ROOM
        missed += f"; shut down, as {cause}: {', '.join(shut)}"
    missed += _about_state(use, makes_room=makes_room)
    missed += "".join(
        f"; of {query} no more than {share:.3g} of the rows are of use to those it feeds"
        for query, share in useful.items()
    )
    return f"{allowed.plan.explanation}{changes}{missed}" + ("; advisory, nothing is shed" if advisory else "")


_NO_ROOM = "gaps of all queries cannot be kept within their max_gap"


def _about_state(use: StateUse, *, makes_room: bool) -> str:
    if use.limit_bytes is None or not (makes_room or use.expected_share >= TIGHT):
        return ""
    size_text = f"; state takes {rounded_byte_size(use.taken_bytes)} of at most {rounded_byte_size(use.limit_bytes)}: "
    if makes_room:
        return size_text + "queries in mode subset keep as few windows as their max_gap allows"
    return (
        size_text + "no query gives up windows (mode subset, max_gap); fewer groups or shorter windows would take less"
    )


def _entry(
    state: ControlState, decision: Decision | None, outcome: MicroBatchOutcome, *, learned: bool
) -> JournalEntry:
    return JournalEntry(
        decision=decision,
        outcome=outcome,
        model_seconds=state.load_model.seconds(outcome.costed_rows, outcome.shares_done),
        learned=learned,
    )
