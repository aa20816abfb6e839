"""The largest share of their windows that queries could deliver from a share of the rows, whatever the policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from streamshed_bench.windows.windows_queries import WindowsQuery, cell_length

_Doubles = npt.NDArray[np.float64]
_Places = npt.NDArray[np.int64]

_FORBIDDEN = -100.0
_DEAREST = 10.0
"""A price of all rows, in shares of windows, at which none is kept that no bound of gaps asks for."""
_SEARCHED = 24
_ROUNDING = 0.01


def most_delivered(queries: Sequence[WindowsQuery], rows: Sequence[float], rows_share: float) -> float:
    """Return the largest mean share of their windows that queries can deliver, all over the same rows.

    A policy keeps the rows of a cell or drops them, knowing everything, what comes included; a window is delivered iff
    all of its cells were kept. No query misses more than B windows one after the other. Of all policies the best is
    found by dynamic programming over what matters of the past (the latest cells, and each query's gap), rows at a price
    λ; the bound is min_λ g(λ) + λ·(rows that can be worked on), g the gain, and is reached by mixtures of policies.

    Where there are too few rows for the bounds of all, some queries are shut down, and deliver nothing: those whose
    loss leaves most.

    Args:
        queries: The queries. Their windows that lie within the cells count.
        rows: How many came in each cell, one after the other: from few rows come as many windows as from many.
        rows_share: Which share of all rows can be worked on.

    Example:
        One tumbling query delivers as it is given rows where they come evenly, and more where they do not.

        >>> tumbling = WindowsQuery(name="q", size=5, slide=5, gap_windows=10)
        >>> [round(most_delivered([tumbling], rows, 0.3), 3) for rows in ([1.0] * 10, [1.0, 3.0] * 5)]
        [0.3, 0.533]
    """
    for count in range(len(queries), 0, -1):
        running = [
            _most_of_all(list(some), cell_length(queries), rows, rows_share) for some in combinations(queries, count)
        ]
        reachable = [most for most in running if most is not None]
        if reachable:
            return max(reachable) * count / len(queries)
    return 0.0


def _most_of_all(queries: Sequence[WindowsQuery], cell: int, rows: Sequence[float], rows_share: float) -> float | None:
    """The same of queries none of which is shut down; None: there are too few rows for that."""
    game = _Game.of(queries, cell, len(rows))
    shares = np.array(rows) / max(1e-9, float(np.sum(rows)))
    least = game.gain(_DEAREST * shares) - game.gain((_DEAREST + 1) * shares)
    if rows_share < least * (1 - _ROUNDING):
        return None

    def bound(price: float) -> float:
        return game.gain(price * shares) + price * rows_share

    low, high = 0.0, _DEAREST
    for _ in range(_SEARCHED):
        third = (high - low) / 3
        if bound(low + third) <= bound(high - third):
            high -= third
        else:
            low += third
    return min(1.0, bound((low + high) / 2))


@dataclass(frozen=True, slots=True)
class _Step:
    """What follows from keeping a cell or not.

    Attributes:
        next_states: Per choice (drop, keep), where each state leads to.
        delivered: Per choice, the share of windows it completes, by state; far below 0 where a gap becomes too long.
    """

    next_states: tuple[_Places, _Places]
    delivered: tuple[_Doubles, _Doubles]


@dataclass(frozen=True, slots=True)
class _Game:
    """Cell by cell, what follows.

    Attributes:
        steps: By the first cell that each is for: a window that begins before the first cell does not count.
    """

    steps: tuple[tuple[int, _Step], ...]

    @classmethod
    def of(cls, queries: Sequence[WindowsQuery], cell: int, cells: int) -> _Game:
        firsts = sorted({0, *(one.size // cell - 1 for one in queries)})
        return cls(tuple((first, _step(queries, cell, cells, first)) for first in firsts))

    def gain(self, prices: _Doubles) -> float:
        """The most that any policy gains: what it delivers, less the price of the cells that it keeps."""
        worth = np.zeros(len(self.steps[0][1].next_states[0]))
        until = len(prices)
        for first, step in reversed(self.steps):
            for price in reversed(prices[first:until].tolist()):
                worth_if_dropped, worth_if_kept = (
                    reward + worth.take(places) for reward, places in zip(step.delivered, step.next_states, strict=True)
                )
                worth = np.maximum(worth_if_dropped, worth_if_kept - price)
            until = min(first, until)
        return float(worth[0])


def _step(queries: Sequence[WindowsQuery], cell: int, cells: int, first: int) -> _Step:
    """The step of cells from some first one on, up to that with which the windows of another query begin to count."""
    period = math.lcm(*(query.slide // cell for query in queries))
    memory = max(query.size // cell for query in queries) - 1
    shape = (period, 2**memory, *(query.gap_windows + 1 for query in queries))
    phase, latest, *gaps = np.indices(shape)
    next_states, rewards = [], []
    for is_kept in (0, 1):
        history = latest << 1 | is_kept
        delivered, places = np.zeros(shape), [(phase + 1) % period, history & (2**memory - 1)]
        for query, gap in zip(queries, gaps, strict=True):
            size, slide = query.size // cell, query.slide // cell
            windows = max(1, (cells - size) // slide + 1)
            ends = ((phase + 1 - size) % slide == 0) & (size - 1 <= first)
            is_whole = history & (2**size - 1) == 2**size - 1
            longer = np.where(ends, np.where(is_whole, 0, gap + 1), gap)
            delivered += np.where(ends & is_whole, 1.0 / (windows * len(queries)), 0.0)
            delivered += np.where(longer > query.gap_windows, _FORBIDDEN, 0.0)
            places.append(np.minimum(longer, query.gap_windows))
        next_states.append(np.ravel_multi_index(places, shape).ravel())
        rewards.append(delivered.ravel())
    return _Step((next_states[0], next_states[1]), (rewards[0], rewards[1]))
