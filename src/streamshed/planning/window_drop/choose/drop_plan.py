"""Which windows are dropped in a micro-batch, and what that leaves for queries that are answered from samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np

from streamshed.planning.rates.effective_rates import LEAST_WORK
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree
from streamshed.planning.window_drop.choose.definitions import Definitions
from streamshed.planning.window_drop.choose.least_kept import LeastKept, least_kept, rare
from streamshed.planning.window_drop.choose.rehearsal import rehearsed_needs
from streamshed.planning.window_drop.choose.time_split import RatesOf, running, split_shares
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.choose.window_shares import least_shares_kept, window_shares
from streamshed.planning.window_drop.track.decisions import UpcomingWindows, advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.track.state_limit import Pressure
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.window_demand import WindowDemand

PATIENCE = 5
"""So many micro-batches in a row, all together, the bounds of gaps must leave too much to do, before a query is shut
down for it; and so many must have had room for all of them, before those come back."""

PATIENCE_WHEN_CLEAR = 2
"""So many are enough of which each asks for more than twice its time."""

ROOM = 0.95
"""There is room for queries that are shut down where all fit into this share of the time."""

LEAST_LEFT = 0.5
"""While windows are kept that take more than planned in the long run, samples keep this share of what they should."""

LEAST_FOR_SAMPLES = 0.25
"""Nor do they get less than this share of the time, however much windows take that were decided on before: an answer
from next to no rows is none, and a micro-batch that takes a little longer is caught up with."""

_CORRECTIONS = 3
"""So often shares are chosen for what those before them need."""

_ROUGHLY, _ROUNDING = 0.02, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlan:
    """What becomes of windows.

    Attributes:
        drops: What is decided.
        kept_shares: By query, r: which share of its windows it keeps in the long run; 0: it is shut down.
        needed: Per node of the work tree, which share of the rows that reach it is for windows that are kept, or for
            queries that need every row.
        needed_in_the_long_run: The same, expected of r.
        steady_seconds: What the work on the coming rows may take in the long run; None: nothing is known of that.
    """

    drops: WindowDrops
    kept_shares: Mapping[str, float]
    needed: Vector
    needed_in_the_long_run: Vector
    steady_seconds: float | None = None

    @property
    def shut_down(self) -> tuple[str, ...]:
        """The queries that are shut down."""
        return tuple(sorted(query for query, share in self.kept_shares.items() if share <= 0))

    def seconds_left(self, tree: WorkTree, budget_seconds: float) -> float:
        """Return what the work for samples may take.

        It is no more than `LEAST_LEFT` and `LEAST_FOR_SAMPLES` ask for where windows leave no more in the long run, and
        `LEAST_WORK` where they leave nothing.

        Args:
            tree: The work.
            budget_seconds: What all of it may take.
        """
        now, planned = (
            budget_seconds - float(tree.node_seconds @ needed) for needed in (self.needed, self.needed_in_the_long_run)
        )
        steady_seconds = budget_seconds if self.steady_seconds is None else max(budget_seconds, self.steady_seconds)
        lasting = max(0.0, steady_seconds - float(tree.node_seconds @ self.needed_in_the_long_run))
        wanted = max(LEAST_LEFT * planned, LEAST_FOR_SAMPLES * budget_seconds)
        return max(now, min(lasting, wanted), LEAST_WORK * budget_seconds)


def _steady(upcoming: UpcomingWindows, budget_seconds: float) -> float:
    return budget_seconds if upcoming.steady_seconds is None else upcoming.steady_seconds


def _utmost(upcoming: UpcomingWindows, budget_seconds: float) -> float:
    """What work may take in the long run if it has to: rather no headroom than no answers."""
    steady_seconds = _steady(upcoming, budget_seconds)
    return steady_seconds if upcoming.utmost_seconds is None else max(steady_seconds, upcoming.utmost_seconds)


def nothing_more_dropped(work: TolerantWork, upcoming: UpcomingWindows) -> DropPlan:
    """Keep all windows that are not decided on yet; those that were dropped before are not needed.

    A micro-batch that is light, or empty, is one with room for queries that are shut down, and no more than one: they
    come back as beside others, see `PATIENCE`.

    Args:
        work: The work.
        upcoming: What is known.
    """
    calm = replace(upcoming, drops=replace(_not_pressed(upcoming.drops), pressure=Pressure.NONE))
    shut, drops = _still_shut(work, calm)
    return _decided(work, _runs(work, shut).astype(float), replace(calm, drops=drops))


def _runs(work: TolerantWork, shut: AbstractSet[str]) -> Truths:
    return np.array([demand.query not in shut for demand in work.demands])


def _still_shut(work: TolerantWork, upcoming: UpcomingWindows) -> tuple[set[str], WindowDrops]:
    """The queries that are shut down in this micro-batch before it is looked at, and the drops that remember it.

    Light and heavy micro-batches may alternate: what counts is whether everything fits into the time of several in a
    row.

    Args:
        work: The work.
        upcoming: What is known; the work may take its `steady_seconds`, as much as it asks for where there are none.
    """
    steady_seconds = upcoming.steady_seconds
    drops = upcoming.drops
    shut = {one.query for one in work.queries.values() if drops.are_shut_down(one.parts.keys())}
    nothing_left = replace(drops, eased=0, eased_seconds=0.0)
    if not shut or drops.pressure is not Pressure.NONE:
        return shut, nothing_left
    left = drops.eased_seconds
    if steady_seconds is not None:
        left += ROOM * steady_seconds - least_kept(work, _window_demands(work, frozenset())).seconds
    if left < 0:
        return shut, nothing_left
    if drops.eased + 1 >= PATIENCE:
        return set(), nothing_left
    return shut, replace(drops, eased=drops.eased + 1, eased_seconds=left)


def _pressed(drops: WindowDrops, least_seconds: float, utmost_seconds: float) -> WindowDrops:
    """Remember by how much the least work that the bounds of gaps allow exceeds the time.

    Light and heavy micro-batches may alternate, as a short one follows a long one: what counts is the time of several
    in a row. A single one adds no more than its own time, so that a backlog does not outweigh light ones that follow.

    Args:
        drops: What was decided before.
        least_seconds: What the least takes in the present one.
        utmost_seconds: What it may take.
    """
    short_seconds = least_seconds - utmost_seconds
    together = drops.pressed_seconds + min(short_seconds, utmost_seconds)
    if max(together, short_seconds) <= 0:
        return _not_pressed(drops)
    return replace(
        drops,
        pressed=drops.pressed + 1,
        pressed_seconds=together,
        pressed_least_seconds=drops.pressed_least_seconds + least_seconds,
        pressed_utmost_seconds=drops.pressed_utmost_seconds + utmost_seconds,
    )


def _are_pressed_for_long(drops: WindowDrops, least_seconds: float, upcoming: UpcomingWindows) -> bool:
    """Whether there has been too much to do for so long that a query is shut down, or would be after this one.

    Args:
        drops: What is remembered, of the present one, too.
        least_seconds: What the least takes in the present one: where it is the time of `PATIENCE` micro-batches, rows
            of as many wait for it.
        upcoming: What is known.
    """
    is_clear = drops.pressed_seconds >= drops.pressed_utmost_seconds
    holds_up = upcoming.interval_seconds is not None and least_seconds > PATIENCE * upcoming.interval_seconds
    return holds_up or drops.pressed >= (PATIENCE_WHEN_CLEAR if is_clear else PATIENCE)


def _not_pressed(drops: WindowDrops) -> WindowDrops:
    return replace(drops, pressed=0, pressed_seconds=0.0, pressed_least_seconds=0.0, pressed_utmost_seconds=0.0)


def drop_plan(work: TolerantWork, budget_seconds: float, rates_of: RatesOf, upcoming: UpcomingWindows) -> DropPlan:
    """Plan which windows are dropped.

    Where state comes near its limit, each query keeps as few windows as it may, and one after the other that holds most
    is shut down; see `state_limit`.

    Beyond that, queries share the time by priority and weight, those among them that are answered from samples; see
    `time_split`.

    Queries of one definition are decided on as one, see `Definitions`.

    Args:
        work: The work.
        budget_seconds: What all of it may take.
        rates_of: The policy for samples.
        upcoming: What is known.
    """
    work = replace(work, reading_seconds=upcoming.reading_seconds)
    definitions = Definitions(work)
    kept_shares, needed, drops = _planned(definitions.work, budget_seconds, rates_of, upcoming)
    return _decided(
        work,
        definitions.of_queries(kept_shares),
        replace(upcoming, drops=drops),
        None if needed is None else definitions.of_nodes(needed),
    )


def _planned(
    work: TolerantWork, budget_seconds: float, rates_of: RatesOf, upcoming: UpcomingWindows
) -> tuple[Vector, Vector | None, WindowDrops]:
    """The shares of windows, what they need in the long run or None for what is expected of them, and the load so far.

    Where some are shut down, the others fit into what there was time for, of all that the least took together.
    """
    long_run_seconds = upcoming.seconds_for(work.queries.values(), budget_seconds)
    pressure = upcoming.pressure
    before = replace(upcoming, drops=replace(upcoming.drops, pressure=pressure))
    shut, drops = _still_shut(work, replace(before, steady_seconds=_steady(upcoming, budget_seconds)))
    if pressure is Pressure.FULL:
        shut |= _largest(work, upcoming, shut)
    window_demands = _window_demands(work, frozenset(shut))
    least = least_kept(work, window_demands)
    utmost_seconds = _utmost(upcoming, budget_seconds)
    drops = _pressed(drops, least.seconds, utmost_seconds)
    is_pressed = _are_pressed_for_long(drops, least.seconds, upcoming) and least.seconds > utmost_seconds
    if is_pressed and not least.fits(long_run_seconds):
        lasting_share = drops.pressed_utmost_seconds / drops.pressed_least_seconds
        lasting_seconds = max(utmost_seconds, lasting_share * least.seconds)
        shut |= _too_much(work, window_demands, least, lasting_seconds)
        window_demands = _window_demands(work, frozenset(shut))
        least = least_kept(work, window_demands)
        drops = _not_pressed(drops)
    kept_shares, needed = _split(work, window_demands, least, long_run_seconds, rates_of)
    if pressure is not Pressure.NONE:
        kept_shares, needed = (
            np.minimum(kept_shares, least_shares_kept(window_demands) * running(work, window_demands)),
            None,
        )
    return kept_shares, needed, drops


def _split(
    work: TolerantWork,
    window_demands: Sequence[WindowDemand],
    least: LeastKept,
    budget_seconds: float,
    rates_of: RatesOf,
) -> tuple[Vector, Vector | None]:
    """The shares of windows that fill a budget, by what they need of rows, and not by what the model of shares says.

    The model takes windows to lie within each other, whoever keeps most; those of several queries lie apart where one
    must not miss another. So much less is planned by it as it says too little of the shares that it leads to.

    Returns:
        The shares, the least where no more fits, and what they need; None: what the model says.
    """
    if not least.fits(budget_seconds):
        return least.kept_shares, least.needed
    short_seconds = max(0.0, least.seconds - least.modelled_seconds)
    roughly = _ROUGHLY * budget_seconds
    for _ in range(_CORRECTIONS):
        short_before = short_seconds
        planned_seconds = max(least.modelled_seconds, budget_seconds - short_before)
        kept_shares = split_shares(work, window_demands, planned_seconds, rates_of)
        if work.is_modelled(kept_shares):
            return kept_shares, None
        needed = rehearsed_needs(work, kept_shares)
        taken_seconds = work.seconds_needed(needed)
        short_seconds = taken_seconds - work.seconds_needed(work.expected_needs(kept_shares))
        fits = taken_seconds <= budget_seconds + roughly
        if fits and abs(short_seconds - short_before) <= roughly:
            break
    return (kept_shares, needed) if fits else (least.kept_shares, least.needed)


def _too_much(
    work: TolerantWork, window_demands: Sequence[WindowDemand], least: LeastKept, lasting_seconds: float
) -> set[str]:
    """The queries to shut down so that the least of the others lasts.

    The model of shares says who costs most; it assumes that each query needs rows of its own. Where a query's windows
    lie within windows that others keep in any case, shutting it down saves nothing, and it runs. Where those that the
    model lets run take more than it says, queries are taken in one by one, by priority and weight, as long as they fit.
    """
    kept_shares = window_shares(work.tree_of_windows, rare(work, window_demands), least.modelled(lasting_seconds))
    runs = running(work, window_demands) & (kept_shares > 0)
    shut = {demand.query for demand, is_running in zip(window_demands, runs.tolist(), strict=True) if not is_running}
    least_so_far = least_kept(work, _window_demands(work, frozenset(shut)))
    if least_so_far.seconds > lasting_seconds * (1 + _ROUNDING):
        shut = set(work.queries)
        least_so_far = least_kept(work, _window_demands(work, frozenset(shut)))
    in_vain = sorted(
        (demand for demand in window_demands if demand.query in shut and demand.sampling_rate is None),
        key=lambda demand: (-demand.priority, -demand.weight, demand.query),
    )
    for demand in in_vain:
        with_it = least_kept(work, _window_demands(work, frozenset(shut - {demand.query})))
        if with_it.seconds <= max(lasting_seconds, least_so_far.seconds * (1 + _ROUNDING)):
            shut, least_so_far = shut - {demand.query}, with_it
    return shut


def _window_demands(work: TolerantWork, shut: frozenset[str]) -> list[WindowDemand]:
    """What each query asks of windows: nothing where it is shut down, or answered from samples."""
    window_demands = []
    for demand in work.demands:
        tolerant = work.queries.get(demand.query)
        if tolerant is None or demand.query in shut:
            needs_all = tolerant is None and demand.is_protected
            window_demands.append(
                WindowDemand(query=demand.query, sampling_rate=float(needs_all), priority=demand.priority)
            )
        else:
            window_demands.append(
                WindowDemand(
                    query=demand.query,
                    weight=demand.weight,
                    gap_windows=tolerant.gap_windows,
                    early_share=tolerant.early_share,
                    lone_epochs=tolerant.lone_epochs,
                    drops_with=tolerant.drops_with,
                    priority=demand.priority,
                )
            )
    return window_demands


def _largest(work: TolerantWork, upcoming: UpcomingWindows, shut: AbstractSet[str]) -> set[str]:
    """The queries to shut down for memory, of one definition: of the lowest priority, with the most groups.

    A definition that several queries share has their highest priority.
    """
    running = [query for query in work.queries.values() if query.query not in shut]
    if not running:
        return set()
    priorities = {demand.query: demand.priority for demand in work.demands}
    highest: dict[int, int] = {}
    for query in running:
        priority = priorities[query.query]
        highest[query.definition_id] = max(priority, highest.get(query.definition_id, priority))

    def held(query: DroppableQuery) -> tuple[float, float, float, int]:
        entries = upcoming.state_entries.get(query.query, 1.0)
        return -highest[query.definition_id], entries, -query.weight, query.definition_id

    largest = max(running, key=held).definition_id
    return {query.query for query in running if query.definition_id == largest}


def _decided(
    work: TolerantWork, kept_shares: Vector, upcoming: UpcomingWindows, needed_in_the_long_run: Vector | None = None
) -> DropPlan:
    shares = {
        demand.query: float(share)
        for demand, share in zip(work.demands, kept_shares.tolist(), strict=True)
        if demand.query in work.queries
    }
    drops = advanced_drops(work.queries, shares, upcoming)
    lasting = work.expected_needs(kept_shares) if needed_in_the_long_run is None else needed_in_the_long_run
    steady_seconds = upcoming.steady_seconds
    return DropPlan(
        drops=drops,
        kept_shares=shares,
        needed=work.needs(drops, upcoming.event_times),
        needed_in_the_long_run=lasting,
        steady_seconds=None if steady_seconds is None else steady_seconds - work.reading_needed(lasting),
    )
