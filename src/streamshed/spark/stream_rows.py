"""The straight line of a stream on Spark: source, sampler, parsing, operators, masks; rows ready for their slices."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.sharing.network_work import StreamWork
from streamshed.network.window import Edge
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.slice_grid import SliceGrid
from streamshed.spark.group_keys import key_columns
from streamshed.spark.internal_names import OPEN, SAMPLING_CODES, TIME, UNREADABLE
from streamshed.spark.slice_columns import slice_end, slice_start
from streamshed.spark.unreadable import unreadable_text
from streamshed.spark.value_kind import carried, presence
from streamshed.spark.window_partials import UNREADABLE_CLASS

ROW_COLUMNS = (
    ("close_start", "bigint"),
    ("close_end", "bigint"),
    ("slice_start", "bigint"),
    ("class_id", "bigint"),
    ("mask", "bigint"),
    ("sampling_codes", "string"),
    ("key_long", "bigint"),
    ("key_text", "string"),
    ("counted", "boolean"),
    ("number", "double"),
    ("long", "bigint"),
    ("decimal", "decimal(38,0)"),
    ("text", "string"),
)
"""The columns of a row on its way into a slice: `event_time` comes with them."""


DEFAULT_GRID = SliceGrid((Edge(1_000_000, 0),))
"""Slices of a stream that nobody aggregates: unreadable rows travel in them."""


@dataclass(frozen=True)
class ValueTypes:
    """What Spark found out about the expressions of a stream's queries.

    Attributes:
        types: Type by SQL text.
        presence_only: The aggregated values of which only the presence matters.
    """

    types: Mapping[str, T.DataType]
    presence_only: frozenset[str]


def stream_rows(line: DataFrame, work: StreamWork, values: ValueTypes) -> DataFrame:
    """Turn a stream's readable and unreadable rows into rows for their slices.

    Args:
        line: The stream's straight line, with `TIME`, `UNREADABLE`, `OPEN` and `SAMPLING_CODES`.
        work: What is to be done.
        values: The types of keys and values.

    Returns:
        `event_time` and, where the stream has one class, `ROW_COLUMNS`; else `entries`, an array of such rows.
    """
    if work.classes:
        line = line.withColumns(_masks(work))
    entries = [_class_entry(values, index, sharing_class) for index, sharing_class in enumerate(work.classes)]
    event_time = F.timestamp_micros(F.coalesce(F.col(TIME), F.col(OPEN))).alias("event_time")
    if len(entries) <= 1:
        entry = _with_unreadable(entries[0], work) if entries else _unreadable_entry(work)
        return line.select(event_time, *[entry[name].cast(kind).alias(name) for name, kind in ROW_COLUMNS])
    structs = [_struct(entry) for entry in [*entries, _unreadable_entry(work)]]
    return line.select(event_time, F.array(*structs).alias("entries"))


def exploded(rows: DataFrame) -> DataFrame:
    """Turn rows with `entries` into one row per entry; leave others as they are."""
    if "entries" not in rows.columns:
        return rows
    return rows.select("event_time", F.explode("entries").alias("entry")).select("event_time", "entry.*")


def _masks(work: StreamWork) -> dict[str, Column]:
    return {f"__mask_{index}": _mask(sharing_class) for index, sharing_class in enumerate(work.classes)}


def _mask(sharing_class: SharingClass) -> Column:
    bits = [
        F.when(_all_of(conditions), F.lit(1 << bit)).otherwise(F.lit(0)).cast("bigint")
        for bit, conditions in enumerate(sharing_class.selections)
    ]
    return functools.reduce(Column.bitwiseOR, bits)


def _all_of(conditions: Sequence[str]) -> Column:
    readable = F.col(UNREADABLE).isNull()
    return functools.reduce(operator.and_, [F.col(condition) for condition in conditions], readable)


def _class_entry(values: ValueTypes, index: int, sharing_class: SharingClass) -> dict[str, Column]:
    mask = F.col(f"__mask_{index}")
    wanted = mask != 0
    keys = [(F.when(wanted, F.expr(sql)), values.types[sql]) for sql in sharing_class.keys]
    key_long, key_text = key_columns(keys)
    entry = _placed(sharing_class)
    entry |= {
        "class_id": F.lit(sharing_class.class_id),
        "mask": mask,
        "sampling_codes": F.col(SAMPLING_CODES),
        "key_long": key_long,
        "key_text": key_text,
        "counted": F.lit(True),
    }
    return entry | _value(values, sharing_class, mask)


def _value(values: ValueTypes, sharing_class: SharingClass, mask: Column) -> dict[str, Column]:
    sql = sharing_class.value
    if sql is None:
        value = carried(None, None)
    else:
        needed = mask.bitwiseAND(F.lit(sharing_class.value_mask).cast("bigint")) != 0
        guarded = F.when(needed, F.expr(sql))
        value = presence(guarded) if sql in values.presence_only else carried(guarded, values.types[sql])
    return {"number": value.number, "long": value.long, "decimal": value.decimal, "text": value.text}


def _placed(sharing_class: SharingClass) -> dict[str, Column]:
    """Where a row goes: its own slice, or, when that is closed, the oldest open one, which closes in its stead."""
    opened = slice_start(sharing_class.grid, F.col(OPEN))
    start = slice_start(sharing_class.grid, F.col(TIME))
    close_start = F.greatest(start, opened)
    return {
        "close_start": close_start,
        "close_end": slice_end(sharing_class.grid, close_start),
        "slice_start": start,
    }


def _unreadable_entry(work: StreamWork) -> dict[str, Column]:
    """A row that could not be read travels with the oldest open slice, its text and the reason as its key."""
    grid = work.classes[0].grid if work.classes else DEFAULT_GRID
    opened = slice_start(grid, F.col(OPEN))
    nothing = carried(None, None)
    return {
        "close_start": opened,
        "close_end": slice_end(grid, opened),
        "slice_start": opened,
        "class_id": F.lit(UNREADABLE_CLASS).cast("bigint"),
        "mask": F.when(F.col(UNREADABLE).isNotNull(), F.lit(1)).otherwise(F.lit(0)).cast("bigint"),
        "sampling_codes": F.col(SAMPLING_CODES),
        "key_long": F.lit(None).cast("bigint"),
        "key_text": unreadable_text(work.stream),
        "counted": F.lit(True),
        "number": nothing.number,
        "long": nothing.long,
        "decimal": nothing.decimal,
        "text": nothing.text,
    }


def _with_unreadable(entry: dict[str, Column], work: StreamWork) -> dict[str, Column]:
    """Let one entry serve both, so that a stream of one class needs no array."""
    other = _unreadable_entry(work)
    unreadable = F.col(UNREADABLE).isNotNull()
    return {
        name: column if column is other[name] else F.when(unreadable, other[name]).otherwise(column)
        for name, column in entry.items()
    }


def _struct(entry: dict[str, Column]) -> Column:
    return F.struct(*[entry[name].cast(kind).alias(name) for name, kind in ROW_COLUMNS])
