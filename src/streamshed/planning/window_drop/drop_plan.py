"""Which windows are dropped in a micro-batch, and what that leaves for queries that are answered from samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from streamshed.planning.demand import Demand
from streamshed.planning.window_drop.droppable import DroppableQuery
from streamshed.planning.window_drop.open_windows import NOTHING_DROPPED, EventTimes, QueryDrops, WindowDrops
from streamshed.planning.window_drop.retention import needed_share
from streamshed.planning.window_drop.window_shares import (
    WindowDemand,
    least_seconds,
    least_shares_kept,
    window_shares,
)
from streamshed.planning.work_tree import Truths, Vector, WorkNode, WorkTree

PATIENCE = 5
"""So many micro-batches in a row the bounds of gaps must leave too much to do, before a query is shut down for it; and
so many in a row there must be room for all of them, before those come back."""

ROOM = 0.95
"""There is room for queries that are shut down where all fit into this share of the time."""

SPLITS = 7
"""So many ways to divide the time between windows and samples are compared."""

LEAST_LEFT = 0.5
"""While windows are kept that take more than planned in the long run, samples keep this share of what they should."""

_ROUNDING = 1e-9
_LEAST_RATE = 1e-8

RatesOf = Callable[[WorkTree, Sequence[Demand], float], Vector]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcomingWindows:
    """What is known of windows when a micro-batch is planned.

    Attributes:
        event_times: By stream.
        drops: What was decided before.
        steady_seconds: What the work on the coming rows may take in the long run, however long the micro-batch that
            is planned may take; None: nothing is known of that.
    """

    event_times: Mapping[str, EventTimes] = field(default_factory=dict)
    drops: WindowDrops = NOTHING_DROPPED
    steady_seconds: float | None = None

    def seconds_for(self, queries: Iterable[DroppableQuery], budget_seconds: float) -> float:
        """Return what may be filled with work while windows are chosen.

        Where epochs are longer than micro-batches, one that is kept makes these late, and the next that is dropped lets
        them catch up: how many are dropped follows from the long run. Else it follows from each micro-batch.
        """
        if self.steady_seconds is None:
            return budget_seconds
        spans = [
            (one.epoch, times.last + 1 - times.first)
            for one in queries
            if (times := self.event_times.get(one.stream)) is not None
        ]
        are_short = all(2 * epoch <= span for epoch, span in spans)
        return budget_seconds if are_short else max(budget_seconds, self.steady_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPlan:
    """What becomes of windows.

    Attributes:
        drops: What is decided.
        kept_shares: By query, r: which share of its windows it keeps in the long run; 0: it is shut down.
        needed: Per node of the work tree, which share of the rows that reach it is for windows that are kept, or for
            queries that need every row.
        needed_in_the_long_run: The same, expected of r.
    """

    drops: WindowDrops
    kept_shares: Mapping[str, float]
    needed: Vector
    needed_in_the_long_run: Vector

    @property
    def shut_down(self) -> tuple[str, ...]:
        """The queries that are shut down."""
        return tuple(sorted(query for query, share in self.kept_shares.items() if share <= 0))

    def seconds_left(self, tree: WorkTree, budget_seconds: float) -> float:
        """Return what the work for samples may take."""
        now, planned = (
            budget_seconds - float(tree.node_seconds @ needed) for needed in (self.needed, self.needed_in_the_long_run)
        )
        return max(now, LEAST_LEFT * planned, 0.0)


def _steady(upcoming: UpcomingWindows, budget_seconds: float) -> float:
    return budget_seconds if upcoming.steady_seconds is None else upcoming.steady_seconds


def nothing_more_dropped(
    tree: WorkTree, demands: Sequence[Demand], queries: Mapping[str, DroppableQuery], upcoming: UpcomingWindows
) -> DropPlan:
    """Keep all windows that are not decided on yet; those that were dropped before are not needed.

    Args:
        tree: The work.
        demands: The queries, in the tree's order.
        queries: Those whose windows may be dropped, by name.
        upcoming: What is known.
    """
    kept = np.ones(len(demands))
    return _decided(tree, demands, queries, kept, replace(upcoming, drops=replace(upcoming.drops, pressed=0)))


def drop_plan(
    tree: WorkTree,
    demands: Sequence[Demand],
    queries: Mapping[str, DroppableQuery],
    budget_seconds: float,
    rates_of: RatesOf,
    upcoming: UpcomingWindows,
) -> DropPlan:
    """Plan which windows are dropped.

    Beside queries that are answered from samples, the time is divided so that the sum of w²·(1 − r) over the one and of
    w²·c·(1 − P)/P over the others is least: an answer that is missing is off by all of it.

    Args:
        tree: The work.
        demands: The queries, in the tree's order.
        queries: Those whose windows may be dropped, by name.
        budget_seconds: What all of the tree's work may take.
        rates_of: The policy for samples.
        upcoming: What is known.
    """
    long_run_seconds = upcoming.seconds_for(queries.values(), budget_seconds)
    shut = {one.query for one in queries.values() if _is_shut_down(one, upcoming.drops)}
    everybody = _window_demands(demands, queries, frozenset())
    has_room = _least(tree, everybody, queries) <= ROOM * _steady(upcoming, budget_seconds)
    eased = upcoming.drops.eased + 1 if shut and has_room else 0
    if eased >= PATIENCE:
        shut, eased = set(), 0
    asked = _window_demands(demands, queries, frozenset(shut))
    least = _least(tree, asked, queries)
    fits, can_last = least <= long_run_seconds, least <= _steady(upcoming, budget_seconds)
    pressed = 0 if can_last else upcoming.drops.pressed + 1
    runs = np.array([demand.query not in shut for demand in demands])
    if fits and of_samples(demands):
        kept = _best_split(tree, demands, queries, _Asked(asked, runs), long_run_seconds, rates_of)
    elif fits:
        kept = _window_shares(tree, queries, asked, long_run_seconds) * runs
    elif pressed >= PATIENCE:
        kept, pressed = window_shares(tree, _rare(asked, queries), _steady(upcoming, budget_seconds)) * runs, 0
    else:
        kept = least_shares_kept(asked) * runs
    drops = replace(upcoming.drops, pressed=pressed, eased=eased)
    return _decided(tree, demands, queries, kept, replace(upcoming, drops=drops))


def advanced_drops(
    queries: Mapping[str, DroppableQuery], kept_shares: Mapping[str, float], upcoming: UpcomingWindows
) -> WindowDrops:
    """Decide on the windows that a micro-batch may bring.

    Args:
        queries: Those whose windows may be dropped, by name.
        kept_shares: By query, which share of its windows it keeps; 0: it is shut down. Of queries with one definition,
            the largest.
        upcoming: What is known, and was decided before.
    """
    of_definition: dict[str, float] = {}
    for name, share in kept_shares.items():
        definition = str(queries[name].definition_id)
        of_definition[definition] = max(share, of_definition.get(definition, 0.0))
    by_definition = {str(one.definition_id): one for one in queries.values()}
    decided = _still_open(upcoming, by_definition)
    for definition, share in of_definition.items():
        one = by_definition[definition]
        times = upcoming.event_times.get(one.stream)
        after = None if times is None else _after(one, decided.get(definition), times, share)
        if after is not None:
            decided[definition] = after
    return replace(upcoming.drops, queries=decided)


def expected_needs(
    tree: WorkTree, demands: Sequence[Demand], queries: Mapping[str, DroppableQuery], kept: Vector
) -> Vector:
    """Return which share of the rows that reach a node is needed in the long run: 1 − e·(1 − m), see `window_shares`.

    Args:
        tree: The work.
        demands: The queries, in the tree's order.
        queries: Those whose windows may be dropped, by name.
        kept: Per demand, the share of its windows that is kept.
    """
    found = np.zeros(len(tree.nodes))
    for node, below in enumerate(tree.queries_below):
        tolerant = [query for query in below if demands[query].query in queries]
        if any(demands[query].is_protected and query not in tolerant for query in below):
            found[node] = 1.0
        elif tolerant:
            running = [query for query in tolerant if kept[query] > 0]
            early = min(
                (queries[demands[query].query].early_share_at(1 - float(kept[query])) for query in running), default=1.0
            )
            found[node] = 1 - early * (1 - max((float(kept[query]) for query in running), default=0.0))
    return found


def of_samples(demands: Sequence[Demand]) -> list[int]:
    """Return the numbers of those that are answered from samples."""
    return [number for number, demand in enumerate(demands) if not demand.is_protected]


def sampled_work(tree: WorkTree, demands: Sequence[Demand], needed: Vector) -> tuple[WorkTree, tuple[int, ...]]:
    """Return what is left of a tree for those that are answered from samples: the work on rows nobody else needs.

    Args:
        tree: The work.
        demands: The queries, in the tree's order.
        needed: Per node, the share of its rows that is worked on for others.

    Returns:
        The tree, whose queries are those of `of_samples`, and per node of it, which node of the other it is.
    """
    members = {query: number for number, query in enumerate(of_samples(demands))}
    places: dict[int, int] = {}
    nodes: list[WorkNode] = []
    for index, (node, below) in enumerate(zip(tree.nodes, tree.queries_below, strict=True)):
        if any(query in members for query in below):
            places[index] = len(nodes)
            nodes.append(
                replace(
                    node,
                    parent=None if node.parent is None else places[node.parent],
                    seconds=node.seconds * (1 - float(needed[index])),
                    query=None if node.query is None else members[node.query],
                )
            )
    return WorkTree(tuple(nodes)), tuple(places)


def _window_shares(
    tree: WorkTree, queries: Mapping[str, DroppableQuery], asked: Sequence[WindowDemand], budget_seconds: float
) -> Vector:
    """The shares of windows that fill a budget, be they more than half of all or fewer: whichever is worth more.

    What is needed grows with a share more steeply below a half than above: both are linear, together they are not.
    """
    choices = [one for one in (asked, _rare(asked, queries)) if least_seconds(tree, one) <= budget_seconds]
    found = [window_shares(tree, one, budget_seconds) for one in choices]
    weights = np.array([one.weight if one.sampling_rate is None else 0.0 for one in asked])
    return max(found, key=lambda kept: float(weights @ kept))


def _rare(asked: Sequence[WindowDemand], queries: Mapping[str, DroppableQuery]) -> list[WindowDemand]:
    """The same where no more than half of the windows are kept."""
    return [
        replace(one, is_rare=True) if one.sampling_rate is None and queries[one.query].may_follow else one
        for one in asked
    ]


def _least(tree: WorkTree, asked: Sequence[WindowDemand], queries: Mapping[str, DroppableQuery]) -> float:
    """What everything takes where each query keeps as few of its windows as it may."""
    return min(least_seconds(tree, one) for one in (asked, _rare(asked, queries)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of windows, and per query whether it runs."""

    demands: Sequence[WindowDemand]
    runs: Truths


def _best_split(
    tree: WorkTree,
    demands: Sequence[Demand],
    queries: Mapping[str, DroppableQuery],
    asked: _Asked,
    budget_seconds: float,
    rates_of: RatesOf,
) -> Vector:
    """The shares of windows kept at the best of some divisions of the time between windows and samples."""
    sampled = [demands[query] for query in of_samples(demands)]
    tolerant = [(number, one.weight**2) for number, one in enumerate(asked.demands) if one.sampling_rate is None]
    least = _least(tree, asked.demands, queries)
    best, loss = least_shares_kept(asked.demands) * asked.runs, np.inf
    for part in np.linspace(0.0, 1.0, SPLITS).tolist():
        for_windows = least + part * (budget_seconds - least)
        kept = _window_shares(tree, queries, asked.demands, for_windows * (1 + _ROUNDING)) * asked.runs
        needed = expected_needs(tree, demands, queries, kept)
        left = max(0.0, budget_seconds - float(tree.node_seconds @ needed))
        rest, _ = sampled_work(tree, demands, needed)
        rates = np.maximum(rates_of(rest, sampled, left), _LEAST_RATE).tolist()
        missing = sum(weight * (1 - float(kept[number])) for number, weight in tolerant)
        off = sum((one.weight * one.relative_error(rate)) ** 2 for one, rate in zip(sampled, rates, strict=True))
        if missing + off < loss:
            best, loss = kept, missing + off
    return best


def _window_demands(
    demands: Sequence[Demand], queries: Mapping[str, DroppableQuery], shut: frozenset[str]
) -> list[WindowDemand]:
    """Those that are shut down, and those that are answered from samples, take nothing of what windows may take."""
    found = []
    for demand in demands:
        tolerant = queries.get(demand.query)
        if tolerant is None or demand.query in shut:
            needs_all = tolerant is None and demand.is_protected
            found.append(WindowDemand(query=demand.query, sampling_rate=float(needs_all)))
        else:
            found.append(
                WindowDemand(
                    query=demand.query,
                    weight=demand.weight,
                    batch=tolerant.batch,
                    early_share=tolerant.early_share,
                )
            )
    return found


def _is_shut_down(query: DroppableQuery, drops: WindowDrops) -> bool:
    known = drops.queries.get(str(query.definition_id))
    return known is not None and known.is_shut_down


def _decided(
    tree: WorkTree,
    demands: Sequence[Demand],
    queries: Mapping[str, DroppableQuery],
    kept: Vector,
    upcoming: UpcomingWindows,
) -> DropPlan:
    shares = {
        demand.query: float(share)
        for demand, share in zip(demands, kept.tolist(), strict=True)
        if demand.query in queries
    }
    drops = advanced_drops(queries, shares, upcoming)
    return DropPlan(
        drops=drops,
        kept_shares=shares,
        needed=_needs(tree, demands, queries, drops, upcoming.event_times),
        needed_in_the_long_run=expected_needs(tree, demands, queries, kept),
    )


def _still_open(upcoming: UpcomingWindows, known: Mapping[str, DroppableQuery]) -> dict[str, QueryDrops]:
    """What was decided; of queries that are gone, as long as windows of theirs may be open."""
    opened = min((times.opened for times in upcoming.event_times.values()), default=None)
    return {
        definition: one
        for definition, one in upcoming.drops.queries.items()
        if definition in known or opened is None or one.is_open_at(opened)
    }


def _after(query: DroppableQuery, before: QueryDrops | None, times: EventTimes, share: float) -> QueryDrops | None:
    known = QueryDrops.starting(query.coin, times) if before is None else _as_asked_now(before, query)
    if known is None:
        return None
    if share <= 0:
        return known.shut_down(times)
    return known.back().advanced(times, drop_share=1 - share)


def _as_asked_now(before: QueryDrops, query: DroppableQuery) -> QueryDrops:
    """What was decided stays; what is still to be decided follows the query as it is now."""
    return replace(before, coin=replace(before.coin, batch=query.batch, epoch=query.epoch, seed=query.coin.seed))


def _needs(
    tree: WorkTree,
    demands: Sequence[Demand],
    queries: Mapping[str, DroppableQuery],
    drops: WindowDrops,
    event_times: Mapping[str, EventTimes],
) -> Vector:
    """Which share of the rows that reach a node is needed in the micro-batch that is planned."""
    unneeded = {definition: known.unneeded for definition, known in drops.queries.items()}
    found = np.zeros(len(tree.nodes))
    known_shares: dict[frozenset[str], float] = {}
    for node, below in enumerate(tree.queries_below):
        tolerant = [queries[demands[query].query] for query in below if demands[query].query in queries]
        if any(demands[query].is_protected and demands[query].query not in queries for query in below):
            found[node] = 1.0
        elif tolerant:
            names = frozenset(str(one.definition_id) for one in tolerant)
            if names not in known_shares:
                times = event_times.get(tolerant[0].stream)
                first, last = (0, 0) if times is None else (times.first, max(times.first, times.last))
                known_shares[names] = needed_share([unneeded.get(name, []) for name in sorted(names)], first, last)
            found[node] = known_shares[names]
    return found
