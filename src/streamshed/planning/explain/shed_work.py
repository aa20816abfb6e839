"""What is shed of the work on a network's rows: as a policy chooses, or as it was decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from streamshed.network.model.network import QueryNetwork
from streamshed.planning.load.network_load import NetworkLoad
from streamshed.planning.rates.effective_rates import LEAST_WORK
from streamshed.planning.rates.rate_policies import RatePolicy
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Vector, WorkTree
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, drop_plan
from streamshed.planning.window_drop.choose.tolerant_work import TolerantWork
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.window_drops import WindowDrops

_LEAST_RATE = 1e-8


@dataclass(frozen=True, slots=True)
class ShedWork:
    """What is shed.

    Attributes:
        rates: Per demand, its effective sampling rate.
        done: Per node, the share of its work that is done.
        needed: Per node, the share of its rows that kept windows need, and queries that need every row; None: no
            windows are dropped.
        windows: Whose windows are dropped, and which share of them each keeps.
    """

    rates: Vector
    done: Vector
    needed: Vector | None = None
    windows: Mapping[str, tuple[DroppableQuery, float]] = field(default_factory=dict)

    def seconds_while_kept(self, tree: WorkTree, demands: Sequence[Demand]) -> float:
        """Return what work takes of which all rows are in windows that are kept, of queries that are not shut down.

        Args:
            tree: What rows cost.
            demands: The queries, in the tree's order.
        """
        whole_queries = {name for name, (query, share) in self.windows.items() if share > 0 and not query.is_by_group}
        done = [
            1.0 if any(demands[query].query in whole_queries for query in below) else share
            for below, share in zip(tree.queries_below, self.done.tolist(), strict=True)
        ]
        return float(tree.node_seconds @ np.array(done))


def chosen_for(
    tree: WorkTree,
    demands: Sequence[Demand],
    rates_of: RatePolicy,
    work_seconds: float,
    droppable: Mapping[str, DroppableQuery],
    *,
    utmost_seconds: float,
) -> ShedWork:
    """Return what a policy sheds of a load that lasts.

    Args:
        tree: What rows cost.
        demands: The queries, in the tree's order.
        rates_of: The policy for samples.
        work_seconds: What may be filled with work.
        droppable: The queries whose windows may be dropped, by name.
        utmost_seconds: What work may take before one of these is shut down.
    """
    if not droppable or float(tree.node_seconds.sum()) <= work_seconds:
        rates = np.maximum(rates_of(tree, demands, work_seconds), _LEAST_RATE)
        return ShedWork(rates, _done(tree, rates), windows={name: (one, 1.0) for name, one in droppable.items()})
    lasting = UpcomingWindows(
        drops=WindowDrops(queries={}, pressed=PATIENCE, pressed_seconds=math.inf),
        steady_seconds=work_seconds,
        utmost_seconds=utmost_seconds,
    )
    tolerant = TolerantWork(tree, demands, droppable)
    plan = drop_plan(tolerant, work_seconds, rates_of, lasting)
    needed, sampled = plan.needed_in_the_long_run, list(tolerant.sampled)
    rates = np.ones(len(demands))
    if sampled:
        rest, _ = tolerant.without(needed)
        left = max(LEAST_WORK * work_seconds, work_seconds - float(tree.node_seconds @ needed))
        rates[sampled] = np.maximum(rates_of(rest, tolerant.sampled_demands, left), _LEAST_RATE)
    windows = {name: (one, plan.kept_shares[name]) for name, one in droppable.items()}
    return ShedWork(rates, _done_beside(tolerant, needed, rates), needed, windows)


def _done(tree: WorkTree, rates: Vector) -> Vector:
    return tree.shares(tree.node_rates(rates))


def _done_beside(tolerant: TolerantWork, needed: Vector, rates: Vector) -> Vector:
    """What windows need, and of the other rows those that are sampled."""
    done = needed.copy()
    if tolerant.sampled:
        rest, places = tolerant.without(needed)
        of_sampled = _done(rest, rates[list(tolerant.sampled)])
        done[list(places)] += (1 - done[list(places)]) * of_sampled
    return done


def decided_before(
    network: QueryNetwork, load: NetworkLoad, sampling_rates: Mapping[str, float], kept_shares: Mapping[str, float]
) -> ShedWork:
    """Return what was shed by rates and shares that were decided on.

    Args:
        network: The network.
        load: The load.
        sampling_rates: The effective sampling rate of every query.
        kept_shares: Per query whose windows were dropped, the share of them that it kept.
    """
    rates = np.array([sampling_rates[demand.query] for demand in load.demands])
    droppable = {one.query: one for one in droppable_queries(network) if one.query in kept_shares}
    if not droppable:
        return ShedWork(rates, _done(load.tree, rates))
    tolerant = TolerantWork(load.tree, load.demands, droppable)
    needed = tolerant.expected_needs(np.array([kept_shares.get(demand.query, 1.0) for demand in load.demands]))
    windows = {name: (one, kept_shares[name]) for name, one in droppable.items()}
    return ShedWork(rates, _done_beside(tolerant, needed, rates), needed, windows)
