"""How much the blocks that were read bring to windows, as far as sums of cohorts tell, into which chance has put them.

A block is read by one micro-batch alone, which keeps its rows with one probability P, for each query. With t_k what
cohort k brings to a window in a micro-batch, y_k = Σ sqrt(1 − P)·t_k/P over its micro-batches. In each of these the
cohorts are other ones, so products of two micro-batches are 0 on average, and V = K/(K − 1)·Σ(y_k − mean y)² is the
variance of the window's total, without bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.estimate.cohort_spread import summed_squares
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Longs, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.block_sums import BLOCK_FIELDS, BLOCK_NUMBERS, EXCESS_FIELDS
from streamshed.network.terms.join_shedding import COHORTS


@dataclass(frozen=True)
class BlockSums:
    """What cohorts of blocks bring to windows.

    Attributes:
        brought: By field of `BLOCK_FIELDS`, y_k of rows, values, Σv and Σv². Shape (windows, cohorts).
        excess: By field of `EXCESS_FIELDS`, Σ(1−P)/P² of 1, 1 and v² over rows of blocks; one per window.
    """

    brought: dict[str, Doubles]
    excess: dict[str, Doubles]

    @classmethod
    def of(cls, partials: WindowPartials) -> BlockSums:
        """Read the column `block_sums` of window partials; where it is null or missing, blocks brought nothing."""
        numbers = _numbers(partials)
        by_cohort = numbers[:, :BLOCK_NUMBERS].reshape(len(partials), COHORTS, len(BLOCK_FIELDS))
        return cls(
            {name: by_cohort[:, :, index] for index, name in enumerate(BLOCK_FIELDS)},
            {name: numbers[:, BLOCK_NUMBERS + index] for index, name in enumerate(EXCESS_FIELDS)},
        )

    @property
    def cohorts(self) -> Longs:
        """In how many cohorts there are rows, by window."""
        return np.asarray((self.brought["rows"] > 0).sum(axis=1))

    def variance(self, shape: Shape, partials: WindowPartials) -> Doubles:
        """Return V of a count, a sum or an average, one per window; NaN where that is no number.

        An average is off by Σ(v − m)/N, m what it is.
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            if shape.function is not AggregateKind.AVG:
                return summed_squares(self._of_total(shape))
            rows = partials.doubles("present_weighted")
            mean = (partials.doubles("total_weighted") / rows)[:, np.newaxis]
            return summed_squares(self.brought["total"] - mean * self.brought["present"]) / rows**2

    def share_of_others(self, shape: Shape, partials: WindowPartials) -> Doubles:
        """Return the share that rows of no block have of the variance of a sample of rows; 1 where nothing tells."""
        name = "rows" if shape.counts_rows else "squares" if shape.function is AggregateKind.SUM else "present"
        with np.errstate(invalid="ignore", divide="ignore"):
            of_blocks = self.excess[name] / partials.doubles(f"{name}_excess")
            return np.clip(1.0 - np.where(np.isfinite(of_blocks), of_blocks, 0.0), 0.0, 1.0)

    def _of_total(self, shape: Shape) -> Doubles:
        if shape.function is AggregateKind.SUM:
            return self.brought["total"]
        return self.brought["rows" if shape.counts_rows else "present"]


def has_blocks(partials: WindowPartials) -> Truths:
    """Return which windows hold rows of a micro-batch that read only some blocks."""
    if "block_sums" not in partials.columns.schema.names:
        return np.zeros(len(partials), np.bool_)
    return np.asarray(partials.array("block_sums").is_valid())


def _numbers(partials: WindowPartials) -> npt.NDArray[np.float64]:
    numbers = np.zeros((len(partials), BLOCK_NUMBERS + len(EXCESS_FIELDS)))
    is_there = has_blocks(partials)
    if is_there.any():
        lists = partials.array("block_sums").filter(pa.array(is_there))
        flat = pc.list_flatten(lists).cast(pa.float64()).to_numpy(zero_copy_only=False)
        numbers[is_there] = flat.reshape(-1, numbers.shape[1])
    return numbers
