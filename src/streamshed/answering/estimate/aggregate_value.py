"""The value of each aggregate from the partials of a window, scaled where rows were sampled, and its variance."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamshed.answering.estimate.central_sums import CentralSums
from streamshed.answering.estimate.quantile import MOST_OF_DOUBLES
from streamshed.answering.estimate.slice_moments import SliceMoments
from streamshed.answering.table.output import Shape
from streamshed.answering.table.value_kind import Carriage, Notation, ValueKind
from streamshed.answering.table.window_partials import Doubles, WindowPartials
from streamshed.answering.table.written import (
    decimal_halves_written,
    decimals_written,
    doubles_written,
    halves_written,
    longs_written,
    nearest_doubles,
)
from streamshed.answering.user.user_aggregate import user_answers
from streamshed.network.terms.aggregate import AggregateKind

_SECONDS = {Notation.TIMESTAMP: 1e-6, Notation.TIMESTAMP_NTZ: 1e-6, Notation.DATE: 86_400.0}
SPREADS = {AggregateKind.VARIANCE, AggregateKind.VAR_POP, AggregateKind.STDDEV, AggregateKind.STDDEV_POP}
_MORE_DIGITS_OF_AVERAGES = 4
"""So many more after the point Spark gives the average of decimals than these have."""
_MANY_DIGITS = Context(prec=200)
_SIDES = {AggregateKind.MIN: "least", AggregateKind.MAX: "greatest"}


def values(shape: Shape, partials: WindowPartials) -> pa.Array:
    """Return the aggregate as doubles; a time is its seconds since the epoch, a text has none.

    Of no value, counts are 0 and all else is null, as in SQL. Of rows kept with rates P: COUNT Σ1/P, SUM Σv/P, AVG
    their quotient, variances Σ(v−AVG)²/P by the estimated count, less 1 where SQL's divisor is; MIN and MAX are only
    asked for where nothing was sampled.
    """
    nothing = partials.longs("present") == 0
    match shape.function:
        case AggregateKind.COUNT:
            return pa.array(partials.doubles("rows_weighted" if shape.counts_rows else "present_weighted"))
        case AggregateKind.SUM:
            numbers = _sums(shape, partials)
        case AggregateKind.AVG:
            with np.errstate(invalid="ignore", divide="ignore"):
                numbers = _sums(shape, partials) / partials.doubles("present_weighted")
            numbers = _with_averages(numbers, _averages_written(shape, partials, numbers))
        case AggregateKind.MIN | AggregateKind.MAX:
            if _travels(shape) is Carriage.TEXT:
                return pa.nulls(len(partials), pa.float64())
            notation = Notation.NUMBER if shape.value is None else shape.value.notation
            numbers = partials.doubles(f"{_SIDES[shape.function]}_number") * _SECONDS.get(notation, 1.0)
        case AggregateKind.USER:
            return user_answers(shape.user, partials).numbers
        case AggregateKind.COUNT_DISTINCT:
            return pc.fill_null(user_answers(shape.user, partials).numbers, 0.0)
        case _:
            return _dispersions(shape.function, partials)
    return pa.array(numbers, mask=nothing)


def exact_texts(shape: Shape, partials: WindowPartials, value_column: pa.Array) -> pa.Array:
    """Return the aggregate with all its digits; meaningful where nothing was sampled.

    Args:
        shape: What is asked.
        partials: Of the windows.
        value_column: What `values` returned.
    """
    match shape.function:
        case AggregateKind.COUNT:
            return pc.cast(partials.array("rows" if shape.counts_rows else "present"), pa.string())
        case AggregateKind.SUM:
            texts = _sums_written(shape.value, partials)
        case AggregateKind.MIN | AggregateKind.MAX:
            texts = _extremes_written(_SIDES[shape.function], shape.value, partials)
        case AggregateKind.AVG:
            numbers = np.asarray(value_column.to_numpy(zero_copy_only=False), np.float64)
            return pc.coalesce(_averages_written(shape, partials, numbers), doubles_written(value_column))
        case AggregateKind.USER:
            return user_answers(shape.user, partials).texts
        case AggregateKind.COUNT_DISTINCT:
            return pc.fill_null(user_answers(shape.user, partials).texts, "0")
        case _:
            return doubles_written(value_column)
    return pc.if_else(pa.array(partials.longs("present") == 0), None, texts)


def sampled_variances(shape: Shape, partials: WindowPartials) -> Doubles:
    """Estimate the variance of the value, rows kept independently with their rates P.

    With e = (1−P)/P², m the average, s² the variance, and sums over the rows kept:

    - COUNT: Σe
    - SUM: Σv²e
    - AVG: Σ(v−m)²e/N², the first order of a quotient
    - VARIANCE: Σ((v−m)²−s²)²e/N², likewise; STDDEV: that divided by (2s)²

    It is 0 for all other aggregates, and where there is no value. It is NaN, not known, where sums leave no digits of
    powers of v − m and extremes do not bound them.
    """
    match shape.function:
        case AggregateKind.COUNT:
            variances = partials.doubles("rows_excess" if shape.counts_rows else "present_excess")
        case AggregateKind.SUM:
            variances = partials.doubles("squares_excess")
        case AggregateKind.AVG:
            with np.errstate(invalid="ignore", divide="ignore"):
                variances = CentralSums.of(partials, "excess").power(2) / partials.doubles("present_weighted") ** 2
        case AggregateKind.MIN | AggregateKind.MAX | AggregateKind.USER | AggregateKind.COUNT_DISTINCT:
            return np.zeros(len(partials))
        case _:
            variances = _variances_of_dispersions(shape.function, partials)
    variances_or_zero: Doubles = np.where((partials.longs("present") == 0) & (not shape.counts_rows), 0.0, variances)
    return np.maximum(variances_or_zero, 0.0)


def population_variances(shape: Shape, partials: WindowPartials) -> Doubles:
    """Return Σ(v−AVG)²/P by the estimated count, where variances or deviations are asked for; else NaN."""
    if shape.function not in SPREADS:
        return np.full(len(partials), np.nan)
    variances: Doubles = _dispersions(AggregateKind.VAR_POP, partials).to_numpy(zero_copy_only=False)
    return variances


def _variances_of_dispersions(function: AggregateKind, partials: WindowPartials) -> Doubles:
    variance = _dispersions(AggregateKind.VAR_POP, partials).to_numpy(zero_copy_only=False)
    spread, _ = CentralSums.of(partials, "excess").of_spread(variance)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances: Doubles = spread / partials.doubles("present_weighted") ** 2
        if function in {AggregateKind.STDDEV, AggregateKind.STDDEV_POP}:
            variances = variances / (4 * variance)
    return variances


def _travels(shape: Shape) -> Carriage | None:
    return None if shape.value is None else shape.value.carriage


def _sums(shape: Shape, partials: WindowPartials) -> Doubles:
    """Sums: of integers and decimals that were not sampled, correctly rounded."""
    estimated = partials.doubles("total_weighted")
    if _travels(shape) not in {Carriage.LONG, Carriage.DECIMAL}:
        return estimated
    exactly = nearest_doubles(_sums_written(shape.value, partials))
    return np.where(partials.doubles("greatest_weight") > 1.0, estimated, exactly)


def _sums_written(value: ValueKind | None, partials: WindowPartials) -> pa.Array:
    match value:
        case ValueKind(Carriage.LONG):
            return halves_written(partials.array("sum_high"), partials.array("sum_low"))
        case ValueKind(Carriage.DECIMAL):
            return decimal_halves_written(
                partials.array("sum_decimal_high"), partials.array("sum_decimal_low"), value.scale
            )
        case _:
            return doubles_written(partials.array("total"))


def _averages_written(shape: Shape, partials: WindowPartials, averages: Doubles) -> pa.Array:
    """Averages of decimals as Spark rounds them, where doubles have fewer digits and nothing was sampled; else null."""
    if shape.value is None or shape.value.carriage is not Carriage.DECIMAL:
        return pa.nulls(len(averages), pa.string())
    scale = shape.value.scale + _MORE_DIGITS_OF_AVERAGES
    present = partials.longs("present")
    is_long = np.abs(averages) * 10.0**scale >= MOST_OF_DOUBLES
    rows = np.flatnonzero(is_long & (present > 0) & (partials.doubles("greatest_weight") <= 1.0))
    written: list[str | None] = [None] * len(averages)
    sums = _sums_written(shape.value, partials.take(rows)).to_pylist() if len(rows) else []
    for row, total in zip(rows.tolist(), sums, strict=True):
        unscaled, half = abs(Fraction(total)) * 10**scale / int(present[row]), Fraction(1, 2)
        sign = "-" if total.startswith("-") else ""
        written[row] = sign + format(Decimal(math.floor(unscaled + half)).scaleb(-scale, _MANY_DIGITS), "f")
    return pa.array(written, pa.string())


def _with_averages(numbers: Doubles, written: pa.Array) -> Doubles:
    """Averages, those that are written with more digits as the nearest doubles."""
    exactly = nearest_doubles(written)
    return np.where(np.isnan(exactly), numbers, exactly)


def _extremes_written(side: str, value: ValueKind | None, partials: WindowPartials) -> pa.Array:
    match value:
        case ValueKind(Carriage.LONG):
            return longs_written(partials.array(f"{side}_long"), value.notation)
        case ValueKind(Carriage.DECIMAL):
            return decimals_written(partials.array(f"{side}_decimal"), value.scale)
        case ValueKind(Carriage.TEXT):
            return partials.array(f"{side}_text")
        case _:
            return doubles_written(partials.array(f"{side}_number"))


def _dispersions(function: AggregateKind, partials: WindowPartials) -> pa.Array:
    """Variances and deviations from Σ(M2 + n·(mean_slice − mean)²)/P over the slices, in which no digits cancel."""
    slices = SliceMoments.of(partials)
    if slices is None:
        return pa.nulls(len(partials), pa.float64())
    present = slices.present * slices.weight
    whole = slices.summed(present)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        mean = slices.summed(slices.mean * (present / whole[slices.windows]))
        divisor = whole - 1 if function in {AggregateKind.VARIANCE, AggregateKind.STDDEV} else whole
        variance = slices.around(mean, slices.weight) / divisor
        dispersions = np.sqrt(variance) if function in {AggregateKind.STDDEV, AggregateKind.STDDEV_POP} else variance
    return pa.array(dispersions, mask=divisor <= 0)
