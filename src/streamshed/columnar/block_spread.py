"""How much neighboring blocks of a stream differ: whether whole blocks tell as much as as many rows of all blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from streamshed.joins.model.arrays import Floats, Ints

LEAST_BLOCKS = 8
"""Of fewer, nothing is told."""
LEAST_ROWS = 30
"""Nor of totals over fewer rows."""


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
        blocks: Per row, the number of its block, from 0.
        sizes: Of all these blocks, how large each is.
        sampling_rate: P, with which each row of them has been kept.
    """

    blocks: Ints
    sizes: Ints
    sampling_rate: float

    def spread(self, totals: Iterable[Floats]) -> BlockSpread:
        """Return what totals tell; nothing where blocks or rows are few.

        Of a sample, Σ_b(T_b − a_b·T)² is P²·S + P·(1 − P)·Σv² on average, with S that of all rows.

        Args:
            totals: Of each, v per row; 0 of a row that does not count.

        Example:
            Of ten blocks of 100 rows each, two have all the rows that count: as if these came 89 at a time.

            >>> rows = BlockRows(np.arange(1000) // 100, np.full(10, 100), 1.0)
            >>> spread = rows.spread([(rows.blocks < 2) * 1.0])
            >>> round(spread.of_blocks / spread.of_rows, 1)
            88.9
        """
        return sum(map(self._of_total, totals), BlockSpread())

    def _of_total(self, values: Floats) -> BlockSpread:
        count, total, sizes = len(self.sizes), float(values.sum()), float(np.abs(values).sum())
        if count < LEAST_BLOCKS or np.count_nonzero(values) < LEAST_ROWS or not np.isfinite(sizes):
            return BlockSpread()
        brought = np.bincount(self.blocks, values, minlength=count)
        apart = float(((brought - self.sizes / self.sizes.sum() * total) ** 2).sum()) * count / (count - 1)
        squares, sampling_rate = float((values**2).sum()), self.sampling_rate
        of_blocks, of_rows = apart - (1.0 - sampling_rate) * squares, sampling_rate * squares
        return BlockSpread(of_blocks / sizes**2, of_rows / sizes**2)
