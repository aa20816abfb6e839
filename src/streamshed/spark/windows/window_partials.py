"""Stage 2: windows put together from closed slices, each slice's partials weighted by its own sampling rates."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import ANSWER, LATE
from streamshed.answering.table.dropped_windows import CARRIED
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.sharing.sharing_class import SharingClass
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.common.sampling_codes import cohort, sampling_rate
from streamshed.spark.common.set_apart import CARRIER_CLASS
from streamshed.spark.common.state_key import UNGROUPED, state_key_columns
from streamshed.spark.windows.block_columns import block_sums_of_window, vector_sum
from streamshed.spark.windows.eviction import closing_time
from streamshed.spark.windows.manifest import Routed
from streamshed.spark.windows.sketches import Sketches, merged_sketches, sketch_names
from streamshed.spark.windows.slice_routing import Carried, routed

WINDOW_KEY = ("closes", "window_start", "kind", "definition_id", "slot", "key_long", "key_text")


def window_partials(
    slices: DataFrame,
    classes: Sequence[Routed],
    present: Sequence[SharingClass],
    layout: StateLayout,
    sketches: Sketches,
    carried: Carried,
) -> DataFrame:
    """Merge the partials of slices into those of the windows that hold them.

    Args:
        slices: What `slice_partials` returns.
        classes: Those of the network that runs, and those of earlier ones whose slices may still be in state.
        present: Those of the network that runs.
        layout: The state layout.
        sketches: Who asks for which.
        carried: The windows that carriers tell of.

    Returns:
        One row per window, query and value slot (kind "answer"), per query with late rows ("late"), and per
        unreadable row ("unreadable").
    """
    of_blocks = [{"block_sums": block_sums_of_window()}] if layout.block_sums else []
    copies = routed(slices, classes, carried, [{"weight": _weight()}, *of_blocks])
    counts = any(role_of(member.slot) for sharing_class in [*present, *classes] for member in sharing_class.members)
    is_value = F.col("route.role") == int(Role.VALUES) if counts else None
    keyed = copies.select(
        closing_time(F.col("window_end")),
        "window_start",
        "kind",
        F.col("route.definition_id").alias("definition_id"),
        F.col("route.slot").alias("slot"),
        _key_of_the_group("key_long"),
        _key_of_the_group("key_text"),
        _if(is_value, F.col("weight"), F.lit(1.0)).alias("weight"),
        _if(is_value, (F.col("rows") * F.col("missed")).cast("bigint"), F.lit(0).cast("bigint")).alias("rows"),
        _if(is_value, F.col("present"), F.lit(0).cast("bigint")).alias("present"),
        *[_if(is_value, F.col(name)).alias(name) for name in _weightless(layout)],
        *_counted_rows(counts=counts),
        *([cohort(F.col("sampling_codes")).alias("cohort")] if layout.cohorts else []),
    )
    if layout.dispersions:
        keyed = keyed.withColumn("moments", _moments())
    if layout.cohorts:
        keyed = keyed.withColumn("cohorts", _of_cohort())
    if layout.block_sums:
        keyed = keyed.withColumn("block_sums", F.when(F.col("kind") == ANSWER, F.col("block_sums")))
    if routed_sketches := sketches.routed(layout):
        keyed = keyed.withColumns(routed_sketches)
    return keyed.groupBy(*WINDOW_KEY).agg(*_merged(layout)).withColumns(state_key_columns())


def _key_of_the_group(name: str) -> Column:
    """The group's key; what counts late rows is per query, and a carrier's is none, beside groups nobody's."""
    is_carrier = F.col("class_id") == CARRIER_CLASS
    none = F.when(is_carrier & (F.col("route.is_grouped") == 1), F.lit(CARRIED[name])).otherwise(F.lit(UNGROUPED[name]))
    return F.when((F.col("kind") != LATE) & ~is_carrier, F.col(name)).otherwise(none).alias(name)


def _weight() -> Column:
    return 1.0 / sampling_rate(F.col("sampling_codes"), F.col("route.bit"))


def _if(condition: Column | None, column: Column, otherwise: Column | None = None) -> Column:
    """The column where a condition holds that may be left out, as it always does."""
    if condition is None:
        return column
    chosen = F.when(condition, column)
    return chosen if otherwise is None else chosen.otherwise(otherwise)


def _counted_rows(*, counts: bool) -> list[Column]:
    """How many rows came to the function above a query, and how many of them are in its sample, with their weights."""
    columns = []
    for role, name in ((Role.COUNTED, "counted"), (Role.SAMPLED, "sampled")):
        # Without any, null in a way that Spark does not see through: the schema of state is the same for all queries.
        is_of_role = F.col("route.role") == int(role) if counts else F.col("mask") < 0
        columns += [
            _if(is_of_role, F.col("rows")).alias(name),
            _if(is_of_role, F.col("weight")).alias(f"{name}_weight"),
        ]
    return columns


def _weightless(layout: StateLayout) -> list[str]:
    names = ["total", "squares", "sizes", "cubes", "quads", "least_number", "greatest_number"]
    names += ["sum_low", "sum_high", "least_long", "greatest_long"]
    if layout.decimals:
        names += ["sum_decimal_low", "sum_decimal_high", "least_decimal", "greatest_decimal"]
    if layout.texts:
        names += ["least_text", "greatest_text"]
    if layout.dispersions:
        names.append("variance")
    if layout.block_sums:
        names.append("block_sums")
    names += sketch_names(layout)
    return names


def _moments() -> Column:
    """Number of values, mean, Σ(v−mean)² and weight of a slice; null where it has no value."""
    mean = F.col("total") / F.col("present")
    dispersion = F.col("variance") * F.col("present")
    moments = F.struct(F.col("present"), mean.alias("mean"), dispersion.alias("dispersion"), F.col("weight"))
    return F.when(F.col("present") > 0, moments).alias("moments")


def _of_cohort() -> Column:
    """What a slice has of one cohort at one rate; null where it is of none."""
    names = ("cohort", "weight", "rows", "present", "total", "squares")
    return F.when(F.col("cohort").isNotNull() & (F.col("kind") == ANSWER), F.struct(*names))


def _counted_sums() -> list[Column]:
    counted, sampled = F.col("counted_weight"), F.col("sampled_weight")
    excess = sampled * (sampled - 1.0)
    return [
        F.sum(F.col("counted") * counted).alias("counted_weighted"),
        F.sum(F.col("counted") * counted * (counted - 1.0)).alias("counted_excess"),
        F.sum(F.col("sampled") * sampled).alias("sampled_weighted"),
        F.sum(F.col("sampled") * excess).alias("sampled_excess"),
        F.sum(F.col("sampled") * excess * excess).alias("sampled_excess_squared"),
    ]


def _merged(layout: StateLayout) -> list[Column]:
    weight = F.col("weight")
    excess = weight * (weight - 1.0)
    merged = [
        F.sum("rows").alias("rows"),
        F.sum("present").alias("present"),
        F.sum("total").alias("total"),
        F.sum(F.col("rows") * weight).alias("rows_weighted"),
        F.sum(F.col("present") * weight).alias("present_weighted"),
        F.sum(F.col("total") * weight).alias("total_weighted"),
        F.sum(F.col("squares") * weight).alias("squares_weighted"),
        F.sum(F.col("sizes") * weight).alias("sizes_weighted"),
        F.sum(F.col("rows") * excess).alias("rows_excess"),
        F.sum(F.col("present") * excess).alias("present_excess"),
        F.sum(F.col("total") * excess).alias("total_excess"),
        *[F.sum(F.col(name) * excess).alias(f"{name}_excess") for name in ("squares", "cubes", "quads")],
        *[
            F.sum(F.col(name) * excess * excess).alias(f"{name}_excess_squared")
            for name in ("rows", "present", "total", "squares", "cubes", "quads")
        ],
        F.max("weight").alias("greatest_weight"),
        *_counted_sums(),
        F.sum("sum_low").alias("sum_low"),
        F.sum("sum_high").alias("sum_high"),
    ]
    if layout.decimals:
        merged += [F.sum(half).cast("decimal(38,0)").alias(half) for half in ("sum_decimal_low", "sum_decimal_high")]
    for carriage in ["number", "long", *(["decimal"] * layout.decimals), *(["text"] * layout.texts)]:
        merged += [
            F.min(f"least_{carriage}").alias(f"least_{carriage}"),
            F.max(f"greatest_{carriage}").alias(f"greatest_{carriage}"),
        ]
    if layout.dispersions:
        merged.append(F.collect_list("moments").alias("moments"))
    if layout.cohorts:
        merged.append(F.collect_list("cohorts").alias("cohorts"))
    if layout.block_sums:
        merged.append(vector_sum(F.col("block_sums")).alias("block_sums"))
    return [*merged, *merged_sketches(layout)]
