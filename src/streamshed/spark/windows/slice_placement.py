"""Which slice a row goes into, and when that slice closes; the reference is `SliceGrid`, in microseconds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamshed.network.terms.window import Edge
from streamshed.sharing.gating import Gating
from streamshed.sharing.sharing_class import SharingClass
from streamshed.sharing.slice_grid import SliceGrid
from streamshed.spark.admit.passing import class_codes, cohort_of_block, stream_codes
from streamshed.spark.common.internal_names import READ_ROWS, TAKEN_ROWS
from streamshed.spark.common.set_apart import CARRIER_CLASS

HEAD = ("event_time", "open", "sampling_codes")
"""What a row says to all classes: its time, an instant in the oldest open slice (a carrier's: in the slice that it goes
into), and the codes of all rates of its stream."""

DEFAULT_GRID = SliceGrid((Edge(1_000_000, 0),))
"""Slices of a stream that nobody aggregates: what is set apart travels in them."""


def placed(
    rows: DataFrame,
    classes: Sequence[SharingClass],
    gating: Gating,
    *,
    with_instants: bool = False,
    of_pairs: bool = False,
    in_blocks: bool = False,
    delay: int = 0,
) -> DataFrame:
    """Give each entry of watermarked rows its slice.

    A row goes into its own slice; when that is closed, it travels with the oldest open one, which closes in its
    stead, and keeps the start of its own. What is set apart closes at the next edge of any class.

    Args:
        rows: What `stream_rows` returns.
        classes: The stream's.
        gating: Which of the codes are whose.
        with_instants: Whether the times of rows are asked for.
        of_pairs: Whether each row tells its own rate: it is a result of a join that is sampled.
        in_blocks: Whether the codes of a row may be followed by the cohort of its block.
        delay: So much later than the watermark passes their times rows have come, microseconds.

    Returns:
        The entry's columns with `close_end`, `slice_start`, `sampling_codes` (its class's), `counted`, `number`
        and perhaps `instant`, microseconds, and `cohort`.
    """
    entries = _exploded(rows)
    opened = (
        F.col("open") if has_one_grid(classes) else _by_grid(classes, lambda grid: slice_start(grid, F.col("open")))
    )
    is_carrier = F.col("class_id") == CARRIER_CLASS
    based = entries.withColumn("base", F.when(is_carrier, F.col("open")).otherwise(F.unix_micros("event_time")))
    started = based.withColumn("slice_start", _by_grid(classes, lambda grid: slice_start(grid, F.col("base"))))
    closing = started.withColumn("close_start", F.greatest(F.col("slice_start"), opened))
    number = F.col("number" if "number" in entries.columns else "long").cast("double")
    ends = _by_grid(classes, lambda grid: end_of_slice(grid, F.col("close_start")))
    codes = F.col("sampling_codes") if of_pairs else _codes_of_class(classes, gating)
    return closing.select(
        (ends + delay if delay else ends).alias("close_end"),
        "slice_start",
        codes.alias("sampling_codes"),
        F.when(~is_carrier, F.lit(True)).alias("counted"),
        number.alias("number"),
        *([F.unix_micros("event_time").alias("instant")] if with_instants else []),
        *([cohort_of_block(gating).alias("cohort")] if in_blocks else []),
        *[name for name in entries.columns if name not in {*HEAD, "number"}],
    )


def _codes_of_class(classes: Sequence[SharingClass], gating: Gating) -> Column:
    """The codes of the rates of the entry's class; of a row that could not be read, that of its stream."""
    codes = stream_codes()
    for index, sharing_class in enumerate(classes):
        codes = F.when(F.col("class_id") == sharing_class.class_id, class_codes(gating, index)).otherwise(codes)
    return F.when(F.col("sampling_codes").isNotNull(), codes)


def has_one_grid(classes: Sequence[SharingClass]) -> bool:
    """Whether all classes of a stream have the same slices: then the oldest open one starts alike for all its rows."""
    return all(sharing_class.grid == common_grid(classes) for sharing_class in classes)


def _exploded(all_rows: DataFrame) -> DataFrame:
    """One row per entry that a class wants.

    The filter reads event time: else Spark would push it below the watermark, which would then see only some rows.
    The outer form of explode, as there is always an entry: of the inner one Spark infers a filter on the array, which
    it pushes to the source, where it computes all entries once more.
    """
    rows = all_rows.drop(TAKEN_ROWS, READ_ROWS)
    if "entries" not in rows.columns:
        return rows.where((F.col("mask") != 0) == F.col("event_time").isNotNull())
    exploded = rows.select(*HEAD, F.explode_outer("entries").alias("entry"))
    wanted = exploded.where(F.col("entry").isNotNull() == F.col("event_time").isNotNull())
    return wanted.select(*HEAD, "entry.*")


def _by_grid(classes: Sequence[SharingClass], expression: Callable[[SliceGrid], Column]) -> Column:
    """An expression over the grid of the entry's class; the common grid for what is set apart."""
    common = common_grid(classes)
    class_ids_of_grid: dict[SliceGrid, list[int]] = {}
    for sharing_class in classes:
        if sharing_class.grid != common:
            class_ids_of_grid.setdefault(sharing_class.grid, []).append(sharing_class.class_id)
    value = expression(common)
    for grid, class_ids in class_ids_of_grid.items():
        value = F.when(F.col("class_id").isin(class_ids), expression(grid)).otherwise(value)
    return value


def common_grid(classes: Sequence[SharingClass]) -> SliceGrid:
    """The slices that serve every class of a stream."""
    grids = [sharing_class.grid for sharing_class in classes]
    return functools.reduce(SliceGrid.merged, grids) if grids else DEFAULT_GRID


def slice_start(grid: SliceGrid, time: Column) -> Column:
    """Start of the slice that contains an instant."""
    return time - _least([_since(edge.period_microseconds, edge.phase_microseconds, time) for edge in grid.edges])


def slice_end(grid: SliceGrid, time: Column) -> Column:
    """End of the slice that contains an instant."""
    remaining = [
        F.lit(edge.period_microseconds) - _since(edge.period_microseconds, edge.phase_microseconds, time)
        for edge in grid.edges
    ]
    return time + _least(remaining)


def end_of_slice(grid: SliceGrid, start: Column) -> Column:
    """End of the slice that starts at an instant; cheaper than `slice_end` where slices are all alike."""
    if len(grid.edges) == 1:
        return start + F.lit(grid.edges[0].period_microseconds)
    return slice_end(grid, start)


def _since(period: int, phase: int, time: Column) -> Column:
    return F.pmod(time - F.lit(phase), F.lit(period))


def _least(columns: list[Column]) -> Column:
    return columns[0] if len(columns) == 1 else F.least(*columns)
