"""The set of queries that is worth most while the others are shut down, without a linear program for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from streamshed.planning.window_drop.running_sets import RunningSets
from streamshed.planning.window_drop.window_demand import WindowDemand
from streamshed.planning.work_tree import Truths, Vector, WorkTree

ALIKE = 1e-3
"""Sets that could be worth more by no larger share than this are not looked at."""

MOST_LOOKED_AT = 64
"""Where queries drop independently, bounds are higher than what sets are worth: then no more sets are looked at, and
the best may be missed. Elsewhere a few suffice."""

_COARSE = np.array([0.01, 0.1, 1.0, 10.0, 100.0])
"""Prices of a second that are tried for all sets, in what everything is worth by what everything takes."""

_STEPS = 18
_LOOKED_AT_EACH = 3
_GOLDEN = (5**0.5 - 1) / 2


def best_set(
    tree: WorkTree,
    demands: Sequence[WindowDemand],
    budget_seconds: float,
    worth_of: Callable[[frozenset[int]], float | None],
    *,
    must_run: frozenset[int] = frozenset(),
) -> frozenset[int] | None:
    """Return the queries that run; None: not one of them can beside those that must.

    Sets are looked at in the order of the most that they could be worth, until none is left that could be worth more
    than the best, by more than `ALIKE`; no more of them than `MOST_LOOKED_AT`.

    Args:
        tree: What rows cost.
        demands: The queries, in the tree's order.
        budget_seconds: What all of it may take.
        worth_of: What a set is worth; None: it does not fit.
        must_run: Those that run in any case.
    """
    search = _Search(tree, demands, budget_seconds, worth_of, must_run)
    search.look()
    search.refine()
    for step in range(_STEPS):
        if not step % _LOOKED_AT_EACH:
            search.look()
        search.narrow()
    while search.look():
        pass
    return search.best


class _Search:
    """The sets that may still be the best, and per set a bracket of the price at which its bound is lowest."""

    def __init__(
        self,
        tree: WorkTree,
        demands: Sequence[WindowDemand],
        budget_seconds: float,
        worth_of: Callable[[frozenset[int]], float | None],
        must_run: frozenset[int],
    ) -> None:
        self.best: frozenset[int] | None = None
        self._worth, self._worth_of, self._budget, self._looked_at = 0.0, worth_of, budget_seconds, 0
        sets = RunningSets(tree, demands, _all_sets(demands, must_run), is_rough=True)
        self._sets = sets.only(sets.least_seconds() <= budget_seconds)
        count, log_prices = len(self._sets.running), np.log(_unit_price(tree, demands) * _COARSE)
        self._bounds = self._sets.most_worth(budget_seconds, np.zeros(count))
        of_prices = [self._at(np.full(count, one)) for one in log_prices]
        middle, width = log_prices[np.argmin(of_prices, axis=0)], log_prices[1] - log_prices[0]
        self._low, self._high = middle - width, middle + width
        self._inner, self._values = np.zeros((2, 0)), np.zeros((2, 0))

    def refine(self) -> None:
        """Begin to look for the best price of each set that is left, at which its bound is lowest."""
        self._sets = replace(self._sets, is_rough=False)
        width = _GOLDEN * (self._high - self._low)
        self._inner = np.array([self._high - width, self._low + width])
        self._values = np.array([self._at(point) for point in self._inner])

    def look(self) -> bool:
        """Look at the set that could be worth most, and leave out those that cannot be the best any more.

        Returns:
            Whether there was one to look at.
        """
        if not len(self._bounds) or self._looked_at >= MOST_LOOKED_AT:
            return False
        self._looked_at += 1
        first = int(np.argmax(self._bounds))
        running = frozenset(np.flatnonzero(self._sets.running[first]).tolist())
        worth = self._worth_of(running)
        if worth is not None and worth > self._worth:
            self.best, self._worth = running, worth
        is_left = self._bounds > self._worth * (1 + ALIKE)
        is_left[first] = False
        self._keep(is_left)
        return True

    def narrow(self) -> None:
        """Take a step of the golden section towards the price at which a set's bound is lowest: it is convex in it."""
        if not len(self._bounds):
            return
        (low_price, high_price), (low_bound, high_bound) = self._inner, self._values
        is_lower = low_bound < high_bound
        self._high, self._low = np.where(is_lower, high_price, self._high), np.where(is_lower, self._low, low_price)
        width = _GOLDEN * (self._high - self._low)
        new = np.where(is_lower, self._high - width, self._low + width)
        value = self._at(new)
        self._inner = np.array([np.where(is_lower, new, high_price), np.where(is_lower, low_price, new)])
        self._values = np.array([np.where(is_lower, value, high_bound), np.where(is_lower, low_bound, value)])

    def _at(self, log_prices: Vector) -> Vector:
        values = self._sets.most_worth(self._budget, np.exp(log_prices))
        self._bounds = np.minimum(self._bounds, values)
        return values

    def _keep(self, is_left: Truths) -> None:
        self._sets, self._bounds = self._sets.only(is_left), self._bounds[is_left]
        self._low, self._high = self._low[is_left], self._high[is_left]
        if self._inner.size:
            self._inner, self._values = self._inner[:, is_left], self._values[:, is_left]


def _all_sets(demands: Sequence[WindowDemand], must_run: frozenset[int]) -> Truths:
    """All sets of those that may be shut down, but for nobody and everybody; the others run in each."""
    may_run = [
        number for number, demand in enumerate(demands) if demand.sampling_rate is None and number not in must_run
    ]
    numbers = np.arange(1, 2 ** len(may_run) - 1)
    sets = np.zeros((len(numbers), len(demands)), bool)
    sets[:, sorted(must_run)] = True
    sets[:, may_run] = (numbers[:, None] >> np.arange(len(may_run))) & 1
    return sets


def _unit_price(tree: WorkTree, demands: Sequence[WindowDemand]) -> float:
    """What everything is worth, by what it takes."""
    worth = sum(one.weight for one in demands if one.sampling_rate is None)
    windows = sum(one.window_seconds for one in demands if one.sampling_rate is None)
    return max(worth, 1e-12) / max(float(tree.node_seconds.sum()) + windows, 1e-12)
