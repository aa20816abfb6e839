"""The two windows of a join, cut into cells by lag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamshed.errors import InvalidNetworkError
from streamshed.joins.model.arrays import Ints
from streamshed.joins.model.side import Side

LagInterval = tuple[int, int]
"""Smallest and largest lag of some pairs, both included, microseconds."""


@dataclass(frozen=True)
class JoinWindows:
    """How long rows of either side wait for those of the other, and the cells that pairs are counted and shed by.

    A pair belongs to the join iff its *lag*, the right row's time − the left row's, is in [−w2, w1]: a row of the left
    side is in window W_1 for w1, and later rows of the right side are compared with it; the reverse for W_2. A *cell*
    is a piece of b of the lags of one window: cell j of W_1 holds the lags [j·b, (j+1)·b), cell j of W_2 those of
    (j·b, (j+1)·b] the other way round; the last one of W_1 ends with w1. Cells go by the pair's lag alone, so that what
    is compared depends neither on micro-batches nor on which row of a pair came first.

    Args:
        left_microseconds: w1, how long rows of the left side are kept for later ones of the right; 0 for none.
        right_microseconds: w2, the reverse.
        basic_microseconds: b, the size of a basic window.

    Raises:
        InvalidNetworkError: A window is negative, both are 0, or b is not positive.

    Example:
        >>> windows = JoinWindows(20_000_000, 5_000_000, 1_000_000)
        >>> windows.left_cells, windows.right_cells, windows.basic_windows(Side.LEFT)
        (20, 5, 21)
        >>> windows.cells_of(np.array([0, 999_999, 1_000_000, 20_000_000, -1, -1_000_000, -1_000_001])).tolist()
        [0, 0, 1, 19, 20, 20, 21]
    """

    left_microseconds: int
    right_microseconds: int
    basic_microseconds: int

    def __post_init__(self) -> None:
        if self.basic_microseconds <= 0:
            raise InvalidNetworkError(f"basic window of a join is {self.basic_microseconds} µs, expected more than 0")
        if min(self.left_microseconds, self.right_microseconds) < 0 or not self.span_microseconds:
            raise InvalidNetworkError(
                f"windows of a join are {self.left_microseconds} µs and {self.right_microseconds} µs, expected none"
                " below 0 and one above: with both 0 nothing but equal times would join"
            )

    @property
    def span_microseconds(self) -> int:
        """w1 + w2: the length of all lags."""
        return self.left_microseconds + self.right_microseconds

    def length(self, side: Side) -> int:
        """Return w1 or w2, microseconds."""
        return self.left_microseconds if side is Side.LEFT else self.right_microseconds

    @cached_property
    def left_cells(self) -> int:
        """How many cells W_1 has; at least one, as rows of equal time are in it."""
        return max(1, -(-self.left_microseconds // self.basic_microseconds))

    @cached_property
    def right_cells(self) -> int:
        """How many cells W_2 has."""
        return -(-self.right_microseconds // self.basic_microseconds)

    @property
    def cells(self) -> int:
        """How many cells there are: those of W_1, youngest first, then those of W_2."""
        return self.left_cells + self.right_cells

    def cells_of_side(self, side: Side) -> range:
        """Return the numbers of a window's cells, youngest first."""
        return range(self.left_cells) if side is Side.LEFT else range(self.left_cells, self.cells)

    def basic_windows(self, side: Side) -> int:
        """Return n_i = 1 + ⌈w_i/b⌉, how many basic windows a window reaches into."""
        return 1 + -(-self.length(side) // self.basic_microseconds)

    @cached_property
    def cell_intervals(self) -> tuple[LagInterval, ...]:
        """The lags of each cell."""
        b = self.basic_microseconds
        left = [(j * b, (j + 1) * b - 1) for j in range(self.left_cells)]
        left[-1] = (left[-1][0], self.left_microseconds)
        right = [(-min((j + 1) * b, self.right_microseconds), -j * b - 1) for j in range(self.right_cells)]
        return (*left, *right)

    @property
    def everything(self) -> LagInterval:
        """All lags."""
        return -self.right_microseconds, self.left_microseconds

    def cells_of(self, lags: Ints) -> Ints:
        """Return the cell of each lag; the lags must be within the windows."""
        pieces = lags // self.basic_microseconds
        return self._cell_of_piece[pieces + self.right_cells]

    @cached_property
    def _cell_of_piece(self) -> Ints:
        """The cell of ⌊lag/b⌋, from the most negative one on."""
        left = np.arange(self.left_microseconds // self.basic_microseconds + 1)
        right = np.arange(self.right_cells)[::-1] + self.left_cells
        return np.concatenate([right, np.minimum(left, self.left_cells - 1)])


def merged(intervals: Sequence[LagInterval]) -> list[LagInterval]:
    """Return the same lags as few intervals, in order.

    Example:
        >>> merged([(0, 9), (20, 29), (-5, -1)])
        [(-5, 9), (20, 29)]
    """
    united: list[LagInterval] = []
    for lo, hi in sorted(intervals):
        if united and lo <= united[-1][1] + 1:
            united[-1] = (united[-1][0], max(hi, united[-1][1]))
        else:
            united.append((lo, hi))
    return united
