"""On how many rows an estimate rests, however many were kept besides."""

from __future__ import annotations

import numpy as np

from streamshed.answering.estimate.aggregate_value import SPREADS, population_variances
from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind


def effective_rows(shape: Shape, partials: WindowPartials) -> Doubles:
    """Return n_eff = (Σq)²/Σq² of the rows kept, q = r²(1−P)/P², r what a row contributes.

    A row contributes v to a sum, v − m to an average and (v−m)² − s² to a spread; for a spread, the extremes bound
    Σq². If all rows contribute alike, n_eff is their number. If few large values carry the sum, it is about the number
    of those few, however many other rows were kept.
    """
    kept_rows = partials.doubles("present")
    if shape.function is AggregateKind.SUM:
        first, second = partials.doubles("squares_excess"), partials.doubles("quads_excess_squared")
    else:
        of_first, of_second = (CentralSums.of(partials, factor) for factor in ("excess", "excess_squared"))
        if shape.function in SPREADS:
            variance = population_variances(shape, partials)
            (first, _), (_, second) = of_first.of_spread(variance), of_second.of_spread(variance)
        else:
            first, second = of_first.power(2), of_second.power(4)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        effective = first * first / second
    unknown = 1.0 if shape.function in SPREADS else kept_rows
    return np.asarray(
        np.where(np.isfinite(effective), np.clip(effective, 1.0, np.maximum(kept_rows, 1.0)), unknown), np.float64
    )
