"""Quantiles of windows from the KLL sketches of their slices, those of sampled slices weighted by their rates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from datasketches import kll_doubles_sketch

from streamshed.answering.table.value_kind import Carriage, ValueKind
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials

ENOUGH_BEYOND = 5
"""With as many effective rows, (Σ1/P)²/Σ1/P², on the rarer side of a quantile, its rank is nearly normal."""

_SKETCH_CONFIDENCE = 0.99
"""What the library's bound of a sketch's rank error holds with."""

MOST_OF_DOUBLES = 2.0**53
"""Up to this all whole numbers are doubles."""


@dataclass(frozen=True, slots=True)
class QuantileAnswers:
    """Quantiles of some windows, NaN of a window without values.

    Attributes:
        values: The quantiles.
        lower: Lower bounds; NaN where nothing bounds it from below.
        upper: Upper bounds, likewise.
        errors: Standard errors, from the width of the bounds; NaN where a bound is missing.
        is_sketched: Whether a sketch has left out values, so that ranks are approximate even of all rows.
        is_low: Whether fewer than `ENOUGH_BEYOND` effective rows are on its rarer side.
    """

    values: Doubles
    lower: Doubles
    upper: Doubles
    errors: Doubles
    is_sketched: Truths
    is_low: Truths


@dataclass(frozen=True, slots=True)
class _Quantile:
    value: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    is_sketched: bool = False
    rows_beyond: float = 0.0


def quantiles(share: float, partials: WindowPartials, kept_rate: Doubles, confidence: float) -> QuantileAnswers:
    """Estimate the smallest value that a share of all values does not exceed.

    A row kept with the rate P stands for 1/P of them. Of a quantile q the rank is off by no more than

        δ = ε·W_s/W + z·sqrt(Σ_P n_P·(F_P(1−q)² + (1−F_P)q²)·(1−P)/P²)/W + unseen/W

    W = Σ1/P all rows, W_s those whose sketch left out values and ε its rank error, z the normal quantile, F_P the share
    of the n_P rows kept at P that is below the estimate, and unseen the ln(2/(1−c))/P rows granted to what came at a
    rate of which no row was kept. The root is the standard deviation of Σ(1[v ≤ estimate] − q)/P, rows kept
    independently (Woodruff, Journal of the American Statistical Association 47, 1952). The bounds are the values of the
    ranks q − δ and q + δ; of a sample, of the next row beyond. Where that is beyond all ranks of a sample, nothing
    bounds the quantile on that side.

    Args:
        share: q, in (0, 1).
        partials: Of the windows; their `sketch` is of rows that were not sampled, `sampled_sketches` are the others.
        kept_rate: The least rate in force in each window.
        confidence: c of the bounds, in (0, 1).
    """
    whole = partials.array("sketch").to_pylist()
    sampled = partials.array("sampled_sketches").to_pylist()
    quantiles_of_windows = [
        _quantile(share, list(_sketches(sketch, others)), float(least_rate), confidence)
        for sketch, others, least_rate in zip(whole, sampled, kept_rate, strict=True)
    ]
    lower, upper = (
        np.array([getattr(one, side) for one in quantiles_of_windows], np.float64) for side in ("lower", "upper")
    )
    deviations = 2 * NormalDist().inv_cdf((1 + confidence) / 2)
    return QuantileAnswers(
        values=np.array([one.value for one in quantiles_of_windows], np.float64),
        lower=lower,
        upper=upper,
        errors=(upper - lower) / deviations,
        is_sketched=np.array([one.is_sketched for one in quantiles_of_windows], np.bool_),
        is_low=np.array([one.rows_beyond for one in quantiles_of_windows]) < ENOUGH_BEYOND * _NEARLY,
    )


def is_rounded(numbers: Doubles, kind: ValueKind | None) -> Truths:
    """Whether whole numbers, or the digits of decimals, are beyond those that doubles tell apart."""
    if kind is None or kind.carriage is Carriage.DOUBLE:
        return np.zeros(len(numbers), np.bool_)
    return np.abs(numbers) * 10.0**kind.scale >= MOST_OF_DOUBLES


def _sketches(whole: bytes | None, sampled: Sequence[dict[str, Any]] | None) -> Iterator[tuple[float, Any]]:
    """The sketches that hold values, each with the weight of its rows."""
    every = [(1.0, whole), *((float(one["weight"]), one["sketch"]) for one in sampled or ())]
    for weight, written in every:
        if written is not None:
            sketch = kll_doubles_sketch.deserialize(written)
            if not sketch.is_empty():
                yield weight, sketch


def _quantile(share: float, sketches: Sequence[tuple[float, Any]], kept_rate: float, confidence: float) -> _Quantile:
    if not sketches:
        return _Quantile()
    values = np.unique([value for _, sketch in sketches for value, _ in sketch])
    weights = np.array([weight for weight, _ in sketches])
    ranks_of_sketches = np.stack([_ranks(sketch, values) for _, sketch in sketches])
    ranks = weights @ ranks_of_sketches
    total = float(ranks[-1])
    sketched = sum(
        weight * sketch.n * sketch.normalized_rank_error(False)
        for weight, sketch in sketches
        if sketch.is_estimation_mode()
    )
    below, above = _sides(share * total, weights, ranks_of_sketches)
    variance = weights * (weights - 1.0) @ ((1 - share) ** 2 * below + share**2 * above)
    greatest_weight = max(weight for weight, _ in sketches)
    unseen = math.log(2 / (1 - confidence)) / kept_rate if greatest_weight * kept_rate < _NEARLY else 0.0
    deviations = NormalDist().inv_cdf((1 + confidence) / 2)
    wider = max(1.0, deviations / NormalDist().inv_cdf((1 + _SKETCH_CONFIDENCE) / 2))
    off = wider * sketched + deviations * math.sqrt(variance) + unseen
    is_sampled = greatest_weight > 1 or unseen > 0

    def at(rank: float) -> float:
        """The smallest value whose rank is no less; NaN beyond what a sample tells."""
        if is_sampled and not 0 < rank <= total:
            return math.nan
        place = int(np.searchsorted(ranks, min(max(rank, 0.0), total) * _NEARLY))
        return float(values[min(place, len(values) - 1)])

    wanted = share * total
    # The row next to it may be the one that was meant, which counts where each stands for many.
    next_to_it = greatest_weight if is_sampled else 0.0
    return _Quantile(
        value=at(wanted),
        lower=at(wanted - off - next_to_it),
        upper=at(wanted + off + next_to_it),
        is_sketched=sketched > 0,
        rows_beyond=min(_effective(weights, side) for side in (below, above)),
    )


def _sides(rank: float, weights: Doubles, ranks: Doubles) -> tuple[Doubles, Doubles]:
    """How many of each sketch's rows are below a rank of all, and above; those of the same value in one proportion.

    >>> below, above = _sides(6.0, np.array([1.0, 2.0]), np.array([[2.0, 4.0], [0.0, 3.0]]))
    >>> below.tolist(), above.tolist()
    ([3.0, 1.5], [1.0, 1.5])
    """
    place = int(np.searchsorted(weights @ ranks, rank * _NEARLY))
    smaller = ranks[:, place - 1] if place else np.zeros(len(weights))
    alike = ranks[:, place] - smaller
    below = smaller + alike * ((rank - weights @ smaller) / (weights @ alike))
    return below, ranks[:, -1] - below


def _effective(weights: Doubles, rows: Doubles) -> float:
    """On how many rows of one weight as much would rest as on these."""
    return float((weights @ rows) ** 2 / (weights**2 @ rows))


def _ranks(sketch: Any, values: Doubles) -> Doubles:
    """How many of a sketch's rows have at most each of some ascending values.

    Its iterator gives all values that are kept, but its weights are wrong where levels are empty, as after merges.
    """
    return np.array(sketch.get_cdf(values, True)[:-1], np.float64) * float(sketch.n)


_NEARLY = 1 - 1e-9
"""Rates and ranks that differ by less than this factor are equal."""
