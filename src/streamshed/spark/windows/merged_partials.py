"""Window partials of windows that are themselves put together from others: of one value each, and merged."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.spark.windows.block_columns import vector_sum
from streamshed.spark.windows.decimal_sums import high_half, low_half
from streamshed.spark.windows.sketches import REGISTER_BITS, VALUES_KEPT

_LOW_BITS = 0xFFFFFFFF
_LISTS = frozenset({"moments", "sampled_sketches", "collected", "cohorts"})
_SKETCHES = frozenset({"sketch", "distinct_sketch"})


def partials_of_a_value(value: str, schema: T.StructType) -> dict[str, Column]:
    """Return the window partials of one row that was not sampled, from the columns that carry its value.

    Args:
        value: A struct of number, long, decimal, text, and instant: when that is collected, else null. A text that is
            null is no value: it is not collected.
        schema: Of window partials. Columns that it lacks are left out; partials that a row does not have are null.
    """
    number, long = F.col(f"{value}.number"), F.col(f"{value}.long")
    unit, is_present = F.lit(1), number.isNotNull().cast("bigint")
    partials = {
        "rows": unit,
        "rows_weighted": unit,
        "present": is_present,
        "present_weighted": is_present,
        "total": number,
        "total_weighted": number,
        "squares_weighted": number * number,
        "sizes_weighted": F.abs(number),
        "greatest_weight": unit,
        "sum_low": long.bitwiseAND(F.lit(_LOW_BITS)),
        "sum_high": F.shiftright(long, 32),
        "sum_decimal_low": low_half(F.col(f"{value}.decimal")),
        "sum_decimal_high": high_half(F.col(f"{value}.decimal")),
        "collected": F.when(
            F.col(f"{value}.instant").isNotNull() & F.col(f"{value}.text").isNotNull(),
            F.array(F.struct(f"{value}.instant", f"{value}.text")),
        ),
        "moments": F.when(number.isNotNull(), F.array(_moments(number))),
        **{
            f"{side}_{carriage}": F.col(f"{value}.{carriage}")
            for side in ("least", "greatest")
            for carriage in ("number", "long", "decimal", "text")
        },
        **{
            f"{name}_excess{power}": F.lit(0.0)
            for name in ("rows", "present", "total", "squares", "cubes", "quads")
            for power in ("", "_squared")
        },
    }
    nothing = {
        name: F.lit(None)
        for name in schema.names
        if name in {*_SKETCHES, *_LISTS, "block_sums"} - partials.keys() or name.startswith(("counted", "sampled_"))
    }
    return {name: column for name, column in (partials | nothing).items() if name in schema.names}


def _moments(number: Column) -> Column:
    """Of a value alone."""
    return F.struct(
        number.isNotNull().cast("bigint").alias("present"),
        number.alias("mean"),
        F.lit(0.0).alias("dispersion"),
        F.lit(1.0).alias("weight"),
    )


def merged_partials(fields: Sequence[T.StructField]) -> list[Column]:
    """Return the aggregates that put window partials of one window, group and value together.

    Partials that are alone stay as they are. Values of new rows, `value_number` and `value_long`, are sketched here.

    Args:
        fields: The partials.
    """
    return [_merged(field).alias(field.name) for field in fields]


def _merged(field: T.StructField) -> Column:
    name = field.name
    if name == "block_sums":
        return vector_sum(F.col(name))
    if name in _LISTS:
        return F.flatten(F.collect_list(name))
    if name == "sketch":
        sketch_of_rows = F.kll_sketch_agg_double(F.col("value_number"), VALUES_KEPT)
        merged = F.kll_merge_agg_double(name, VALUES_KEPT)
        return F.when(F.count("value_number") > 0, sketch_of_rows).otherwise(merged)
    if name == "distinct_sketch":
        hashed = F.hll_sketch_agg(F.col("value_long"), REGISTER_BITS)
        return F.when(F.count("value_number") > 0, hashed).otherwise(F.hll_union_agg(name))
    if name.startswith("least_"):
        return F.min(name)
    if name.startswith("greatest_"):
        return F.max(name)
    return F.sum(name).cast(field.dataType)
