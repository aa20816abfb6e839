"""Step 2: which work the micro-batch brings, which of it is of use, and how much time there is."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from streamshed.control.allotted_time import allotted
from streamshed.control.decision import Upcoming
from streamshed.control.known_needs import unneeded_by_definition
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import Allotment, OwnTime
from streamshed.control.state import ControlState
from streamshed.control.steps.estimate import Request
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.explain.clock_work import ClockWork
from streamshed.planning.plan.blocks_read import BlocksRead, blocks_read
from streamshed.planning.plan.budget import LASTING_SHARE, Budget
from streamshed.planning.plan.coming_work import ComingWork
from streamshed.planning.plan.kept_work import KeptWork
from streamshed.planning.plan.work_shares import WORTH_SAVING
from streamshed.planning.tree.work_tree import WorkTree
from streamshed.planning.window_drop.choose.drop_plan import DropPlan
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery, streams_needed_whole
from streamshed.planning.window_drop.track.not_needed import unneeded_rows
from streamshed.planning.window_drop.track.reading_factors import reading_factors_of_windows
from streamshed.planning.window_drop.track.retention import needed_share
from streamshed.planning.window_drop.track.stale import of_streams, without_stale
from streamshed.planning.window_drop.track.state_limit import StateUse
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.provenance import NeededRows
from streamshed.statistics.design_effects import design_effects
from streamshed.statistics.forecast import Statistics

MOST_WRITTEN = 5_000
"""Blocks are left unread while micro-batches write no more groups into state: each has a list for its blocks then."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a micro-batch brings, and the time that there is for it.

    Attributes:
        statistics: Rows and costs.
        work: All of the work.
        useful: The work that somebody has a use for.
        allotment: The clock's part of the time.
        budget: What the micro-batch may take.
        state_use: The size of state.
        unread: How many blocks streams bring that may be left unread, as far as no windows are kept.
        read_for_windows: The streams that would be read in part if no row might be in a window that is kept.
    """

    statistics: Statistics
    work: ComingWork
    useful: ComingWork
    allotment: Allotment
    budget: Budget
    state_use: StateUse
    unread: Mapping[str, int]
    read_for_windows: frozenset[str] = frozenset()


def expected(
    request: Request,
    statistics: Statistics,
    kept_work: KeptWork,
    time: OwnTime,
    decided: DropPlan | None = None,
) -> Expectation:
    """Return what the micro-batch brings, and the time that there is for it; see `blocks_read`.

    Args:
        request: What is to be decided.
        statistics: The rows that come, and what they cost.
        kept_work: The work of the network, computed anew only where it has changed.
        time: What the clocks of a driver share.
        decided: What becomes of windows, where that is decided already.
    """
    everything = _expected(request, statistics, kept_work, time)
    effects = design_effects(request.state.learned.block_spreads)

    def read(needed_whole: Container[str]) -> BlocksRead:
        return blocks_read(everything.unread, needed_whole, statistics, everything.budget, effects)

    spared = read(())
    if not spared.shares:
        return everything
    work = everything.work
    keeping = streams_that_keep_windows(work, work.upcoming.drops if decided is None else decided.drops)
    now = read(keeping)
    read_in_part = replace(statistics, read_shares=now.shares, bundle_widths={**spared.widths, **now.widths})
    expectation = _expected(request, read_in_part, kept_work, time, spared.shares)
    return replace(
        expectation,
        work=replace(expectation.work, windows=decided),
        useful=replace(expectation.useful, windows=decided),
        read_for_windows=keeping & spared.shares.keys(),
    )


def streams_that_keep_windows(work: ComingWork, drops: WindowDrops) -> frozenset[str]:
    """Return the streams of which some row that comes may be in a window that is kept, or not decided on.

    Args:
        work: The work of the micro-batch.
        drops: What is decided on windows.
    """
    times = work.upcoming.event_times

    def is_spared(query: DroppableQuery) -> bool:
        of_stream, parts = times.get(query.stream), query.parts.keys()
        if of_stream is None:
            return drops.are_shut_down(parts)
        return drops.spare(parts, max(of_stream.first, of_stream.opened), of_stream.last)

    return frozenset(query.stream for query in work.droppable.values() if not is_spared(query))


def _unread(request: Request, statistics: Statistics, work: ComingWork) -> dict[str, int]:
    """See `Expectation.unread`."""
    writes_many_groups = request.state.state_size.written_at_once > MOST_WRITTEN
    if not request.upcoming.blocks or request.settings.advisory or statistics.fresh_shares or writes_many_groups:
        return {}
    whole = streams_needed_whole(request.network, work.droppable)
    return {name: count for name, count in request.upcoming.blocks.items() if name not in whole}


def _expected(
    request: Request,
    statistics: Statistics,
    kept_work: KeptWork,
    time: OwnTime,
    spared: Mapping[str, float] = MappingProxyType({}),
) -> Expectation:
    settings, state, upcoming = request.settings, request.state, request.upcoming
    use = _state_use(settings, state)
    unneeded = unneeded_times(request.network, settings, upcoming, of_windows=True)
    work = kept_work.coming_work(
        kept_work.network_statistics(state.learned, settings.statistics),
        statistics,
        None
        if upcoming.windows is None
        else replace(_fresh_windows(request, upcoming.windows), state=use, unneeded=unneeded),
    )
    offered_per_second = _offered_per_second(settings, statistics, request.elapsed_seconds)
    work = work.read_in_part(statistics.read_shares)
    useful = _useful(request.network, upcoming, work, offered_per_second)
    allotment = time.allotment(_asked_of_time(useful, statistics))
    budget = allotted(
        settings,
        elapsed_seconds=request.waited_seconds,
        backlog_rows=upcoming.backlog_rows,
        allotment=allotment,
        held_up_seconds=upcoming.held_up_seconds,
    )
    if upcoming.windows is not None:
        work, useful = (_in_the_long_run(part, request, statistics, allotment, spared) for part in (work, useful))
    least = settings.shedding_policy.least_shares(work)
    unread = _unread(request, statistics, work)
    return Expectation(replace(statistics, least_shares=least), work, useful, allotment, budget, use, unread)


def _fresh_windows(request: Request, windows: UpcomingWindows) -> UpcomingWindows:
    """What is known of windows of the rows that are not too old."""
    stale = of_streams(request.network, request.stale)
    if not stale:
        return windows
    times = windows.event_times
    fresh = {stream: without_stale(times[stream], intervals) for stream, intervals in stale.items() if stream in times}
    return replace(windows, event_times={**times, **fresh})


def _in_the_long_run(
    work: ComingWork,
    request: Request,
    statistics: Statistics,
    allotment: Allotment,
    spared: Mapping[str, float],
) -> ComingWork:
    """In the long run rows may take no longer than they took to come, less what no plan can save, and headroom.

    Queries are shut down only where it does not fit without any headroom, either; nor are windows given up to save less
    than `WORTH_SAVING` of what no plan can save. Who keeps windows needs all rows to be read: where blocks are left
    unread otherwise, that is work for windows.
    """
    came_in = allotment.share * max(request.waited_seconds, request.settings.trigger_interval_seconds)
    whole_seconds = _unsheddable_seconds(replace(statistics, read_shares={}))
    reading_factors = reading_factors_of_windows(
        work.droppable.values(), work.upcoming.event_times, lasts=whole_seconds < LASTING_SHARE * came_in
    )
    reading_seconds = {
        stream: factor * statistics.unread_seconds(stream, spared[stream])
        for stream, factor in reading_factors.items()
        if stream in spared
    }
    read_shares = {stream: share for stream, share in spared.items() if stream in reading_seconds}
    unsheddable_seconds = _unsheddable_seconds(replace(statistics, read_shares=read_shares))
    steady, utmost = (part * came_in - unsheddable_seconds for part in (allotment.headroom, LASTING_SHARE))
    upcoming = replace(
        work.upcoming,
        steady_seconds=max(WORTH_SAVING * unsheddable_seconds, steady),
        utmost_seconds=max(0.0, utmost),
        interval_seconds=None if request.interval_seconds is None else allotment.share * request.interval_seconds,
        reading_seconds=reading_seconds,
    )
    return replace(work, upcoming=upcoming)


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


def unneeded_times(
    network: QueryNetwork, settings: ControlSettings, upcoming: Upcoming, *, of_windows: bool
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Times of rows, or starts of windows, that no network downstream needs; none in advisory mode."""
    unneeded = upcoming.needs.unneeded
    if settings.advisory or not unneeded:
        return {}
    asking = [query for query in network.queries if (query.aggregate is not None) is of_windows]
    return unneeded_by_definition(asking, unneeded)
