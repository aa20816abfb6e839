"""Rows on their way into windows of so many rows: whose they are, in which order they are numbered, what they tell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.answering.count_windows.count_figures import CountSeries
from streamshed.answering.count_windows.count_windows import CountWindows
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.sharing.stream_work import AggregateSlot
from streamshed.spark.admit.passing import passes
from streamshed.spark.common.group_keys import joined_text, key_columns
from streamshed.spark.common.internal_names import TIME, UNREADABLE
from streamshed.spark.common.state_key import held
from streamshed.spark.common.unfused import unfused
from streamshed.spark.common.value_kind import CarriedValue, carried, presence, value_kind
from streamshed.spark.operators.slot_types import slot_call
from streamshed.spark.windows.compiled_stream import CompiledStream

ENTRY = (
    ("definition_id", "bigint"),
    ("slot", "bigint"),
    ("key_long", "bigint"),
    ("key_text", "string"),
    ("time", "bigint"),
    ("tie", "string"),
    ("number", "double"),
    ("long", "bigint"),
    ("decimal", "decimal(38,0)"),
    ("text", "string"),
)
"""Name and type of what a row tells of a value; the last four are null where the value is."""


def count_series(stream: CompiledStream) -> tuple[CountSeries, ...]:
    """Return the values of a stream's queries with windows of so many rows, each once."""
    return tuple(_series(stream, alike) for alike in _distinct(stream).values())


def count_entries(stream: CompiledStream) -> DataFrame:
    """Return a stream's rows: `event_time` as windows in time see it, and `entries`, an array of `ENTRY`.

    Entries of queries that do not want the row are null. A stream without such queries has one entry, which is null.
    """
    entries = [_entry(stream, alike[0]) for alike in _distinct(stream).values()]
    kind = f"array<struct<{', '.join(f'{name}: {kind}' for name, kind in ENTRY)}>>"
    instant = F.coalesce(F.col(TIME), F.when(F.col(UNREADABLE).isNotNull(), F.lit(0)))
    entry_array = F.array(*entries) if entries else F.array(F.lit(None))
    return stream.line.rows.select(
        F.timestamp_micros(instant).alias("event_time"), entry_array.cast(kind).alias("entries")
    )


def windows_of(window: WindowSpecification) -> CountWindows:
    """Return windows of so many rows, in rows."""
    return CountWindows(
        window.size_microseconds // MICROSECONDS_PER_NUMBER, window.slide_microseconds // MICROSECONDS_PER_NUMBER
    )


def _distinct(stream: CompiledStream) -> dict[tuple[int, int], list[AggregateSlot]]:
    """The aggregates of each value of each query."""
    slots_of_value: dict[tuple[int, int], list[AggregateSlot]] = {}
    for slot in stream.work.count_slots:
        slots_of_value.setdefault((slot.query.definition_id, slot.slot), []).append(slot)
    return slots_of_value


def _series(stream: CompiledStream, alike: Sequence[AggregateSlot]) -> CountSeries:
    first, calls = alike[0], [slot_call(slot) for slot in alike]
    matters = first.value is not None and first.value not in stream.values.presence_only
    travels = value_kind(stream.values.types[first.value]) if first.value is not None and matters else None
    if first.query.aggregate is None:
        raise TypeError("windows are of an aggregate")
    return CountSeries(
        definition_id=first.query.definition_id,
        slot=first.slot,
        windows=windows_of(first.query.aggregate.over),
        carriage=None if travels is None else travels.carriage,
        is_sketched=any(call.share is not None for call in calls),
        is_collected=any(call.user is not None for call in calls),
    )


def _entry(stream: CompiledStream, slot: AggregateSlot) -> Column:
    work, types = stream.work, stream.values.types
    place = work.program.places[slot.query.rows]
    gate = passes(work.gating.row_query_place(slot.query.definition_id))
    is_wanted = gate & stream.line.pass_all(place.conditions)

    def guarded(sql: str) -> Column:
        return F.when(is_wanted, F.expr(sql))

    key = held(*key_columns([(guarded(sql), types[sql]) for sql in slot.keys]))
    values_of_query = [
        other.value for other in work.count_slots if other.query.definition_id == slot.query.definition_id
    ]
    ties = [(guarded(sql), types[sql]) for sql in dict.fromkeys(values_of_query) if sql is not None]
    value = _value(stream, slot, guarded)
    entry = F.struct(
        F.lit(slot.query.definition_id).cast("bigint").alias("definition_id"),
        F.lit(slot.slot).cast("bigint").alias("slot"),
        *[column.alias(name) for name, column in key.items()],
        unfused(F.col(TIME)).alias("time"),
        joined_text(ties).alias("tie"),
        *[getattr(value, name).cast(kind).alias(name) for name, kind in ENTRY[6:]],
    )
    return F.when(is_wanted, entry)


def _value(stream: CompiledStream, slot: AggregateSlot, guarded: Callable[[str], Column]) -> CarriedValue:
    sql = slot.value
    if sql is None:
        return carried(None, None)
    value = guarded(sql)
    return presence(value) if sql in stream.values.presence_only else carried(value, stream.values.types[sql])
