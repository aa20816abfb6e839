"""Windows of so many rows over bounded input, in plain Spark: rows numbered by a window function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from streamshed.answering.count_windows.count_figures import VALUES_KEPT, CountSeries
from streamshed.answering.table.answer_schema import ANSWER
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.spark.common.state_key import state_key_columns
from streamshed.spark.count_windows.count_rows import count_entries, count_series
from streamshed.spark.windows.compiled_stream import CompiledStream
from streamshed.spark.windows.merged_partials import merged_partials, partials_of_a_value
from streamshed.spark.windows.window_partials import WINDOW_KEY

_GROUP = ("definition_id", "slot", "key_long", "key_text")


def bounded_count_partials(streams: Sequence[CompiledStream], schema: T.StructType) -> DataFrame:
    """Return the partials of all windows of so many rows.

    Windows at both ends of a group are among them, though they are not full.

    Args:
        streams: Those of the time domain.
        schema: Of window partials.
    """
    entries = [
        count_entries(stream).select(F.explode("entries").alias("entry")).where("entry is not null").select("entry.*")
        for stream in streams
    ]
    series = [one for stream in streams for one in count_series(stream)]
    in_order = Window.partitionBy(*_GROUP).orderBy("time", "tie")
    rows = functools.reduce(DataFrame.unionByName, entries)
    numbered = rows.withColumn("row", F.row_number().over(in_order).cast("bigint") - 1)
    return _merged(_copied(numbered, series), series, schema)


def _copied(rows: DataFrame, series: Sequence[CountSeries]) -> DataFrame:
    """Each row once per window that holds it."""
    size = _of_query(series, lambda one: F.lit(one.windows.size).cast("bigint"))
    slide = _of_query(series, lambda one: F.lit(one.windows.slide).cast("bigint"))
    since = F.pmod(F.col("row"), F.col("slide"))
    last = F.col("row") - since
    room = F.col("size") - 1 - since
    first = last - (room - F.pmod(room, F.col("slide")))
    starts = F.sequence(first, last, F.col("slide"))
    return rows.withColumns({"size": size, "slide": slide}).withColumn("start", F.explode(starts))


def _merged(rows: DataFrame, series: Sequence[CountSeries], schema: T.StructType) -> DataFrame:
    collected = _of_query(series, lambda one: F.lit(one.is_collected))
    sketched = _of_query(series, lambda one: F.lit(one.is_sketched))
    value = F.struct("number", "long", "decimal", "text", F.when(collected, F.col("row")).alias("instant"))
    start = F.col("start") * MICROSECONDS_PER_NUMBER
    valued = rows.withColumn("value", value)
    of_value = partials_of_a_value("value", schema)
    names = [name for name in schema.names if name not in WINDOW_KEY]
    value_rows = valued.select(
        F.timestamp_micros(start + F.col("size") * MICROSECONDS_PER_NUMBER).alias("closes"),
        start.alias("window_start"),
        F.lit(ANSWER).alias("kind"),
        *[F.col(name).cast(schema[name].dataType).alias(name) for name in _GROUP],
        *[of_value.get(name, F.lit(None)).cast(schema[name].dataType).alias(name) for name in names],
        F.when(sketched, F.col("number")).alias("value_number"),
        F.lit(None).cast("bigint").alias("value_long"),
    )
    aggregates = dict(zip(names, merged_partials([schema[name] for name in names]), strict=True))
    if "sketch" in aggregates:
        aggregates["sketch"] = F.kll_sketch_agg_double("value_number", VALUES_KEPT).alias("sketch")
    return (
        value_rows.groupBy(*WINDOW_KEY).agg(*aggregates.values()).withColumns(state_key_columns()).select(*schema.names)
    )


def _of_query(series: Sequence[CountSeries], what: Callable[[CountSeries], Column]) -> Column:
    """A column by the value of the query that a row is of."""
    column = F.lit(None)
    for query_series in series:
        is_of_query = (F.col("definition_id") == query_series.definition_id) & (F.col("slot") == query_series.slot)
        column = F.when(is_of_query, what(query_series)).otherwise(column)
    return column
