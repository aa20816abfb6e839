"""Stage 2: windows put together from closed slices, each slice's partials weighted by its own sampling rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.planning.quantization import STEPS_PER_DECADE
from streamshed.sharing.sharing_class import Member, SharingClass
from streamshed.spark.answer_schema import ANSWER, LATE, UNREADABLE
from streamshed.spark.eviction import evictable_interval
from streamshed.spark.literal_map import literal_map
from streamshed.spark.manifest import Routed
from streamshed.spark.set_apart import CARRIER_CLASS, UNREADABLE_CLASS
from streamshed.spark.slice_columns import window_starts
from streamshed.spark.state_layout import StateLayout

_MOST_EMPTY_WINDOWS = 10_000
"""A jump of event time over more windows than this leaves the oldest of them without empty answers."""

WINDOW_KEY = ("window", "kind", "definition_id", "slot", "key_long", "key_text")


def window_partials(
    slices: DataFrame, classes: Sequence[Routed], present: Sequence[SharingClass], layout: StateLayout
) -> DataFrame:
    """Merge the partials of slices into those of the windows that hold them.

    A row that came late, when its own slice was closed, has traveled in a slice still open, and counts in the
    windows that were open with it; the windows that were already closed are counted as late (row, window) pairs.

    Args:
        slices: What `slice_partials` returns.
        classes: Those of the network that runs, and those of earlier ones whose slices may still be in state.
        present: Those of the network that runs; their ungrouped queries are answered for windows without rows, too.
        layout: The state layout.

    Returns:
        One row per window, query and value slot (kind "answer"), per query with late rows ("late"), and per
        unreadable row ("unreadable").
    """
    routed = slices.select("*", F.explode(_routes(classes, present)).alias("route")).where(
        F.col("mask").bitwiseAND(F.col("route.bit_mask")) != 0
    )
    placed = routed.select("*", F.explode(_destinations()).alias("destination"))
    window = evictable_interval(F.col("destination.start"), F.col("destination.end"), "window")
    keyed = placed.select(
        window,
        F.col("destination.kind").alias("kind"),
        F.col("route.definition_id").alias("definition_id"),
        F.col("route.slot").alias("slot"),
        _key_of_the_group("key_long"),
        _key_of_the_group("key_text"),
        (1.0 / _sampling_rate()).alias("weight"),
        *_weightless(layout),
    )
    return keyed.groupBy(*WINDOW_KEY).agg(*_merged(layout))


def _routes(classes: Sequence[Routed], present: Sequence[SharingClass]) -> Column:
    """The queries that a row of slices goes to: an array of (bit, query, slot, window)."""
    by_class: list[tuple[object, object]] = [(UNREADABLE_CLASS, [_NOWHERE])]
    by_class += [(c.class_id, [_route(member) for member in c.members]) for c in classes]
    routes = F.element_at(literal_map(by_class, "bigint", _ROUTES), F.col("class_id"))
    by_stream: dict[object, list[object]] = {}
    for sharing_class in present:
        if not sharing_class.keys:
            members = [_route(replace(member, bit=0)) for member in sharing_class.members]
            by_stream.setdefault(sharing_class.stream, []).extend(members)
    if not by_stream:
        return routes
    carried = F.element_at(literal_map(list(by_stream.items()), "string", _ROUTES), F.col("key_text"))
    return F.when(F.col("class_id") == CARRIER_CLASS, carried).otherwise(routes)


_ROUTE_FIELDS = ("bit", "bit_mask", "definition_id", "slot", "size", "slide", "offset")
_ROUTES = f"array<struct<{', '.join(f'{name}: bigint' for name in _ROUTE_FIELDS)}>>"
_NOWHERE = dict.fromkeys(_ROUTE_FIELDS, 0) | {"bit_mask": 1, "size": 1, "slide": 1}


def _route(member: Member) -> dict[str, int]:
    window = member.window
    return {
        "bit": member.bit,
        "bit_mask": 1 << member.bit,
        "definition_id": member.definition_id,
        "slot": member.slot,
        "size": window.size_microseconds,
        "slide": window.slide_microseconds,
        "offset": window.offset_microseconds,
    }


def _destinations() -> Column:
    """The windows a slice's partials go to, one more entry where some of its windows had closed before it came."""
    size, slide, offset = F.col("route.size"), F.col("route.slide"), F.col("route.offset")
    opened = F.unix_micros("interval.start")
    closes = F.unix_micros("interval.end")
    starts = window_starts(F.col("slice_start"), size, slide, offset)
    came_late = F.col("slice_start") < opened
    in_time = F.when(came_late, F.filter(starts, lambda start: start + size > opened)).otherwise(starts)
    answers = F.transform(in_time, lambda start: _destination(start, start + size, ANSWER))
    missed = F.size(starts) - F.size(in_time)
    late = F.transform(F.sequence(F.lit(1), missed), lambda _: _destination(opened, closes, LATE))
    itself = F.array(_destination(opened, closes, UNREADABLE))
    empty = F.transform(_passed_windows(), lambda start: _destination(start, start + size, ANSWER))
    return (
        F.when(F.col("class_id") == UNREADABLE_CLASS, itself)
        .when(F.col("class_id") == CARRIER_CLASS, empty)
        .when(came_late & (missed > 0), F.concat(answers, late))
        .otherwise(answers)
    )


def _passed_windows() -> Column:
    """Starts of the windows that a carrier has come through, from `slice_start` to `key_long`."""
    size, slide, offset = F.col("route.size"), F.col("route.slide"), F.col("route.offset")
    until = F.col("key_long")
    since = F.greatest(F.col("slice_start"), until - slide * _MOST_EMPTY_WINDOWS)
    earlier = F.floor((size - F.pmod(since - offset, slide) - F.lit(1)) / slide) * slide
    first = since - F.pmod(since - offset, slide) - earlier
    last = until - F.pmod(until - offset, slide)
    known = until.isNotNull() & (first <= last)
    starts = F.sequence(first.cast("bigint"), last.cast("bigint"), slide)
    return F.when(known, starts).otherwise(F.array().cast("array<bigint>"))


def _destination(start: Column, end: Column, kind: str) -> Column:
    return F.struct(start.alias("start"), end.alias("end"), F.lit(kind).alias("kind"))


def _key_of_the_group(name: str) -> Column:
    """The group's key; what counts late rows is per query, and a carrier's is none."""
    keeps = (F.col("destination.kind") != LATE) & (F.col("class_id") != CARRIER_CLASS)
    return F.when(keeps, F.col(name)).alias(name)


def _sampling_rate() -> Column:
    """The rate at which the rows of a partial were kept for a query: its bit's code, or the one code of all bits."""
    codes = F.col("sampling_codes")
    at = F.when(F.length(codes) > 2, F.col("route.bit") * 2 + 1).otherwise(F.lit(1))
    code = F.conv(F.substr(codes, at.cast("int"), F.lit(2)), 16, 10).cast("double")
    return F.when(codes.isNull(), F.lit(1.0)).otherwise(F.pow(F.lit(10.0), -code / F.lit(float(STEPS_PER_DECADE))))


def _weightless(layout: StateLayout) -> list[Column]:
    mean = F.col("total") / F.col("present")
    names = ["rows", "present", "total", "least_number", "greatest_number", "sum_low", "sum_high"]
    names += ["least_long", "greatest_long"]
    if layout.decimals:
        names += ["sum_decimal", "least_decimal", "greatest_decimal"]
    if layout.texts:
        names += ["least_text", "greatest_text"]
    dispersion = F.when(F.col("present") > 0, F.col("variance") * F.col("present")).otherwise(F.lit(0.0))
    squares = F.when(F.col("present") > 0, dispersion + mean * F.col("total")).otherwise(F.lit(0.0))
    moments = F.when(
        F.col("present") > 0, F.struct(F.col("present"), mean.alias("mean"), dispersion.alias("dispersion"))
    )
    return [
        *[F.col(name) for name in names],
        squares.alias("squares"),
        *([moments.alias("moments")] if layout.dispersions else []),
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
        F.sum(F.col("rows") * excess).alias("rows_excess"),
        F.sum(F.col("present") * excess).alias("present_excess"),
        F.sum(F.col("total") * excess).alias("total_excess"),
        F.sum(F.col("squares") * excess).alias("squares_excess"),
        F.max("weight").alias("greatest_weight"),
        F.sum("sum_low").alias("sum_low"),
        F.sum("sum_high").alias("sum_high"),
    ]
    if layout.decimals:
        merged.append(F.sum("sum_decimal").cast("decimal(38,0)").alias("sum_decimal"))
    for carriage in ["number", "long", *(["decimal"] * layout.decimals), *(["text"] * layout.texts)]:
        merged += [
            F.min(f"least_{carriage}").alias(f"least_{carriage}"),
            F.max(f"greatest_{carriage}").alias(f"greatest_{carriage}"),
        ]
    if layout.dispersions:
        merged.append(F.collect_list("moments").alias("moments"))
    return merged
