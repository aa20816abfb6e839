"""The partial aggregates of windows, as they leave Spark's state: a table of columns, and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WindowPartials:
    """Partial aggregates, one row per window, query and value slot.

    N rows are behind one, with values v that were kept with the sampling rates P.

    Attributes:
        columns: window_start, window_end (microseconds), kind, definition_id, slot, key_long, key_text;
            rows, present, total (count of rows, count and sum of v); rows_weighted, present_weighted, total_weighted
            (Σ1/P, Σ1/P, Σv/P), squares_weighted, sizes_weighted (Σv²/P, Σ|v|/P); rows_excess, present_excess,
            total_excess, squares_excess, cubes_excess, quads_excess (Σe of 1, 1, v to v⁴, e = (1−P)/P²);
            rows_excess_squared, present_excess_squared to quads_excess_squared (Σe² of 1, 1, v to v⁴);
            counted_weighted, counted_excess (Σ1/Q, Σ(1−Q)/Q² of the rows that were counted with the rates Q);
            sampled_weighted, sampled_excess, sampled_excess_squared (Σ1/P, Σe, Σe² of those in the query's sample);
            greatest_weight (the largest 1/P); sum_low + 2³²·sum_high, sum_decimal_low + 10²⁰·sum_decimal_high (exact
            sums); least and greatest of number, long, decimal and text; moments (of each slice: present, mean,
            Σ(v−mean)², 1/P); sketch (KLL, of what was not sampled), sampled_sketches (of each slice that was: weight
            1/P, sketch); distinct_sketch (HyperLogLog); collected (instant in microseconds and text of each value, for
            aggregates of the user's own, or of pieces of several, see `collected_rows`); cohorts (of each slice, of
            results of a join that is sampled: cohort, 1/P, rows, present, total, squares; what was not sampled is in
            none); block_sums (of blocks, where some were left unread, see `BlockSums`; null: none were). Those for
            decimals, texts, moments, sketches, values, cohorts and blocks may be missing.
    """

    columns: pa.RecordBatch
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is dear to compute, and asked for more than once."""

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def array(self, name: str) -> pa.Array:
        """Return a column."""
        return self.columns.column(name)

    def doubles(self, name: str) -> Doubles:
        """Return a column of numbers, NaN for nulls."""
        doubles: Doubles = pc.cast(self.array(name), pa.float64()).to_numpy(zero_copy_only=False)
        return doubles

    def longs(self, name: str) -> Longs:
        """Return a column of whole numbers, 0 for nulls."""
        longs: Longs = pc.fill_null(self.array(name), 0).to_numpy(zero_copy_only=False)
        return longs

    def take(self, rows: Longs) -> WindowPartials:
        """Return some of the rows, in the order asked for."""
        return WindowPartials(self.columns.take(pa.array(rows)))
