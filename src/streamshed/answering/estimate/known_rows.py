"""Sums of a sample, corrected by how many rows there were: what is known of rows that were counted.

Below a function, a query's sample is taken of the rows that come to it, and these may be counted at a higher rate, or
all. With P the rate of the sample and Q ≥ P that of counting, z what a row contributes (0 if it comes to the function
and does not pass what follows), sums over the rows kept at either rate:

    Z = Σz/P,  M = Σ1/P,  N = Σ1/Q,  e = (1−P)/P²,  R = Σez/Σe,
    the estimate is Z + R·(N − M), its variance Σe·(z−R)² + R²·Σ(1−Q)/Q².

If the sample has a hundredth too many rows, its sum is corrected by as much. With Q = 1 it has the variance of a sum of
which N is known: σ² takes the place of σ²+μ². Where rows are not counted Σe is 0, and so are R and the correction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

_LOST = 1e-9
"""A sum that is this much smaller than what it is the difference of has no digits left."""


@dataclass(frozen=True)
class KnownRows:
    """What counted rows tell of counts or sums.

    Attributes:
        is_known: Whether rows were counted.
        correction: R·(N − M), to be added to the estimate.
        variance: Its variance; NaN, it is not known, where the differences of large sums leave no digits.
        effective_rows: n_eff = (Σq)²/Σq², q = e·(z−R)²; NaN likewise.
    """

    is_known: Truths
    correction: Doubles
    variance: Doubles
    effective_rows: Doubles

    @classmethod
    def of(cls, shape: Shape, partials: WindowPartials) -> KnownRows:
        """Work out what counted rows tell.

        Args:
            shape: COUNT or SUM.
            partials: Of what.
        """
        sums, squared = _sums(shape, partials, "excess"), _sums(shape, partials, "excess_squared")
        is_known: Truths = sums[0] > 0
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            ratio: Doubles = np.where(is_known, sums[1] / sums[0], 0.0)
            spread = _central(sums, ratio, 2)
            missing = _doubles_or_zero(partials, "counted_weighted") - _doubles_or_zero(partials, "sampled_weighted")
            fourth = _central(squared, ratio, 4)
            return cls(
                is_known=is_known,
                correction=ratio * missing,
                variance=spread + ratio**2 * _doubles_or_zero(partials, "counted_excess"),
                effective_rows=spread * spread / fourth,
            )


def _sums(shape: Shape, partials: WindowPartials, factor: str) -> list[Doubles]:
    """Σ f·z^k over the rows of the sample, for k from 0 to 4."""
    rows = _doubles_or_zero(partials, f"sampled_{factor}")
    if shape.function is AggregateKind.SUM:
        return [
            rows,
            *(_doubles_or_zero(partials, f"{name}_{factor}") for name in ("total", "squares", "cubes", "quads")),
        ]
    name = "rows" if shape.counts_rows else "present"
    return [rows, *4 * [_doubles_or_zero(partials, f"{name}_{factor}")]]


def _central(sums: list[Doubles], center: Doubles, k: int) -> Doubles:
    """Σ f·(z−R)^k, at least 0; NaN where rounding left no digits."""
    terms = [comb(k, j) * sums[j] * (-center) ** (k - j) for j in range(k + 1)]
    power_sum, largest = np.sum(terms, axis=0), np.sum(np.abs(terms), axis=0)
    return np.where((power_sum <= _LOST * largest) & (largest > 0), np.nan, np.maximum(power_sum, 0.0))


def _doubles_or_zero(partials: WindowPartials, name: str) -> Doubles:
    return np.nan_to_num(partials.doubles(name))
