"""The blocks that a task reads first: a sample of a stream's blocks, of which is told how much they differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from streamshed.columnar.block_spread import BlockRows, BlockSpread
from streamshed.columnar.row_file import FileBlock
from streamshed.joins.model.arrays import Booleans, Floats, Ints
from streamshed.spark.columns.row_admission import RowPlan
from streamshed.spark.common.internal_names import BLOCK

ENOUGH_ROWS = 1 << 17
"""A task looks at no more: they tell as much as a micro-batch has to tell, and take a few milliseconds."""


class SampledBlocks:
    """The blocks that one task looks at.

    Attributes:
        spread: How much they differ.
    """

    def __init__(self) -> None:
        self.spread = BlockSpread()
        self._plan: RowPlan | None = None
        self._firsts: Ints = np.zeros(0, np.int64)
        self._sizes: list[int] = []
        self._before = self._cut = self._rows = 0

    @property
    def is_done(self) -> bool:
        """Whether no more blocks are looked at."""
        return self._rows >= ENOUGH_ROWS

    def begin(self, plan: RowPlan, blocks: Sequence[FileBlock]) -> None:
        """Note the blocks whose rows come next.

        Args:
            plan: How these are sampled.
            blocks: Those of a stretch of a file that are read, in order.
        """
        self._plan, self._before = plan, len(self._sizes)
        self._firsts = np.array([block.start for block in blocks], np.int64)
        self._sizes += [block.stop - block.start for block in blocks]

    def numbers(self, rows: Ints) -> pa.Array:
        """Return the numbers of the blocks that rows are in; null where they are not looked at.

        Args:
            rows: The numbers of the rows in the file.
        """
        if self.is_done or not len(self._firsts):
            return pa.nulls(len(rows), pa.int64())
        return pa.array(self._before + np.searchsorted(self._firsts, rows, side="right") - 1)

    def look(self, totals: Iterable[Booleans | Floats], columns: Mapping[str, pa.Array]) -> None:
        """Take in rows that come next; of the blocks that they begin and end with, some may be missing.

        Args:
            totals: See `ColumnKernel.totaled`.
            columns: The rows, with `BLOCK`.
        """
        if self.is_done or self._plan is None or BLOCK not in columns or columns[BLOCK].null_count:
            return
        blocks = np.asarray(columns[BLOCK])
        first, last = max(int(blocks[0]), self._cut), int(blocks[-1])
        is_whole = (blocks >= first) & (blocks < last)
        sampling_rate = min(1.0, self._plan.sampling_rate / self._plan.read_share)
        rows = BlockRows(blocks[is_whole] - first, np.array(self._sizes[first:last], np.int64), sampling_rate)
        self.spread += rows.spread(values[is_whole] for values in totals)
        self._cut, self._rows = last + 1, self._rows + len(blocks)
