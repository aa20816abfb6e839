"""The carrier: one row per micro-batch that moves the watermark of a stream and carries what has no row of its own."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.sharing.network_work import StreamWork
from streamshed.sharing.sharing_class import SharingClass
from streamshed.spark.internal_names import OPEN
from streamshed.spark.slice_columns import slice_end, slice_start
from streamshed.spark.stream_rows import ROW_COLUMNS

CARRIER_FROM = "__carrier_from"
CARRIER_UNTIL = "__carrier_until"
CARRIER_TIME = "__carrier_time"

_MOST_SLICES = 100_000
"""A jump of event time over more slices than this leaves the oldest of them without empty answers."""


def carrier_frame(spark: SparkSession) -> DataFrame:
    """Return a stream of one row per micro-batch, which makes every trigger a micro-batch, input or not."""
    reader = spark.readStream.format("rate-micro-batch")
    return reader.option("rowsPerBatch", 1).option("numPartitions", 1).load()


def carrier_rows(carrier: DataFrame, plan: DataFrame, work: StreamWork) -> DataFrame:
    """Return the carrier's rows for one stream, shaped as `stream_rows` of the same work.

    Its event time is the latest known of the stream (or, when the stream is silent, how far the others are): so it
    never runs ahead of what arrived. It brings one row that counts nothing into every slice of an ungrouped class
    since its last: a window without any row gets its answer, too.

    Args:
        carrier: What `carrier_frame` returned.
        plan: One row with `OPEN`, `CARRIER_TIME`, `CARRIER_FROM` and `CARRIER_UNTIL` (microseconds, null: not known).
        work: The stream's.
    """
    row = carrier.crossJoin(F.broadcast(plan))
    time = F.coalesce(F.col(CARRIER_TIME), F.lit(0))
    event_time = F.timestamp_micros(F.when(F.col("value") >= 0, time)).alias("event_time")
    entries = F.concat(F.array(_mere_time()), *[_empty_slices(c) for c in work.classes if not c.keys])
    if len(work.classes) <= 1:
        exploded = row.select(event_time, F.explode(entries).alias("entry"))
        return exploded.select("event_time", "entry.*")
    return row.select(event_time, entries.alias("entries"))


def _mere_time() -> Column:
    return _entry({"mask": F.lit(0)})


def _empty_slices(sharing_class: SharingClass) -> Column:
    """One entry, on all masks, per slice from the carrier's last time to its present one."""
    grid = sharing_class.grid
    first, last = F.col(CARRIER_FROM), F.col(CARRIER_UNTIL)
    edges = [
        F.sequence(
            F.greatest(first - F.pmod(first - edge.phase_microseconds, F.lit(edge.period_microseconds)),
                       last - F.lit(_MOST_SLICES * edge.period_microseconds)),
            last,
            F.lit(edge.period_microseconds),
        )
        for edge in grid.edges
    ]
    starts = F.array_distinct(F.transform(F.concat(*edges), lambda instant: slice_start(grid, instant)))
    all_bits = (1 << len(sharing_class.selections)) - 1

    def entry(start: Column) -> Column:
        close_start = F.greatest(start, slice_start(grid, F.col(OPEN)))
        return _entry(
            {
                "close_start": close_start,
                "close_end": slice_end(grid, close_start),
                "slice_start": start,
                "class_id": F.lit(sharing_class.class_id),
                "mask": F.lit(all_bits),
            }
        )

    known = first.isNotNull() & last.isNotNull()
    return F.when(known, F.transform(starts, entry)).otherwise(F.array().cast(_ENTRIES))


def _entry(values: dict[str, Column]) -> Column:
    nothing = F.lit(None)
    return F.struct(*[values.get(name, nothing).cast(kind).alias(name) for name, kind in ROW_COLUMNS])


_ENTRIES = f"array<struct<{', '.join(f'{name}: {kind}' for name, kind in ROW_COLUMNS)}>>"
