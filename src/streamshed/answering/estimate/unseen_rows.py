"""Rows that may have come at a rate so low that none of them was kept."""

from __future__ import annotations

import math

import numpy as np

from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

_NEARLY = 1 - 1e-9
"""Rates are equal that differ by less than this factor: they are computed from codes and back."""


def is_unseen(shape: Shape, partials: WindowPartials, kept_rate: Doubles) -> Truths:
    """Return where no row, or none with the value that is asked for, was kept at the least rate P.

    It is so where the largest weight is less than 1/P, or, as that may be of a row without a value, where Σe² over the
    rows with one is less than e² of one row at P, e = (1−P)/P².

    Args:
        shape: What is asked.
        partials: Of windows.
        kept_rate: P.

    Returns:
        Truths; none where P is 1. Among very many rows of other rates it goes unnoticed that none with a value came.
    """
    is_missing = partials.doubles("greatest_weight") * kept_rate < _NEARLY
    if not shape.counts_rows:
        excess = (1.0 - kept_rate) / kept_rate**2
        is_missing |= partials.doubles("present_excess_squared") < _NEARLY * excess * excess
    return np.asarray(is_missing & (kept_rate < 1.0), np.bool_)


def most_unseen(shape: Shape, partials: WindowPartials, kept_rate: Doubles, confidence: float) -> Doubles:
    """Return how many rows of which none was kept may have come at the least rate P; 0 where some row was kept.

    None of N rows is kept with the probability (1−P)^N < e^(−P·N). That is (1−c)/2 at N = ln(2/(1−c))/P.

    Args:
        shape: What is asked.
        partials: Of windows.
        kept_rate: P.
        confidence: c, in (0, 1).
    """
    granted: Doubles = np.where(is_unseen(shape, partials, kept_rate), math.log(2 / (1 - confidence)) / kept_rate, 0.0)
    return granted


def with_unseen(
    shape: Shape, partials: WindowPartials, estimated: Doubles, bounds: tuple[Doubles, Doubles], unseen: Doubles
) -> tuple[Doubles, Doubles]:
    """Return bounds of sums and averages that allow for rows of which none was kept; all others as they are.

    Of g such rows each has any value between the extremes a ≤ b of the rows kept:

    - SUM: the bounds move by g·min(a, 0) and g·max(b, 0)
    - AVG, of N estimated rows with the average m: by g/(N+g)·(a−m) and g/(N+g)·(b−m)

    Args:
        shape: What is asked.
        partials: Of windows.
        estimated: Sums or averages.
        bounds: Lower and upper ones, without these rows.
        unseen: g.

    Example:
        Rows of 1 to 3 were kept, and 40 others may have come.

        >>> import pyarrow as pa
        >>> windows = WindowPartials(pa.RecordBatch.from_pydict({"least_number": [1.0], "greatest_number": [3.0]}))
        >>> asked = Shape(AggregateKind.SUM, counts_rows=False, value=None, key_notations=())
        >>> lower, upper = with_unseen(
        ...     asked, windows, np.array([64.0]), (np.array([50.0]), np.array([80.0])), np.array([40.0]))
        >>> lower.tolist(), upper.tolist()
        ([50.0], [200.0])
    """
    if not unseen.any():
        return bounds
    match shape.function:
        case AggregateKind.SUM:
            center, factor = np.zeros(len(partials)), unseen
        case AggregateKind.AVG:
            center, factor = estimated, unseen / (partials.doubles("present_weighted") + unseen)
        case _:
            return bounds
    below, above = (partials.doubles(f"{side}_number") - center for side in ("least", "greatest"))
    with np.errstate(invalid="ignore"):
        lower = bounds[0] + np.where(unseen == 0, 0.0, factor * np.minimum(below, 0.0))
        upper = bounds[1] + np.where(unseen == 0, 0.0, factor * np.maximum(above, 0.0))
    return lower, upper
