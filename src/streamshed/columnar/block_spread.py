"""How much neighboring blocks of a stream differ: whether whole blocks tell as much as as many rows of all blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamshed.joins.model.arrays import Booleans, Floats, Ints

LEAST_BLOCKS = 8
"""Of fewer, nothing is told."""
LEAST_ROWS = 30
"""Nor of totals over fewer rows."""
_LARGEST = 1e100
"""Nor of larger totals, or as small ones, whose squares have no number."""


@dataclass(frozen=True, slots=True)
class BlockSpread:
    """The variances of totals over a sample that is drawn in one of two ways.

    Of m blocks, block b brings T_b to a total T over values v, and has the part a_b of the rows. With W = Σ|v|,

    Attributes:
        of_blocks: Σ of m/(m − 1)·Σ_b(T_b − a_b·T)²/W² over totals: the squared relative errors, but for a factor that
            depends on the share alone, where whole blocks are drawn.
        of_rows: Σ of Σv²/W² over totals: the same where single rows are.
    """

    of_blocks: float = 0.0
    of_rows: float = 0.0

    def __add__(self, other: BlockSpread) -> BlockSpread:
        return BlockSpread(self.of_blocks + other.of_blocks, self.of_rows + other.of_rows)


BlockSpreads = dict[str, BlockSpread]
"""By stream."""


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of neighboring blocks.

    Attributes:
        blocks: Per row, the number of its block, from 0, ascending.
        sizes: Of all these blocks, how large each is.
        sampling_rate: P, with which each row of them has been kept.
    """

    blocks: Ints
    sizes: Ints
    sampling_rate: float

    def spread(self, totals: Iterable[Booleans | Floats]) -> BlockSpread:
        """Return what totals tell; nothing where blocks or rows are few.

        Of a sample, Σ_b(T_b − a_b·T)² is P²·S + P·(1 − P)·Σv² on average, with S that of all rows.

        Args:
            totals: Of each, v per row; 0 of a row that does not count. Counts may be Booleans.

        Example:
            Of ten blocks of 100 rows each, two have all the rows that count: as if these came 89 at a time.

            >>> rows = BlockRows(np.arange(1000) // 100, np.full(10, 100), 1.0)
            >>> spread = rows.spread([rows.blocks < 2])
            >>> round(spread.of_blocks / spread.of_rows, 1)
            88.9
        """
        return sum(map(self._of_total, totals), BlockSpread())

    def _of_total(self, values: Booleans | Floats) -> BlockSpread:
        with np.errstate(over="ignore"):
            rows, sizes = np.count_nonzero(values), float(np.abs(values).sum())
        count, sampling_rate = len(self.sizes), self.sampling_rate
        if count < LEAST_BLOCKS or rows < LEAST_ROWS or not 1 / _LARGEST < sizes < _LARGEST:
            return BlockSpread()
        squares = float(rows) if values.dtype == np.bool_ else float(values @ values)
        brought = self._brought(values)
        apart = ((brought - self.sizes / self.sizes.sum() * brought.sum()) ** 2).sum() * count / (count - 1)
        of_blocks, of_rows = float(apart) - (1.0 - sampling_rate) * squares, sampling_rate * squares
        return BlockSpread(of_blocks / sizes**2, of_rows / sizes**2)

    def _brought(self, values: Booleans | Floats) -> Floats:
        """T_b of each block; three times as fast as by weights of `bincount`."""
        places, firsts = self._begun
        brought = np.zeros(len(self.sizes))
        brought[places] = np.add.reduceat(values, firsts, dtype=np.float64 if values.dtype != np.bool_ else np.int64)
        return brought

    @cached_property
    def _begun(self) -> tuple[Ints, Ints]:
        """The blocks that have rows, and the places of their first ones."""
        firsts = np.flatnonzero(np.diff(self.blocks, prepend=-1))
        return self.blocks[firsts], firsts
