"""Distinct counts of windows from the HyperLogLog sketches of their slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from datasketches import hll_sketch

from streamshed.answering.window_partials import Doubles, WindowPartials

_CONFIDENCES = (0.682, 0.954, 0.997)
"""With which the sketch's bounds of one, two and three standard deviations hold."""


@dataclass(frozen=True, slots=True)
class DistinctCounts:
    """How many distinct values some windows have.

    Attributes:
        values: The counts, whole numbers; 0 of a window without values.
        lower: Lower bounds.
        upper: Upper bounds.
    """

    values: Doubles
    lower: Doubles
    upper: Doubles


def distinct_counts(partials: WindowPartials, confidence: float) -> DistinctCounts:
    """Estimate how many distinct values each window has; nulls do not count.

    Rows that were dropped may have had values of their own: the answer is that of the rows kept.

    Args:
        partials: Of the windows, with `distinct_sketch`.
        confidence: c of the bounds, in (0, 1); at most 0.997 is what a sketch bounds.
    """
    deviations = 1 + sum(confidence > held for held in _CONFIDENCES[:-1])
    found = [_count(written, deviations) for written in partials.array("distinct_sketch").to_pylist()]
    values, lower, upper = (np.array(column, np.float64) for column in zip(*found, strict=True))
    return DistinctCounts(values, lower, upper)


def _count(written: bytes | None, deviations: int) -> tuple[float, float, float]:
    sketch = None if written is None else hll_sketch.deserialize(written)
    if sketch is None or sketch.is_empty():
        return 0.0, 0.0, 0.0
    value = float(round(sketch.get_estimate()))
    lower, upper = sketch.get_lower_bound(deviations), sketch.get_upper_bound(deviations)
    # A count is whole: the least that is no less than the bound, and the largest that does not exceed it.
    return value, min(value, float(np.ceil(lower - _ROUNDING))), max(value, float(np.floor(upper)))


_ROUNDING = 1e-3
