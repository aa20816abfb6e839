"""Bounds where all rows kept are alike: nothing in the sample tells how far off the others are, but the past does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from statistics import NormalDist

import numpy as np

from streamshed.answering.answer.window_estimate import Estimate
from streamshed.answering.estimate.aggregate_value import SPREADS, population_variances
from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.estimate.unseen_rows import is_unseen
from streamshed.answering.estimate.value_ranges import UsualRange
from streamshed.answering.table.output import Output, Shape
from streamshed.answering.table.shed_interval import share_name
from streamshed.answering.table.window_partials import Doubles, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind

ENOUGH_WINDOWS = 10
"""With as many windows or groups in which values differed, how far they do is known."""

_NOTHING_USUAL = UsualRange()
_FIELDS = [field.name for field in fields(UsualRange)]
_ROOTS = {AggregateKind.STDDEV, AggregateKind.STDDEV_POP}
_OF_SAMPLES = {AggregateKind.VARIANCE, AggregateKind.STDDEV}


def usual_of(outputs: Sequence[Output], usual_ranges: Mapping[str, UsualRange]) -> UsualRanges:
    """Return the usual ranges of outputs as columns.

    Args:
        outputs: What the network's queries ask.
        usual_ranges: By `share_name`.
    """
    names = [share_name(output.definition_id, output.slot) for output in outputs]
    ranges = [usual_ranges.get(name, _NOTHING_USUAL) for name in names]
    return np.array([[getattr(usual, name) for usual in ranges] for name in _FIELDS], np.float64)


UsualRanges = Doubles
"""The fields of `UsualRange`, each for all outputs or windows."""


def with_alike(
    shape: Shape, partials: WindowPartials, estimate: Estimate, kept_rate: Doubles, usual: UsualRanges
) -> Estimate:
    """Give bounds to averages and spreads of equal values, and to sums of zeros, of which not all rows were kept.

    None of the rows kept deviates from the others. Of more than g = ln(2/(1−c))/P that do, none would be kept at the
    least rate P less often than (1−c)/2. With d how far values are apart as a rule, N the estimated number of rows, K
    that of the rows kept, f = min(1, g/max(N, K+g)), and s² the variance seen, which is 0 unless some rows are certain:

    - AVG: a ± d·f, a the value of all
    - VAR_POP: from s²·(1−f) to s² + d²·f; VARIANCE: N/(N−1) times that; deviations: their roots
    - SUM: by −g·d₀ and g·d₀ from what is certain, d₀ the largest |v| as a rule; 0 on a side where no value was

    They are low if fewer than `ENOUGH_WINDOWS` tell d, if fewer than two rows were kept, or if none was at P.

    Args:
        shape: What is asked.
        partials: Of windows.
        estimate: What it is without this.
        kept_rate: P.
        usual: Of the windows.
    """
    is_sum, present = shape.function is AggregateKind.SUM, partials.doubles("present")
    if shape.in_cohorts or not (is_sum or shape.function is AggregateKind.AVG or shape.function in SPREADS):
        return estimate
    distance, ranged, below, above, sized = usual
    telling = sized if is_sum else ranged
    use = (present > 0) & (kept_rate < 1) & np.isnan(estimate.error) & (telling > 0)
    if not use.any():
        return estimate
    use &= (partials.doubles("squares_excess") if is_sum else CentralSums.of(partials, "excess").power(2)) == 0
    granted = math.log(2 / (1 - estimate.confidence)) / kept_rate
    deviations = NormalDist().inv_cdf((1 + estimate.confidence) / 2)
    share = np.minimum(1.0, granted / np.maximum(partials.doubles("present_weighted"), present + granted))
    numbers: Doubles = estimate.value_column.to_numpy(zero_copy_only=False)
    if is_sum:
        lower, upper = numbers - granted * below, numbers + granted * above
        error = granted * np.maximum(below, above) / deviations
    elif shape.function is AggregateKind.AVG:
        lower, upper = numbers - distance * share, numbers + distance * share
        error = distance * share / deviations
    else:
        lower, upper = _of_spreads(shape, partials, distance, share)
        error = estimate.error
    is_low = (telling < ENOUGH_WINDOWS) | (present < 2) | is_unseen(shape, partials, kept_rate)
    return replace(
        estimate,
        error=np.where(use, error, estimate.error),
        bounds=(np.where(use, lower, estimate.bounds[0]), np.where(use, upper, estimate.bounds[1])),
        is_low=np.where(use, is_low, estimate.is_low),
    )


def _of_spreads(shape: Shape, partials: WindowPartials, distance: Doubles, share: Doubles) -> tuple[Doubles, Doubles]:
    variance, rows = population_variances(shape, partials), partials.doubles("present_weighted")
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = rows / (rows - 1.0) if shape.function in _OF_SAMPLES else np.ones(len(rows))
        bounds = variance * (1.0 - share) * factor, (variance + distance * distance * share) * factor
        return (np.sqrt(bounds[0]), np.sqrt(bounds[1])) if shape.function in _ROOTS else bounds
