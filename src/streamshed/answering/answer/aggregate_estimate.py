"""What aggregates of windows are, and how far off they may be where rows were sampled one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamshed.answering.answer.window_estimate import Estimate
from streamshed.answering.estimate.aggregate_value import (
    sampled_variances,
    values,
)
from streamshed.answering.estimate.cohort_estimate import cohort_estimate
from streamshed.answering.estimate.distinct import distinct_counts
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.estimate.interval import (
    ENOUGH_ROWS,
    count_interval,
    enough_rows,
    normal_interval,
)
from streamshed.answering.estimate.known_rows import KnownRows
from streamshed.answering.estimate.quantile import is_rounded, quantiles
from streamshed.answering.estimate.skewed_bounds import skewed_bounds
from streamshed.answering.estimate.unseen_rows import is_unseen, most_unseen, with_unseen
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Longs, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind


def estimated(
    shape: Shape, partials: WindowPartials, kept_rate: Doubles, counted: Longs, confidence: float
) -> Estimate:
    """Return what an aggregate is, and how far off it may be, as far as samples of single rows tell.

    Args:
        shape: The aggregate.
        partials: Of the windows.
        kept_rate: The least rate at which rows of each may have been sampled.
        counted: How many rows are there of each, or values.
        confidence: Of the bounds of answers.
    """
    exact, within = kept_rate >= 1.0, shape.each_within(confidence)
    if shape.share is not None:
        quantile_answers = quantiles(shape.share, partials, kept_rate, within)
        value_column = pa.array(quantile_answers.values, mask=np.isnan(quantile_answers.values))
        is_off = is_rounded(quantile_answers.values, shape.value)
        exact &= ~(quantile_answers.is_sketched | is_off)
        # No partial says how the ranks of the results of one drawn row spread: then there are no bounds.
        tells = ~((kept_rate < 1.0) & shape.in_cohorts)
        lower, upper, errors = (
            np.where(tells, column, np.nan)
            for column in (quantile_answers.lower, quantile_answers.upper, quantile_answers.errors)
        )
        lower = np.where(is_off, np.nextafter(lower, -np.inf), lower)
        upper = np.where(is_off, np.nextafter(upper, np.inf), upper)
        is_low = ~tells | quantile_answers.is_low
        return Estimate(exact, value_column, errors, (lower, upper), is_low, within)
    if shape.function is AggregateKind.DISTINCT:
        counts = distinct_counts(partials, within)
        upper = np.where(exact, counts.upper, np.nan)
        none = np.zeros(len(partials), np.bool_)
        bounds = counts.lower, upper
        return Estimate(none, pa.array(counts.values), counts.errors, bounds, none, counts.confidence)
    if shape.in_cohorts:
        return _of_cohorts(shape, partials, kept_rate, within)
    return _corrected(shape, partials, kept_rate, _scaled(shape, partials, kept_rate, counted, within), within)


def _of_cohorts(shape: Shape, partials: WindowPartials, kept_rate: Doubles, confidence: float) -> Estimate:
    """Estimate from drawn rows of a join, each of which brings all of its results at once."""
    value_column = values(shape, partials)
    numbers = value_column.to_numpy(zero_copy_only=False)
    estimate = cohort_estimate(
        shape,
        partials,
        numbers,
        kept_rate,
        confidence,
    )
    bounds = estimate.lower, estimate.upper
    return Estimate(kept_rate >= 1.0, value_column, estimate.error, bounds, estimate.is_low, confidence)


def _corrected(
    shape: Shape, partials: WindowPartials, kept_rate: Doubles, scaled: Estimate, confidence: float
) -> Estimate:
    """Correct an estimate by rows whose number is known, where enough rows of the least rate tell what they add."""
    is_asked = shape.function in {AggregateKind.COUNT, AggregateKind.SUM}
    if not is_asked or not (partials.doubles("sampled_excess") > 0).any():
        return scaled
    rows = KnownRows.of(shape, partials)
    use = rows.is_known & ~scaled.exact & (rows.effective_rows >= ENOUGH_ROWS) & ~is_unseen(shape, partials, kept_rate)
    if not use.any():
        return scaled
    numbers = scaled.value_column.to_numpy(zero_copy_only=False)
    corrected = np.where(use, numbers + rows.correction, numbers)
    error = np.where(use, np.sqrt(rows.variance), scaled.error)
    bounds = normal_interval(corrected, error, confidence, effective_rows=rows.effective_rows)
    lower, upper = (np.where(use, new, old) for new, old in zip(bounds, scaled.bounds, strict=True))
    return Estimate(
        exact=scaled.exact,
        value_column=pa.array(corrected, mask=scaled.value_column.is_null().to_numpy(zero_copy_only=False)),
        error=error,
        bounds=(lower, upper),
        is_low=scaled.is_low & ~use,
        confidence=scaled.confidence,
    )


def _scaled(shape: Shape, partials: WindowPartials, kept_rate: Doubles, counted: Longs, confidence: float) -> Estimate:
    """Estimate counts, sums and what is made of them; each row has the weight 1/P."""
    exact = kept_rate >= 1.0
    value_column = values(shape, partials)
    variance = sampled_variances(shape, partials)
    error = np.sqrt(variance)
    if shape.function is AggregateKind.COUNT:
        bounds = count_interval(
            partials.doubles("rows_weighted" if shape.counts_rows else "present_weighted"),
            variance,
            kept_rows=counted,
            kept_rate=kept_rate,
            confidence=confidence,
            of_groups=bool(shape.key_notations),
        )
        return Estimate(
            exact,
            value_column,
            error,
            bounds,
            np.zeros(len(partials), np.bool_),
            confidence,
        )
    effective = effective_rows(shape, partials, kept_rate)
    is_low = effective < enough_rows(shape.function)
    numbers = value_column.to_numpy(zero_copy_only=False)
    bounds = normal_interval(numbers, error, confidence, effective_rows=effective)
    skewed = skewed_bounds(shape, partials, numbers, error, confidence)
    lower, upper = (np.where(is_low | np.isnan(new), old, new) for new, old in zip(skewed, bounds, strict=True))
    unseen = most_unseen(shape, partials, kept_rate, confidence)
    bounds = with_unseen(shape, partials, numbers, (lower, upper), unseen)
    return Estimate(exact, value_column, np.where(error > 0, error, np.nan), bounds, is_low, confidence)
