"""Stage 1: one partial aggregate per (slice, class, mask, key, sampling rates), unweighted."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.common.internal_names import SUMS
from streamshed.spark.common.state_key import held
from streamshed.spark.windows.block_columns import block_sums_of_row, vector_sum
from streamshed.spark.windows.decimal_sums import high_half, low_half
from streamshed.spark.windows.eviction import closing_time
from streamshed.spark.windows.sketches import Sketches

SLICE_KEY = ("closes", "class_id", "slice_start", "mask", "sampling_codes", "key_long", "key_text")
"""The state key: when the group closes, what the rows are, and at which rates they were sampled.

Rows that came late close with the slice they have traveled in, others with their own. None of it is ever null, see
`state_key`; the codes are empty where nothing was shed. Spark has to see that none is, whatever the queries are: it
refuses state whose key may be null where it could not before.
"""

_LOW_BITS = 0xFFFFFFFF


def slice_partials(
    rows: DataFrame, layout: StateLayout, *, extremes: bool, reaches: bool, sizes: bool, sketches: Sketches
) -> DataFrame:
    """Aggregate rows by slice.

    Args:
        rows: Columns close_end (microseconds), those of `SLICE_KEY` but closes, and those of a
            `CarriedValue`: `number`, `long`, `decimal`, `text`; `counted` is null for rows that count nothing. `SUMS`,
            where there is such a column, is what many rows were summed up to that one is in the place of. Where the
            layout has sums of blocks, `cohort` is that of a row's block, null where all blocks are read.
        layout: Which families of partials state holds.
        extremes: Whether any query asks for one; else they are there but empty, which costs less.
        reaches: Whether any asks for a sum, average, variance or deviation: the extremes of sampled rows tell how much
            a single one of them contributes.
        sizes: Whether rows may be chosen by size; else nothing is told of it, likewise.
        sketches: Which values are sketched.

    Returns:
        The key's columns and the partials: rows, present (values not null), total, squares, cubes, quads (Σv to Σv⁴;
        the last two only of rows that were sampled), sizes (Σ|v|), sum_low + 2³²·sum_high (the exact sum of integers),
        least/greatest of each carriage, sketches.
    """
    closes = closing_time(F.col("close_end"))
    keys = {
        **{name: F.coalesce(name, F.lit(0).cast("bigint")) for name in ("class_id", "slice_start", "mask")},
        "sampling_codes": F.coalesce("sampling_codes", F.lit("")),
        **held(F.col("key_long"), F.col("key_text")),
    }
    others = [name for name in rows.columns if name not in {"close_end", *keys}]
    keyed = rows.select(closes, *[column.alias(name) for name, column in keys.items()], *others)
    sums = SUMS in rows.columns
    partials = _partials(layout, extremes=extremes, reaches=reaches, sizes=sizes, sketches=sketches, sums=sums)
    return keyed.groupBy(*SLICE_KEY).agg(*partials)


def _partials(
    layout: StateLayout, *, extremes: bool, reaches: bool, sizes: bool, sketches: Sketches, sums: bool
) -> list[Column]:
    number, long = F.col("number"), F.col("long")
    square, is_sampled = number * number, F.col("sampling_codes") != ""
    of_sample = F.when(is_sampled, number) if reaches else _never(number)
    ordered_number = number if extremes else of_sample
    ordered_long = long if extremes else _never(long)

    def or_sums(name: str, of_row: Column) -> Column:
        """What a row adds: its own, or what many rows were summed up to."""
        return F.coalesce(F.col(SUMS).getField(name), of_row) if sums else of_row

    def count(name: str, of_row: str) -> Column:
        """How many rows have something; no `count`, so that state is the same whether rows are summed up or not."""
        return F.sum(or_sums(name, F.col(of_row).isNotNull().cast("bigint"))).alias(name)

    partials = [
        count("rows", "counted"),
        count("present", "number"),
        F.sum(or_sums("total", number)).alias("total"),
        F.sum(or_sums("squares", square)).alias("squares"),
        F.sum(or_sums("sizes", F.abs(number)) if sizes else _never(number)).alias("sizes"),
        F.sum(or_sums("cubes", F.when(is_sampled, square * number))).alias("cubes"),
        F.sum(or_sums("quads", F.when(is_sampled, square * square))).alias("quads"),
        F.min(or_sums("least_number", ordered_number)).alias("least_number"),
        F.max(or_sums("greatest_number", ordered_number)).alias("greatest_number"),
        F.sum(or_sums("sum_low", long.bitwiseAND(F.lit(_LOW_BITS)))).alias("sum_low"),
        F.sum(or_sums("sum_high", F.shiftright(long, 32))).alias("sum_high"),
        F.min(or_sums("least_long", ordered_long)).alias("least_long"),
        F.max(or_sums("greatest_long", ordered_long)).alias("greatest_long"),
    ]
    of_blocks = [vector_sum(or_sums("block_sums", block_sums_of_row()))] if layout.block_sums else []
    return [*partials, *_family_partials(layout, sketches), *[column.alias("block_sums") for column in of_blocks]]


def _family_partials(layout: StateLayout, sketches: Sketches) -> list[Column]:
    """The partials that only some checkpoints have."""
    partials = [F.var_pop("number").alias("variance")] if layout.dispersions else []
    partials += sketches.of_slices(layout)
    if layout.decimals:
        partials += [
            F.sum(low_half(F.col("decimal"))).cast("decimal(38,0)").alias("sum_decimal_low"),
            F.sum(high_half(F.col("decimal"))).cast("decimal(38,0)").alias("sum_decimal_high"),
            F.min("decimal").alias("least_decimal"),
            F.max("decimal").alias("greatest_decimal"),
        ]
    if layout.texts:
        partials += [F.min("text").alias("least_text"), F.max("text").alias("greatest_text")]
    return partials


def _never(column: Column) -> Column:
    """Null, in a way that Spark does not see through: the schema of state must not change with the queries."""
    return F.when(F.col("mask") < 0, column)
