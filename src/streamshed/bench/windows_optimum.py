"""The largest share of their windows that queries could deliver from a share of the rows, whatever the policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from streamshed.bench.windows_queries import WindowsQuery

_Doubles = npt.NDArray[np.float64]
_Places = npt.NDArray[np.int64]

_FORBIDDEN = -100.0
_EXACT = 1e-5
_MOST_STEPS = 4000
_DEAREST = 10.0
"""A price of rows at which no window is kept that no bound of gaps asks for."""
_SEARCHED = 24
_ROUNDING = 0.01


def most_delivered(queries: Sequence[WindowsQuery], rows_share: float) -> float:
    """Return the largest mean share of their windows that queries can deliver, all over the same rows.

    Time is cut into cells, between whose bounds no window begins or ends; a policy keeps the rows of a cell or drops
    them, knowing everything, and a window is delivered iff all of its cells were kept. No query misses more than B
    windows one after the other. Of all policies the best is found by dynamic programming over what matters of the past
    (the latest cells, and each query's gap), rows at a price λ; the bound is min_λ g(λ) + λ·(share of the rows), g the
    gain per cell, and is reached by some policy in the long run.

    Where there are too few rows for the bounds of all, some queries are shut down, and deliver nothing: those whose
    loss leaves most.

    Args:
        queries: The queries.
        rows_share: Which share of the rows can be worked on.

    Example:
        One tumbling query delivers as it is given rows. Of windows that overlap by a half, and of which two in a row
        may be missed, one in three is delivered at least, from two thirds of the rows; of fewer none.

        >>> def asked(size: int, slide: int, batch: int) -> WindowsQuery:
        ...     return WindowsQuery(name=f"{size}", size=size, slide=slide, batch=batch)
        >>> tumbling, sliding = asked(5, 5, 10), asked(2, 1, 2)
        >>> [round(most_delivered([one], 0.3), 3) for one in (tumbling, sliding)]
        [0.3, 0.0]
        >>> round(most_delivered([sliding], 0.667), 3), round(most_delivered([asked(1, 1, 2), sliding], 0.4), 3)
        (0.334, 0.2)
    """
    for count in range(len(queries), 0, -1):
        running = [_most_of_all(list(some), rows_share) for some in combinations(queries, count)]
        found = [most for most in running if most is not None]
        if found:
            return max(found) * count / len(queries)
    return 0.0


def _most_of_all(queries: Sequence[WindowsQuery], rows_share: float) -> float | None:
    """The same of queries none of which is shut down; None: there are too few rows for that."""
    game = _Game.of(queries)
    least = game.gain(_DEAREST) - game.gain(_DEAREST + 1)
    if rows_share < least * (1 - _ROUNDING):
        return None

    def bound(price: float) -> float:
        return game.gain(price) + price * rows_share

    low, high = 0.0, _DEAREST
    for _ in range(_SEARCHED):
        third = (high - low) / 3
        if bound(low + third) <= bound(high - third):
            high -= third
        else:
            low += third
    return min(1.0, bound((low + high) / 2))


@dataclass(frozen=True, slots=True)
class _Game:
    """Cell by cell, what follows from keeping it or not.

    Attributes:
        next_states: Per choice (drop, keep), where each state leads to.
        delivered: Per choice, the share of windows it completes, by state; far below 0 where a gap becomes too long.
    """

    next_states: tuple[_Places, _Places]
    delivered: tuple[_Doubles, _Doubles]

    @classmethod
    def of(cls, queries: Sequence[WindowsQuery]) -> _Game:
        cell = math.gcd(*(length for one in queries for length in (one.size, one.slide)))
        period = math.lcm(*(one.slide // cell for one in queries))
        memory = max(one.size // cell for one in queries) - 1
        shape = (period, 2**memory, *(one.batch + 1 for one in queries))
        phase, latest, *gaps = np.indices(shape)
        next_states, rewards = [], []
        for kept in (0, 1):
            cells = latest << 1 | kept
            delivered, places = np.zeros(shape), [(phase + 1) % period, cells & (2**memory - 1)]
            for one, gap in zip(queries, gaps, strict=True):
                size, slide = one.size // cell, one.slide // cell
                ends = (phase + 1 - size) % slide == 0
                is_whole = cells & (2**size - 1) == 2**size - 1
                longer = np.where(ends, np.where(is_whole, 0, gap + 1), gap)
                delivered += np.where(ends & is_whole, slide / len(queries), 0.0)
                delivered += np.where(longer > one.batch, _FORBIDDEN, 0.0)
                places.append(np.minimum(longer, one.batch))
            next_states.append(np.ravel_multi_index(places, shape).ravel())
            rewards.append(delivered.ravel())
        return cls((next_states[0], next_states[1]), (rewards[0], rewards[1]))

    def gain(self, price: float) -> float:
        """The most that any policy gains per cell in the long run: what it delivers, less the price of what it keeps.

        What one step adds to the worth of the best state bounds it from above. A step goes half of the way: as all is
        certain, whole ones would go round in circles.
        """
        worth = np.zeros(self.delivered[0].size)
        for _ in range(_MOST_STEPS):
            dropped, kept = (
                reward + worth.take(places) for reward, places in zip(self.delivered, self.next_states, strict=True)
            )
            added = np.maximum(dropped, kept - price) - worth
            if added.max() - added.min() < _EXACT:
                break
            worth = worth + added / 2
        return float(added.max())
