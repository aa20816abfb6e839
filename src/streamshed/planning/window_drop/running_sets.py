"""Which of some queries may run while the others are shut down, and the most that each such set could be worth.

What a set is worth is a linear program (`window_shares`); of ten queries there are a thousand sets. Lagrange's dual
bounds it from above: for any price λ of a second,

    worth ≤ λ·(budget − constant) + max_r Σ w_i·r_i − λ·(Σ_x saving_x·m_x + Σ_i V_i·r_i)

with m_x the largest r_i at node x and below; of several families, 1 − Π_f (1 − m_xf) takes its place. The maximum goes
up the tree: of a node and all below it, the most that they come to while no share there exceeds g, for each g at which
anything changes: none, the least and the largest shares of a family. There a maximum is, as what is needed is linear in
each m_xf. At the best price the bound is what the set is worth; of several families, whose needs are not convex, about
that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from streamshed.planning.window_drop.window_demand import WindowDemand
from streamshed.planning.work_tree import Truths, Vector, WorkTree

_MOST_LEVELS = 64


@dataclass(frozen=True)
class RunningSets:
    """Sets of queries that run.

    Attributes:
        tree: What rows cost.
        demands: The queries, in the tree's order.
        running: Per set and query, whether it runs; those that are answered from samples do not count.
        is_rough: Whether all families are taken for one in bounds: these are higher then, and sooner found.
    """

    tree: WorkTree
    demands: Sequence[WindowDemand]
    running: Truths
    is_rough: bool = False

    def only(self, chosen: Truths) -> RunningSets:
        """Return some of the sets."""
        return replace(self, running=self.running[chosen])

    def least_seconds(self) -> Vector:
        """Return, per set, what everything takes where each query that runs keeps as few windows as it may."""
        saving, seconds = self._costs
        families = list(dict.fromkeys(demand.drops_with for demand in self.demands))
        least = self.running * np.array([demand.least_kept for demand in self.demands])
        for node, below in enumerate(self.tree.queries_below):
            dropped = np.ones(len(self.running))
            for family in families:
                members = [query for query in below if self.demands[query].drops_with == family]
                dropped *= 1 - least[:, members].max(axis=1, initial=0.0)
            seconds = seconds + saving[node] * (1 - dropped)
        return np.asarray(seconds + least @ np.array([demand.window_seconds for demand in self.demands]))

    def most_worth(self, budget_seconds: float, prices: Vector) -> Vector:
        """Return, per set, what it is worth at most.

        Args:
            budget_seconds: What all of it may take.
            prices: λ, per set: any; the better it is, the lower is the bound.
        """
        saving, constant = self._costs
        needed = self._needed
        shape = (len(self.running), *needed.shape)
        sums: dict[int, Vector] = {}
        total = prices * (budget_seconds - constant)
        for number in reversed(range(len(self.tree.nodes))):
            node, best = self.tree.nodes[number], sums.pop(number, np.zeros(shape))
            if node.query is not None and self.demands[node.query].sampling_rate is None:
                best = best + self._gain(node.query, prices)
            best = best - np.multiply.outer(prices * saving[number], needed)
            for axis in range(1, best.ndim):
                np.maximum.accumulate(best, axis=axis, out=best)
            if node.parent is None:
                total = total + best[:, *[-1] * needed.ndim]
            else:
                sums[node.parent] = sums[node.parent] + best if node.parent in sums else best
        return np.asarray(total)

    def _gain(self, query: int, prices: Vector) -> Vector:
        """Per set and levels, what a query comes to that may keep no larger share than that of its family."""
        demand, family = self.demands[query], self._families.get(self.demands[query].drops_with, 0)
        levels = self._levels[family]
        gain = (demand.weight - prices * demand.window_seconds)[:, None]
        largest = np.minimum(levels, demand.most_kept)
        gains = np.where(gain > 0, gain * largest, gain * demand.least_kept)
        gains[:, levels < demand.least_kept] = -np.inf
        gains[~self.running[:, query]] = 0.0
        others = [1] * len(self._levels)
        others[family] = len(levels)
        return np.asarray(gains.reshape(-1, *others))

    @cached_property
    def _families(self) -> dict[tuple[str, ...], int]:
        """The families, numbered; none, where all are taken for one, as there would be too many levels."""
        families = list(dict.fromkeys(demand.drops_with for demand in self.demands if demand.sampling_rate is None))
        levels = [
            len(_levels([demand for demand in self.demands if demand.drops_with == family])) for family in families
        ]
        most = 0 if self.is_rough else _MOST_LEVELS
        return {family: number for number, family in enumerate(families)} if math.prod(levels) <= most else {}

    @cached_property
    def _levels(self) -> list[Vector]:
        """Per family, the shares at which anything changes."""
        if not self._families:
            return [_levels(self.demands)]
        return [
            _levels([demand for demand in self.demands if demand.drops_with == family]) for family in self._families
        ]

    @cached_property
    def _needed(self) -> Vector:
        """1 − Π_f (1 − m_f), at each level of each family."""
        dropped = np.ones(())
        for levels in self._levels:
            dropped = np.multiply.outer(dropped, 1 - levels)
        return np.asarray(1 - dropped)

    @cached_property
    def _runs_below(self) -> Truths:
        """Per node and set, whether any query at it or below runs."""
        return np.array([self.running[:, list(below)].any(axis=1) for below in self.tree.queries_below])

    @cached_property
    def _costs(self) -> tuple[Vector, Vector]:
        """Per node and set, the seconds that follow the largest share kept below; per set, those that follow nothing.

        As `window_shares` has them of a set.
        """
        early = np.where(self.running, [demand.early_share for demand in self.demands], 1.0)
        alone = np.where(self.running, [demand.epochs_per_kept for demand in self.demands], 0.0)
        often = self.running & ~np.array([demand.is_rare for demand in self.demands])
        saving, constant = [], np.zeros(len(self.running))
        for node, below in enumerate(self.tree.queries_below):
            members = list(below)
            sampled = max((self.demands[query].sampling_rate or 0.0 for query in members), default=0.0)
            least_early = early[:, members].min(axis=1, initial=1.0)
            is_rare = self._runs_below[node] & ~often[:, members].any(axis=1)
            seconds = float(self.tree.node_seconds[node])
            per_rare = alone[:, members].max(axis=1, initial=0.0)
            saving.append(seconds * (1 - sampled) * np.where(is_rare, per_rare, least_early))
            constant += seconds * (sampled + (1 - sampled) * np.where(is_rare, 0.0, 1 - least_early))
        return np.array(saving), constant


def _levels(demands: Sequence[WindowDemand]) -> Vector:
    tolerant = [demand for demand in demands if demand.sampling_rate is None]
    return np.unique([0.0, *(share for demand in tolerant for share in (demand.least_kept, demand.most_kept))])
