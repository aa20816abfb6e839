"""Sums of cohorts of blocks as columns: of a row, and of slices on their way into windows."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.terms.block_sums import BLOCK_FIELDS, BLOCK_NUMBERS, EXCESS_FIELDS


def vector_sum(lists: Column) -> Column:
    """Return the aggregate that adds lists up, number by number; nulls are passed over."""
    return F.call_function("vector_sum", lists)


def block_sums_of_row() -> Column:
    """Return the list of a row alone, from `cohort`, `counted` and `number`; null where all blocks are read."""
    number = F.coalesce("number", F.lit(0.0))
    is_there = [F.col(name).isNotNull().cast("double") for name in ("counted", "number")]
    of_fields = F.array(*is_there, number, number * number)

    def at(place: Column) -> Column:
        is_of_cohort = F.floor(place / len(BLOCK_FIELDS)) == F.col("cohort")
        number_there = F.get(of_fields, place % len(BLOCK_FIELDS))
        return F.when(is_of_cohort, number_there).otherwise(F.lit(0.0)).cast("float")

    return F.when(F.col("cohort").isNotNull(), F.transform(F.sequence(F.lit(0), F.lit(BLOCK_NUMBERS - 1)), at))


def block_sums_of_window() -> Column:
    """Return what a slice's list is in a window, from `block_sums` and `weight`, 1/P; see `BlockSums`."""
    lists, excess = F.col("block_sums"), F.col("weight") * (F.col("weight") - 1.0)
    scaled = F.transform(lists, lambda number: (number * F.sqrt(excess)).cast("float"))
    of_all = [(_over_cohorts(lists, field) * excess).cast("float") for field in EXCESS_FIELDS]
    return F.when(lists.isNotNull(), F.concat(scaled, F.array(*of_all)))


def _over_cohorts(lists: Column, field: str) -> Column:
    """What all cohorts have of a field together."""
    places = F.sequence(F.lit(BLOCK_FIELDS.index(field)), F.lit(BLOCK_NUMBERS - 1), F.lit(len(BLOCK_FIELDS)))
    return F.aggregate(places, F.lit(0.0), lambda total, place: total + F.get(lists, place))
