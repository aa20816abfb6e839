"""Distinct counts of windows from the HyperLogLog sketches of their slices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from datasketches import hll_sketch

from streamshed.answering.table.window_partials import Doubles, WindowPartials

_CONFIDENCES = (0.682, 0.954, 0.997)
"""With which the sketch's bounds of one, two and three standard deviations hold."""

MOST_CONFIDENCE = _CONFIDENCES[-1]
"""No bounds of a sketch hold with more."""


@dataclass(frozen=True, slots=True)
class DistinctCounts:
    """How many distinct values some windows have.

    Attributes:
        values: The counts, whole numbers; 0 of a window without values.
        lower: Lower bounds.
        upper: Upper bounds.
        errors: Standard errors: half the width of the sketch's bounds of one standard deviation.
        confidence: What the bounds hold with: what was asked for, but at most `MOST_CONFIDENCE`.
    """

    values: Doubles
    lower: Doubles
    upper: Doubles
    errors: Doubles
    confidence: float


def distinct_counts(partials: WindowPartials, confidence: float) -> DistinctCounts:
    """Estimate how many distinct values each window has; nulls do not count.

    Rows that were dropped may have had values of their own: the answer is that of the rows kept.

    Args:
        partials: Of the windows, with `distinct_sketch`.
        confidence: c that is asked for, in (0, 1).
    """
    deviations = 1 + sum(confidence > held for held in _CONFIDENCES[:-1])
    counts = [_count(written, deviations) for written in partials.array("distinct_sketch").to_pylist()]
    values, lower, upper, errors = (np.array(column, np.float64) for column in zip(*counts, strict=True))
    return DistinctCounts(values, lower, upper, errors, min(confidence, MOST_CONFIDENCE))


def _count(written: bytes | None, deviations: int) -> tuple[float, float, float, float]:
    """Count, bounds and standard error."""
    sketch = None if written is None else hll_sketch.deserialize(written)
    if sketch is None or sketch.is_empty():
        return 0.0, 0.0, 0.0, 0.0
    value = float(round(sketch.get_estimate()))
    lower, upper = sketch.get_lower_bound(deviations), sketch.get_upper_bound(deviations)
    error = (sketch.get_upper_bound(1) - sketch.get_lower_bound(1)) / 2
    # A count is whole: the least that is no less than the bound, and the largest that does not exceed it.
    return value, min(value, float(np.ceil(lower - _ROUNDING))), max(value, float(np.floor(upper))), error


_ROUNDING = 1e-3
