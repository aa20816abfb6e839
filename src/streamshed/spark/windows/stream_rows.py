"""The rows of a stream on their way into slices: which classes want them, under which key, with which value."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.table.value_kind import Carriage
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.passing import passed_bits
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.columns.summed_rows import SUMS_TYPE
from streamshed.spark.common.group_keys import key_columns
from streamshed.spark.common.internal_names import (
    IS_SUMMED,
    OPENED,
    READ_ROWS,
    SAMPLING_CODES,
    SUMS,
    TAKEN_ROWS,
    TIME,
    UNREADABLE,
)
from streamshed.spark.common.set_apart import CARRIER_CLASS, UNREADABLE_CLASS, unreadable_text
from streamshed.spark.common.unfused import MOST_FUSED, unfused
from streamshed.spark.common.value_kind import CarriedValue, carried, presence, value_kind
from streamshed.spark.operators.straight_line import StraightLine


@dataclass(frozen=True)
class ValueTypes:
    """What Spark found out about the expressions of a stream's queries.

    Attributes:
        types: Type by SQL text.
        presence_only: The aggregated values of which only the presence matters.
    """

    types: Mapping[str, T.DataType]
    presence_only: frozenset[str]


def entry_columns(layout: StateLayout, *, numbers: bool) -> tuple[tuple[str, str], ...]:
    """Name and type of what a row says to one class.

    Args:
        layout: The state layout.
        numbers: Whether a value may be a number that does not follow from `long`.
    """
    columns = [("class_id", "bigint"), ("mask", "bigint"), ("key_long", "bigint"), ("key_text", "string")]
    columns += [("long", "bigint"), *([("number", "double")] * numbers)]
    if layout.decimals:
        columns.append(("decimal", "decimal(38,0)"))
    if layout.texts or layout.collected:
        columns.append(("text", "string"))
    return tuple(columns)


def stream_rows(
    line: StraightLine,
    work: StreamWork,
    values: ValueTypes,
    layout: StateLayout,
    summed: AbstractSet[int] = frozenset(),
) -> DataFrame:
    """Turn the rows of a straight line into what their classes are told.

    Args:
        line: The stream's straight line.
        work: What is to be done.
        values: The types of keys and values.
        layout: The state layout.
        summed: The classes that want no result of a join that `IS_SUMMED`.

    Returns:
        The columns of `HEAD`, and `entry_columns` where the stream has one class, else `entries`,
        an array of such, null for classes that do not want the row.
    """
    fused = work.expression_count <= MOST_FUSED
    rows = line.rows
    if work.classes:
        rows = rows.withColumns(_masks(work, line, summed) | ({} if fused else {TIME: unfused(F.col(TIME))}))
    entries = [_class_entry(values, index, work) for index in range(len(work.classes))]
    first, *others = entries or [_nothing()]
    first = _or_unreadable(first, work)
    schema = entry_columns(layout, numbers=any(_has_numbers(values, one) for one in work.classes))
    if SUMS in rows.columns:
        first = _or_sums(first)
        schema = (*schema, (SUMS, SUMS_TYPE.simpleString()))
        others = [one | {SUMS: F.lit(None)} for one in others]
    if not others:
        return rows.select(*_head(rows, fused=True), *[first[name].cast(kind).alias(name) for name, kind in schema])
    structs = [_wanted_struct(entry, schema) for entry in (first, *others)]
    return rows.select(*_head(rows, fused=fused), F.array(*structs).alias("entries"))


def _head(rows: DataFrame, *, fused: bool) -> list[Column]:
    """What all classes are told, see `HEAD`; and for how many rows those stand that were taken by columns.

    An unreadable row travels in the oldest open slice, as a row does that came late: its time is the epoch, which no
    other row has, so that the mean of all times tells whether there are others. The event time is nullable in Spark's
    eyes, as the filter above the watermark wants it.
    """
    instant = F.coalesce(F.col(TIME), F.when(F.col(UNREADABLE).isNotNull(), F.lit(0)))
    opened = F.col(OPENED)
    return [
        F.timestamp_micros(instant).alias("event_time"),
        (opened if fused else unfused(opened)).alias("open"),
        F.col(SAMPLING_CODES).alias("sampling_codes"),
        *[F.col(name) for name in (TAKEN_ROWS, READ_ROWS) if name in rows.columns],
    ]


def _masks(work: StreamWork, line: StraightLine, summed: AbstractSet[int]) -> dict[str, Column]:
    masks = {}
    for index, sharing_class in enumerate(work.classes):
        mask = _mask(index, sharing_class, line)
        if sharing_class.class_id in summed:
            is_in_sums = F.coalesce(F.col(IS_SUMMED), F.lit(False))
            mask = F.when(is_in_sums, F.lit(0).cast("bigint")).otherwise(mask)
        masks[f"__mask_{index}"] = mask
    return masks


def _mask(index: int, sharing_class: SharingClass, line: StraightLine) -> Column:
    """The bits of the selections that a row passes, and whose rates it passes."""
    bits = [_bit(line.columns(conditions), 1 << bit) for bit, conditions in enumerate(sharing_class.selections)]
    of_readable = passed_bits(functools.reduce(Column.bitwiseOR, bits), index, sharing_class.counting_mask)
    return F.when(F.col(UNREADABLE).isNull(), of_readable).otherwise(F.lit(0).cast("bigint"))


def _bit(conditions: Sequence[Column], value: int) -> Column:
    bit = F.lit(value).cast("bigint")
    if not conditions:
        return bit
    return F.when(functools.reduce(operator.and_, conditions), bit).otherwise(F.lit(0).cast("bigint"))


def _class_entry(values: ValueTypes, index: int, work: StreamWork) -> dict[str, Column]:
    sharing_class = work.classes[index]
    mask, every_bit = F.col(f"__mask_{index}"), (1 << len(sharing_class.selections)) - 1
    # Of most classes all bits have keys; what every row passes is kept short.
    has_keys = (mask if sharing_class.key_mask == every_bit else mask.bitwiseAND(_long(sharing_class.key_mask))) != 0
    keys = [(F.when(has_keys, F.expr(sql)), values.types[sql]) for sql in sharing_class.keys]
    key_long, key_text = key_columns(keys)
    entry = {
        "class_id": F.lit(sharing_class.class_id),
        "mask": mask,
        "key_long": key_long,
        "key_text": key_text,
    }
    return entry | _value(values, sharing_class, mask)


def _long(bits: int) -> Column:
    return F.lit(bits).cast("bigint")


def _has_numbers(values: ValueTypes, sharing_class: SharingClass) -> bool:
    sql = sharing_class.value
    if sql is None or sql in values.presence_only:
        return False
    travels = value_kind(values.types[sql])
    return travels is not None and travels.carriage in {Carriage.DOUBLE, Carriage.DECIMAL}


def _value(values: ValueTypes, sharing_class: SharingClass, mask: Column) -> dict[str, Column]:
    """The value, evaluated only where a query that needs it wants the row."""
    sql = sharing_class.value
    if sql is None:
        return _as_columns(carried(None, None))
    needed = mask.bitwiseAND(_long(sharing_class.value_mask)) != 0
    guarded = F.when(needed, F.expr(sql))
    return _as_columns(presence(guarded) if sql in values.presence_only else carried(guarded, values.types[sql]))


def _as_columns(value: CarriedValue) -> dict[str, Column]:
    return {"number": value.number, "long": value.long, "decimal": value.decimal, "text": value.text}


def _nothing() -> dict[str, Column]:
    nothing = F.lit(None)
    nobody = {
        "class_id": nothing,
        "mask": F.lit(0),
        "key_long": nothing,
        "key_text": nothing,
    }
    return nobody | _as_columns(carried(None, None))


def _or_unreadable(entry: dict[str, Column], work: StreamWork) -> dict[str, Column]:
    """Let the first entry also say what is to become of a row that cannot be read, which no class wants."""
    readable = F.col(UNREADABLE).isNull()
    return entry | {
        "class_id": F.when(readable, entry["class_id"]).otherwise(F.lit(UNREADABLE_CLASS)),
        "mask": F.when(readable, entry["mask"]).otherwise(F.lit(1)),
        "key_long": F.when(readable, entry["key_long"]),
        "key_text": F.when(readable, entry["key_text"]).otherwise(unreadable_text(work.stream)),
    }


def _or_sums(entry: dict[str, Column]) -> dict[str, Column]:
    """Let the first entry also say what results were summed up to, of whichever class they are."""
    sums, named = F.col(SUMS), ("class_id", "mask", "key_long", "key_text")
    columns = {name: F.when(sums.isNotNull(), sums.getField(name)).otherwise(entry[name]) for name in named}
    return entry | columns | {SUMS: F.when(F.coalesce(sums["class_id"] != CARRIER_CLASS, F.lit(True)), sums)}


def _wanted_struct(entry: dict[str, Column], schema: Sequence[tuple[str, str]]) -> Column:
    struct = F.struct(*[entry[name].cast(kind).alias(name) for name, kind in schema])
    return F.when(entry["mask"] != 0, struct)
