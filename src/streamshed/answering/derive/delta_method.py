"""Bounds of arithmetic over aggregates by its first order: parts that rest on the same rows are off alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from streamshed.answering.derive.derived import Bounded
from streamshed.answering.estimate.aggregate_value import SPREADS, sampled_variances
from streamshed.answering.estimate.block_sums import has_blocks
from streamshed.answering.estimate.effective_rows import effective_rows
from streamshed.answering.estimate.interval import ENOUGH_ROWS, normal_interval
from streamshed.answering.estimate.unseen_rows import is_unseen
from streamshed.answering.table.output import Shape
from streamshed.answering.table.window_partials import Doubles, Truths, WindowPartials
from streamshed.network.terms.aggregate import AggregateKind
from streamshed.network.terms.derivation import Constant, Formula, Operation, Part

_OF_ONE_VALUE = {AggregateKind.COUNT, AggregateKind.SUM}
_VARIES = frozenset({AggregateKind.COUNT, AggregateKind.SUM, AggregateKind.AVG, *SPREADS})
_ALIKE = 2.0
_LOST = 1e-9
"""A variance that is this much smaller than what it is the sum of has no digits left."""


@dataclass(frozen=True)
class SampledPart:
    """One part of an answer, window by window.

    Attributes:
        shape: What it is.
        slot: Where its value is found in state.
        partials: Of its windows.
        values: Its estimates.
        kept_rate: The least rate in force.
    """

    shape: Shape
    slot: int
    partials: WindowPartials
    values: Doubles
    kept_rate: Doubles


@dataclass(frozen=True)
class DeltaBounds:
    """Bounds, and for which windows there are such.

    Attributes:
        is_told: Where each part rests on enough rows, all rates in force kept some, and the answer is nearly straight.
        lower: Lower bounds.
        upper: Upper ones.
        errors: Standard errors.
    """

    is_told: Truths
    lower: Doubles
    upper: Doubles
    errors: Doubles


def delta_bounds(
    formula: Formula, widest: Bounded, parts: Sequence[SampledPart], confidence: float
) -> DeltaBounds | None:
    """Return bounds of the first order of an answer f(X_1, ..., X_k); None: the variance of a part is not known.

    Of rows kept with the rates P, to whose parts they contribute x_i, with e = (1−P)/P² and f_i the derivative by X_i,

        Var f = Σ_ij f_i·f_j·C_ij,   C_ij = Σ x_i·x_j·e = E_i·E_j/E + Σ (x_i−E_i/E)·(x_j−E_j/E)·e,

    E_i = Σ x_i·e and E = Σ e. The first term, how far off parts are together because there are too many or too few rows
    in the sample, is known. The second is no more than S_i·S_j, S_i² = C_ii − E_i²/E (Cauchy and Schwarz), and 0 where
    one part counts all rows. It is taken to be as large as that, with the sign that makes the variance largest; of a
    sum and a count of the same value it is known.

    Args:
        formula: f.
        widest: Its values, between the bounds that those of the parts allow.
        parts: Its parts.
        confidence: Of the bounds.
    """
    values = widest.values
    if len(parts) < 2 or any(part.shape.function not in _VARIES or part.shape.in_cohorts for part in parts):
        return None
    estimates = [part.values for part in parts]
    slopes = [_value_and_slope(formula, number, estimates)[1] for number in range(len(parts))]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        variance, largest = _variance(parts, slopes)
    effective = np.minimum.reduce([_rows(part) for part in parts])
    errors = np.sqrt(np.maximum(variance, 0.0))
    lower, upper = normal_interval(values, errors, confidence, effective_rows=effective)
    is_told = (effective >= ENOUGH_ROWS) & (variance > _LOST * largest) & _is_nearly_straight(widest)
    for part in parts:
        is_told &= (part.kept_rate < 1) & ~is_unseen(part.shape, part.partials, part.kept_rate)
        # What nothing in the sample tells of is bounded by what is usual, which is no standard error.
        is_told &= sampled_variances(part.shape, part.partials) > 0
        # What counted rows correct has another variance, and so have rows that were left out many at once.
        is_told &= ~has_blocks(part.partials)
        is_told &= ~(part.partials.doubles("sampled_excess") > 0)
    return DeltaBounds(is_told, lower, upper, errors)


def _is_nearly_straight(widest: Bounded) -> Truths:
    """Whether an answer moves about as far up as down when its parts move; it does not beside a division by 0."""
    with np.errstate(invalid="ignore"):
        below, above = widest.values - widest.lower, widest.upper - widest.values
        is_straight: Truths = np.isfinite(below + above) & (
            np.maximum(below, above) <= _ALIKE * np.minimum(below, above)
        )
    return is_straight


def _variance(parts: Sequence[SampledPart], slopes: Sequence[Doubles]) -> tuple[Doubles, Doubles]:
    """The variance, and the sum of the sizes of its terms, which may cancel."""
    rows = parts[0].partials.doubles("rows_excess")
    variances = [sampled_variances(part.shape, part.partials) for part in parts]
    together = [_excess(part) for part in parts]
    apart = [np.sqrt(np.maximum(of_part - e * e / rows, 0.0)) for of_part, e in zip(variances, together, strict=True)]
    variance: Doubles = np.sum(
        [slope * slope * of_part for slope, of_part in zip(slopes, variances, strict=True)], axis=0
    )
    largest = variance
    for i, j in combinations(range(len(parts)), 2):
        product = slopes[i] * slopes[j]
        if parts[i].slot == parts[j].slot and {parts[i].shape.function, parts[j].shape.function} == _OF_ONE_VALUE:
            shared = product * parts[i].partials.doubles("total_excess")
        else:
            shared = product * together[i] * together[j] / rows + np.abs(product) * apart[i] * apart[j]
        variance, largest = variance + 2 * shared, largest + 2 * np.abs(shared)
    return variance, largest


def _excess(part: SampledPart) -> Doubles:
    """Σ x·e; of spreads 0, for which the bound of the covariance holds as well."""
    partials = part.partials
    match part.shape.function:
        case AggregateKind.COUNT:
            return partials.doubles("rows_excess" if part.shape.counts_rows else "present_excess")
        case AggregateKind.SUM:
            return partials.doubles("total_excess")
        case AggregateKind.AVG:
            off = partials.doubles("total_excess") - part.values * partials.doubles("present_excess")
            return np.asarray(off / partials.doubles("present_weighted"), np.float64)
        case _:
            return np.zeros(len(partials))


def _rows(part: SampledPart) -> Doubles:
    if part.shape.function is AggregateKind.COUNT:
        return part.partials.doubles("rows" if part.shape.counts_rows else "present")
    return effective_rows(part.shape, part.partials)


def _value_and_slope(formula: Formula, number: int, values: Sequence[Doubles]) -> tuple[Doubles, Doubles]:
    """An answer, and its derivative by one of its parts."""
    nothing = np.zeros(len(values[0]))
    match formula:
        case Constant():
            return nothing + formula.value, nothing
        case Part(which):
            return values[which], nothing + float(which == number)
        case Operation(symbol, left, right):
            x, of_x = _value_and_slope(left, number, values)
            y, of_y = _value_and_slope(right, number, values)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                match symbol:
                    case "+":
                        return x + y, of_x + of_y
                    case "-":
                        return x - y, of_x - of_y
                    case "*":
                        return x * y, of_x * y + x * of_y
                    case _:
                        return x / y, (of_x - x / y * of_y) / y
