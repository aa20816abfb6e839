"""On how many rows an estimate rests, however many were kept besides."""

from __future__ import annotations

import numpy as np

from streamshed.answering.estimate.aggregate_value import SPREADS, population_variances
from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.estimate.unseen_rows import is_unseen
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind


def effective_rows(shape: Shape, partials: WindowPartials, kept_rate: Doubles | None = None) -> Doubles:
    """Return n_eff = (Σq)²/Σq² of the rows kept, q = r²(1−P)/P², r what a row contributes.

    A row contributes v to a sum, v − m to an average and (v−m)² − s² to a spread; for a spread, the extremes bound
    Σq². If all rows contribute alike, n_eff is their number. If few large values carry the sum, it is about the number
    of those few, however many other rows were kept.

    Where rows may have come at a lower rate of which none was kept, one of the largest contribution of those kept is
    added at that rate: it alone would carry the estimate if the rate is much lower.

    Args:
        shape: Of a sum, an average or a spread.
        partials: Of windows.
        kept_rate: The least rate in force in each window; None: that of the rows kept.
    """
    kept_rows = partials.doubles("present")
    first, second, largest = _carried(shape, partials)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if kept_rate is not None:
            added = largest * (1.0 - kept_rate) / kept_rate**2
            added = np.where(is_unseen(shape, partials, kept_rate), np.nan_to_num(added), 0.0)
            first, second = first + added, second + added * added
        effective = first * first / second
    unknown = 1.0 if shape.function in SPREADS else kept_rows
    return np.asarray(
        np.where(np.isfinite(effective), np.clip(effective, 1.0, np.maximum(kept_rows, 1.0)), unknown), np.float64
    )


def _carried(shape: Shape, partials: WindowPartials) -> tuple[Doubles, Doubles, Doubles]:
    """Σq, Σq² and the largest r²."""
    if shape.function is AggregateKind.SUM:
        with np.errstate(over="ignore"):
            largest = np.maximum(partials.doubles("least_number") ** 2, partials.doubles("greatest_number") ** 2)
        return partials.doubles("squares_excess"), partials.doubles("quads_excess_squared"), largest
    of_first, of_second = (CentralSums.of(partials, factor) for factor in ("excess", "excess_squared"))
    with np.errstate(over="ignore", invalid="ignore"):
        largest = of_first.reach**2
        if shape.function in SPREADS:
            variance = population_variances(shape, partials)
            (first, _), (_, second) = of_first.of_spread(variance), of_second.of_spread(variance)
            return first, second, np.maximum(variance, np.abs(largest - variance)) ** 2
    return of_first.power(2), of_second.power(4), largest
