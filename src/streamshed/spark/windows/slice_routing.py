"""Which queries, and which of their windows, the partials of a slice go to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import ANSWER, LATE, UNREADABLE
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.counted_rows import Role, role_of, value_slot
from streamshed.sharing.sharing_class import Member
from streamshed.spark.common.set_apart import CARRIER_CLASS, UNREADABLE_CLASS
from streamshed.spark.common.unfused import unfused
from streamshed.spark.windows.constant import constant
from streamshed.spark.windows.manifest import Routed
from streamshed.spark.windows.nested_windows import Nested, closing_of, delay_of

_MOST_EMPTY_WINDOWS = 10_000
"""A jump of event time over more windows than this leaves the oldest of them without empty answers."""
_NOT_NAMED = "the manifest does not name a sharing class that has slices in state: "


@dataclass(frozen=True)
class CarriedWindows:
    """Windows of a value of a query that a carrier tells of.

    Attributes:
        definition_id: `Query.definition_id`.
        slot: Of the value.
        window: The windows.
        is_grouped: Whether the query is.
        beyond: So much later than they end they may need rows, as answers of others come later than they are stamped.
    """

    definition_id: int
    slot: int
    window: WindowSpecification
    is_grouped: bool
    beyond: int = 0


@dataclass(frozen=True)
class Carried:
    """What carriers tell of.

    Attributes:
        windows: By stream.
        nested: Of queries whose windows close later than they end, when.
    """

    windows: Mapping[str, Sequence[CarriedWindows]]
    nested: Nested


def routed(
    slices: DataFrame, classes: Sequence[Routed], carried: Carried, of_routes: Sequence[dict[str, Column]] = ()
) -> DataFrame:
    """Copy the partials of slices to every window of every query that they belong to.

    A row that came late, when its own slice was closed, has traveled in a slice still open, and goes to the windows
    that were open with it. The windows that had closed by then are counted: one more copy per query, of kind "late",
    as many times as there were such windows. All edges of a class's windows are edges of its slices, so a window was
    still open iff it does not end before the slice that the row has traveled in.

    Args:
        slices: What `slice_partials` returns.
        classes: Those of the network that runs, and those of earlier ones whose slices may still be in state.
        carried: The windows that carriers tell of, whether rows fell into them or not.
        of_routes: Columns that are alike in all windows of a query, some from others: computed once for these.

    Returns:
        The columns of `slices` and `of_routes` with `route`, `kind`, `window_start`, `window_end` (when it closes) and
        `missed`, the windows that a copy of kind "late" stands for. What is no answer has no window: both its ends are
        the end of the slice it has traveled in.
    """
    wanted = slices.select("*", F.explode(_routes(classes, carried)).alias("route")).where(
        F.col("mask").bitwiseAND(F.col("route.bit_mask")) != 0
    )
    for columns in of_routes:
        wanted = wanted.withColumns(columns)
    closes = F.unix_micros("closes")
    size, slide = F.col("route.size"), F.col("route.slide")
    ranged = wanted.withColumns({"first": _first_window(), "last": _last_window()})
    delay = delay_of(carried.nested, F.col("route.definition_id"))
    skipped = ranged.withColumn("skipped", _closed_before_it_came(delay))
    first_open = F.col("first") + F.col("skipped")
    one_more = F.when(F.col("skipped") > 0, slide).otherwise(F.lit(0).cast("bigint"))
    starts = F.sequence(first_open - one_more, F.greatest("last", first_open - one_more), slide)
    started = skipped.select("*", F.explode(starts).alias("start"))
    is_unreadable = F.col("class_id") == UNREADABLE_CLASS
    kind = (
        F.when(is_unreadable, F.lit(UNREADABLE))
        .when(F.col("start") < first_open, F.when(F.col("route.role") == int(Role.VALUES), F.lit(LATE)))
        .when(F.col("start") <= F.col("last"), F.lit(ANSWER))
    )
    of_kind = started.withColumn("kind", kind).where(F.col("kind").isNotNull())
    is_answer = F.col("kind") == ANSWER
    closing = closing_of(carried.nested, F.col("route.definition_id"), F.col("start"), F.col("start") + size)
    starting = F.when(is_answer, F.col("start")).otherwise(closes)
    return of_kind.withColumns(
        {
            # When windows close grows with the aggregates that are nested.
            "window_start": unfused(starting) if carried.nested else starting,
            "window_end": F.when(is_answer, closing).otherwise(closes),
            "missed": F.when(is_answer, F.lit(1)).otherwise(F.greatest((F.col("skipped") / slide), F.lit(1))),
        }
    )


def _first_window() -> Column:
    """Start of the first window that holds the slice, or that a carrier has come through since `slice_start`."""
    size, slide, offset = F.col("route.size"), F.col("route.slide"), F.col("route.offset")
    is_carrier = F.col("class_id") == CARRIER_CLASS
    recent = F.greatest(F.col("slice_start"), F.col("key_long") - slide * _MOST_EMPTY_WINDOWS)
    instant = F.when(is_carrier, recent).otherwise(F.col("slice_start"))
    since = F.pmod(instant - offset, slide)
    room = size - since - 1
    return instant - since - (room - F.pmod(room, slide))


def _last_window() -> Column:
    """Start of the last such window; of a carrier that knows no time yet, one before the first."""
    slide, offset = F.col("route.slide"), F.col("route.offset")
    is_carrier = F.col("class_id") == CARRIER_CLASS
    instant = F.when(is_carrier, F.col("key_long")).otherwise(F.col("slice_start"))
    return instant - F.pmod(instant - offset, slide)


def _closed_before_it_came(delay: Column) -> Column:
    """How far the first window still open lies behind the first, a multiple of the slide; at most one past the last."""
    size, slide = F.col("route.size"), F.col("route.slide")
    overdue = F.unix_micros("closes") - delay - 1 - size - F.col("first")
    came_late = (F.col("class_id") > CARRIER_CLASS) & (overdue >= 0)
    closed = overdue - F.pmod(overdue, slide) + slide
    return F.when(came_late, F.least(closed, F.col("last") - F.col("first") + slide)).otherwise(F.lit(0).cast("bigint"))


def _routes(classes: Sequence[Routed], carried: Carried) -> Column:
    """The queries that a row of slices goes to: an array of (bit, query, slot, role, window)."""
    by_class: list[tuple[object, object]] = [(UNREADABLE_CLASS, [_NOWHERE])]
    by_class += [(c.class_id, [_route(member) for member in c.members]) for c in classes]
    class_id = F.col("class_id")
    nowhere = F.raise_error(F.concat(F.lit(_NOT_NAMED), class_id.cast("string")))
    of_class = F.element_at(literal_map(by_class, "bigint", _ROUTES), class_id)
    routes = F.coalesce(of_class, F.when(class_id > CARRIER_CLASS, nowhere))
    by_stream: list[tuple[object, object]] = [
        (stream, [_carried_route(windows_of_value) for windows_of_value in windows])
        for stream, windows in carried.windows.items()
    ]
    if not by_stream:
        return routes
    carried_routes = F.element_at(literal_map(by_stream, "string", _ROUTES), F.col("key_text"))
    return F.when(class_id == CARRIER_CLASS, carried_routes).otherwise(routes)


_ROUTE_FIELDS = ("bit", "bit_mask", "definition_id", "slot", "role", "is_grouped", "size", "slide", "offset")
_ROUTES = f"array<struct<{', '.join(f'{name}: bigint' for name in _ROUTE_FIELDS)}>>"
_NOWHERE = dict.fromkeys(_ROUTE_FIELDS, 0) | {"bit_mask": 1, "size": 1, "slide": 1}


def _route(member: Member) -> dict[str, int]:
    return {
        "bit": member.bit,
        "bit_mask": 1 << member.bit,
        "definition_id": member.definition_id,
        "slot": value_slot(member.slot),
        "role": int(role_of(member.slot)),
        "is_grouped": 0,
        **_lengths(member.window),
    }


def _carried_route(windows: CarriedWindows) -> dict[str, int]:
    return {
        "bit": 0,
        "bit_mask": 1,
        "definition_id": windows.definition_id,
        "slot": windows.slot,
        "role": int(Role.VALUES),
        "is_grouped": int(windows.is_grouped),
        **_lengths(windows.window),
        "size": windows.window.size_microseconds + windows.beyond,
    }


def _lengths(window: WindowSpecification) -> dict[str, int]:
    return {
        "size": window.size_microseconds,
        "slide": window.slide_microseconds,
        "offset": window.offset_microseconds,
    }


def literal_map(entries: Sequence[tuple[object, object]], key: str, value: str) -> Column:
    """Return a map of constants, as a literal.

    Args:
        entries: Keys, none twice, and values that JSON can hold; a struct is a dict.
        key: Type of the keys.
        value: Type of the values.
    """
    pairs = [{"key": known, "value": held} for known, held in entries]
    parsed = F.from_json(F.lit(json.dumps(pairs)), f"array<struct<key: {key}, value: {value}>>")
    return constant(F.map_from_entries(parsed))
