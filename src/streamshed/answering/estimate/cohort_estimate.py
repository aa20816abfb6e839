"""Between which bounds totals lie over a sample of rows that each bring many."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from scipy import special

from streamshed.answering.estimate.aggregate_value import population_variances
from streamshed.answering.estimate.cohort_spread import Spread, summed_squares
from streamshed.answering.estimate.cohort_sums import CohortSums
from streamshed.answering.estimate.skewed_bounds import skewed_bounds
from streamshed.answering.estimate.unseen_rows import most_unseen, with_unseen
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.join_shedding import COHORTS

LEAST_EFFECTIVE = 8.0
"""What fewer rows than this bring nearly all of, is `low`."""
_ROOTS = {AggregateKind.STDDEV, AggregateKind.STDDEV_POP}
_SPREADS = {AggregateKind.VARIANCE, AggregateKind.VAR_POP, *_ROOTS}


@dataclass(frozen=True)
class CohortEstimate:
    """Of estimates, one each.

    Attributes:
        error: Standard errors; NaN where nothing tells.
        lower: Lower bounds; NaN where there is none.
        upper: Upper ones.
        is_low: Whether they rest on few rows.
    """

    error: Doubles
    lower: Doubles
    upper: Doubles
    is_low: Truths


def cohort_estimate(
    shape: Shape,
    partials: WindowPartials,
    estimates: Doubles,
    kept_rate: Doubles,
    confidence: float,
) -> CohortEstimate:
    """Return how far off aggregates over a join are if rows of its sides were sampled.

    They are those of `skewed_bounds`, or, of spreads and of sums of both signs, the estimate ± t standard errors. t is
    the quantile of Student's distribution with K − 1 degrees of freedom, or one less than there are effective rows, if
    that is fewer; `skewed_bounds` has the standard error larger by as much. No count is less than the rows that were
    seen. They are low if there would be few effective rows even with one more of the least rate, P; so are all but
    counts if no row came at P.

    At a rate P lower than that of every row seen with a partner, up to ln(2/(1−c))/P rows may have been lost. Each is
    taken to have as many partners as the row of a random partner has; that many results are added to the upper bound
    of a count, and allowed for in bounds of sums and averages (`with_unseen`). Where no row that was seen was sampled,
    a count has no upper bound, and other aggregates no bounds.

    Args:
        shape: The aggregate.
        partials: Of the windows.
        estimates: Of the aggregates, one per window.
        kept_rate: The least rate in force.
        confidence: c, in (0, 1).
    """
    sums, spread = CohortSums.of(partials), brought_spread(shape, partials)
    variances = population_variances(shape, partials)
    with np.errstate(invalid="ignore"):
        variance = spread.variance * _factor(shape, partials, variances)
    error = np.sqrt(np.where(variance > 0, variance, np.nan))
    lower, upper = _bounds(shape, partials, estimates, error, spread, confidence)
    effective = spread.with_another(kept_rate)
    if shape.function in _SPREADS:
        effective = np.fmin(effective, _least_effective(partials, variances, spread, sums, kept_rate))
    is_low = (spread.cohorts < COHORTS) | ~(effective >= LEAST_EFFECTIVE)
    unseen = most_unseen(shape, partials, kept_rate, confidence)
    if unseen.any():
        unseen = unseen * _partners(shape, partials, sums)
    if shape.function is AggregateKind.COUNT:
        seen = partials.doubles("rows" if shape.counts_rows else "present")
        lower = np.maximum(np.where(np.isnan(lower), seen, lower), seen)
        return CohortEstimate(error, lower, upper + np.where(variance > 0, unseen, np.nan), is_low)
    lower, upper = with_unseen(shape, partials, estimates, (lower, upper), unseen)
    return CohortEstimate(error, lower, upper, is_low | (unseen > 0))


def brought_spread(shape: Shape, partials: WindowPartials) -> Spread:
    """Return how much the rows of windows over a join contribute to an aggregate."""
    sums = CohortSums.of(partials)
    return sums.spread(_brought(shape, partials, sums))


def _bounds(
    shape: Shape, partials: WindowPartials, estimates: Doubles, error: Doubles, spread: Spread, confidence: float
) -> tuple[Doubles, Doubles]:
    freedom = np.clip(np.minimum(spread.effective_rows(), _rows_in(spread)) - 1, 1.0, COHORTS - 1)
    half = error * special.stdtrit(freedom, 0.5 + confidence / 2)
    larger = half / NormalDist().inv_cdf(0.5 + confidence / 2)
    of_one_row = np.sqrt(np.maximum(spread.row_square, 0.0)) * partials.doubles("greatest_weight")
    skewed = skewed_bounds(shape, partials, estimates, larger, confidence, of_one_row)
    lower, upper = (
        np.where(np.isnan(new), old, new) for new, old in zip(skewed, (estimates - half, estimates + half), strict=True)
    )
    return lower, upper


def _least_effective(
    partials: WindowPartials, variances: Doubles, spread: Spread, sums: CohortSums, kept_rate: Doubles
) -> Doubles:
    """The fewest effective rows of a spread, if all pairs of a row had the extreme that deviates most."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = partials.doubles("total_weighted") / partials.doubles("present_weighted")
        reach = np.fmax(*(np.abs(partials.doubles(f"{side}_number") - mean) for side in ("least", "greatest")))
        largest = np.maximum(np.abs(reach**2 - variances), variances) ** 2 * sums.spread(sums.present).row_square
        return summed_squares(spread.sums) / ((1.0 - kept_rate) / kept_rate**2 * largest)


def _brought(shape: Shape, partials: WindowPartials, sums: CohortSums) -> Doubles:
    """What pairs contribute: to a count 1, to a sum v, to an average v − m, to a spread (v − m)² − s²."""
    match shape.function:
        case AggregateKind.COUNT:
            return sums.rows if shape.counts_rows else sums.present
        case AggregateKind.SUM:
            return sums.total
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = partials.doubles("total_weighted") / partials.doubles("present_weighted")
    if shape.function is AggregateKind.AVG:
        return sums.centered(mean)
    if shape.function in _SPREADS:
        return sums.centered_squares(mean, population_variances(shape, partials))
    return np.full(len(sums.rows), np.nan)


def _factor(shape: Shape, partials: WindowPartials, variances: Doubles) -> Doubles:
    """The variance of an aggregate over that of its total: 1/N² for a mean, 1/(4s²N²) for a deviation."""
    if shape.function in {AggregateKind.COUNT, AggregateKind.SUM}:
        return np.ones(len(partials))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = 1.0 / partials.doubles("present_weighted") ** 2
        return factor / (4.0 * variances) if shape.function in _ROOTS else factor


def _rows_in(spread: Spread) -> Doubles:
    """How many rows there are by how many cohorts have any: while these are few, about as many."""
    with np.errstate(divide="ignore"):
        return -COHORTS * np.log1p(-spread.cohorts / COHORTS)


def _partners(shape: Shape, partials: WindowPartials, sums: CohortSums) -> Doubles:
    """How many partners the row of a random partner has, at least 1: of all, or of the pairs that estimates rest on."""
    name = "rows" if shape.counts_rows else "present"
    spread = sums.spread(sums.rows if shape.counts_rows else sums.present)
    with np.errstate(invalid="ignore", divide="ignore"):
        weighted = spread.variance / partials.doubles(f"{name}_excess")
        return np.fmax(np.fmax(weighted, np.sqrt(spread.row_square)), 1.0)
