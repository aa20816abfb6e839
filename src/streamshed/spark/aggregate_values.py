"""The value of each aggregate from the partials of a window, scaled where rows were sampled, and its variance."""

from __future__ import annotations

import functools

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.aggregate import AggregateKind
from streamshed.spark.notation import decimal_text, long_text
from streamshed.spark.state_layout import StateLayout
from streamshed.spark.value_kind import Carriage, Notation

_HIGH = 2**32


def value_of(layout: StateLayout) -> Column:
    """The aggregate as a double; a time is its seconds since the epoch, a text has none.

    Of no value, counts are 0 and all else is null, as in SQL.
    """
    count = F.when(F.col("asked.counts_rows"), F.col("rows_weighted")).otherwise(F.col("present_weighted"))
    return (
        F.when(_is(AggregateKind.COUNT), count)
        .when(F.col("present") == 0, F.lit(None))
        .when(_is(AggregateKind.SUM), _sum(layout))
        .when(_is(AggregateKind.AVG), _average(layout))
        .when(_is(AggregateKind.MIN), _extreme("least"))
        .when(_is(AggregateKind.MAX), _extreme("greatest"))
        .otherwise(_dispersion(layout))
    )


def exact_text(layout: StateLayout) -> Column:
    """The aggregate as text, all its digits kept; meaningful where nothing was sampled."""
    extreme = F.when(_is(AggregateKind.MIN), _extreme_text("least", layout)).otherwise(
        _extreme_text("greatest", layout)
    )
    count = F.when(F.col("asked.counts_rows"), F.col("rows")).otherwise(F.col("present"))
    return (
        F.when(_is(AggregateKind.COUNT), count.cast("string"))
        .when(F.col("present") == 0, F.lit(None))
        .when(_is(AggregateKind.SUM), _sum_text(layout))
        .when(_is(AggregateKind.MIN, AggregateKind.MAX), extreme)
        .otherwise(value_of(layout).cast("string"))
    )


def sampled_variance() -> Column:
    """Estimated variance of the value, rows kept independently with their rates P.

    Count: Σ(1−P)/P². Sum: Σv²(1−P)/P². Average: that of Σ(v−mean)/N, the ratio estimator's first order.
    """
    mean = F.col("total_weighted") / F.col("present_weighted")
    residuals = F.col("squares_excess") - 2 * mean * F.col("total_excess") + mean * mean * F.col("present_excess")
    count = F.when(F.col("asked.counts_rows"), F.col("rows_excess")).otherwise(F.col("present_excess"))
    return (
        F.when(_is(AggregateKind.COUNT), count)
        .when(F.col("present") == 0, F.lit(None))
        .when(_is(AggregateKind.SUM), F.col("squares_excess"))
        .when(_is(AggregateKind.AVG), residuals / (F.col("present_weighted") * F.col("present_weighted")))
    )


def _is(*kinds: AggregateKind) -> Column:
    return F.col("asked.function").isin(*[str(kind) for kind in kinds])


def _travels_as(carriage: Carriage) -> Column:
    return F.col("asked.carriage") == str(carriage)


def _whole_sum() -> Column:
    high = F.col("sum_high").cast("decimal(38,0)") * F.lit(_HIGH).cast("decimal(10,0)")
    return high + F.col("sum_low").cast("decimal(38,0)")


def _is_sampled() -> Column:
    return F.col("greatest_weight") > 1.0


def _exact_sum(layout: StateLayout) -> Column:
    """The sum as a double: of integers and decimals, correctly rounded."""
    value = F.when(_travels_as(Carriage.LONG), _whole_sum().cast("double"))
    if layout.decimals:
        power = F.pow(F.lit(10.0), F.col("asked.scale"))
        value = value.when(_travels_as(Carriage.DECIMAL), F.col("sum_decimal").cast("double") / power)
    return value.otherwise(F.col("total"))


def _sum(layout: StateLayout) -> Column:
    return F.when(_is_sampled(), F.col("total_weighted")).otherwise(_exact_sum(layout))


def _average(layout: StateLayout) -> Column:
    return _sum(layout) / F.col("present_weighted")


def _extreme(which: str) -> Column:
    seconds = {Notation.TIMESTAMP: 1e-6, Notation.TIMESTAMP_NTZ: 1e-6, Notation.DATE: 86_400.0}
    number = F.col(f"{which}_number")
    value = F.when(_travels_as(Carriage.TEXT), F.lit(None))
    for notation, factor in seconds.items():
        value = value.when(F.col("asked.notation") == str(notation), number * factor)
    return value.otherwise(number)


def _extreme_text(which: str, layout: StateLayout) -> Column:
    text = F.when(_travels_as(Carriage.LONG), long_text(F.col(f"{which}_long"), F.col("asked.notation")))
    if layout.decimals:
        decimal = decimal_text(F.col(f"{which}_decimal"), F.col("asked.scale"))
        text = text.when(_travels_as(Carriage.DECIMAL), decimal)
    if layout.texts:
        text = text.when(_travels_as(Carriage.TEXT), F.col(f"{which}_text"))
    return text.otherwise(F.col(f"{which}_number").cast("string"))


def _sum_text(layout: StateLayout) -> Column:
    text = F.when(_travels_as(Carriage.LONG), _whole_sum().cast("decimal(38,0)").cast("string"))
    if layout.decimals:
        text = text.when(_travels_as(Carriage.DECIMAL), decimal_text(F.col("sum_decimal"), F.col("asked.scale")))
    return text.otherwise(F.col("total").cast("string"))


def _dispersion(layout: StateLayout) -> Column:
    """Variances and deviations from the slices' moments, merged as Chan, Golub and LeVeque do: no digits canceled."""
    if not layout.dispersions:
        return F.lit(None).cast("double")
    merged = F.aggregate(
        "moments",
        F.struct(F.lit(0.0).alias("present"), F.lit(0.0).alias("mean"), F.lit(0.0).alias("dispersion")),
        _merge_moments,
    )
    squared = merged["dispersion"]
    present = merged["present"]
    population = squared / present
    sample = F.when(present > 1, squared / (present - 1))
    return functools.reduce(
        lambda column, case: column.when(_is(case[0]), case[1]),
        [
            (AggregateKind.VARIANCE, sample),
            (AggregateKind.STDDEV, F.sqrt(sample)),
            (AggregateKind.STDDEV_POP, F.sqrt(population)),
        ],
        F.when(_is(AggregateKind.VAR_POP), population),
    )


def _merge_moments(left: Column, right: Column) -> Column:
    present = left["present"] + right["present"]
    delta = right["mean"] - left["mean"]
    share = right["present"] / present
    merged = F.struct(
        present.alias("present"),
        (left["mean"] + delta * share).alias("mean"),
        (left["dispersion"] + right["dispersion"] + delta * delta * left["present"] * share).alias("dispersion"),
    )
    return F.when(left["present"] == 0, _as_doubles(right)).otherwise(merged)


def _as_doubles(moments: Column) -> Column:
    return F.struct(*[moments[name].cast("double").alias(name) for name in ("present", "mean", "dispersion")])
