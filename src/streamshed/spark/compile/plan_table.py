"""The plan table: one row, which a task asks the driver for in every micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from streamshed.joins.model.side import SideOf
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.sharing.gating import Gating, gates
from streamshed.sharing.slice_grid import SliceGrid
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.retained_rows import RetainedRows, retained_rows
from streamshed.spark.common.far_ahead import microseconds_of
from streamshed.spark.common.internal_names import (
    BY_LEVEL,
    CARRIER_FROM,
    CARRIER_OPENED,
    CARRIER_TIME,
    CARRIER_UNTIL,
    CODES_BY_SIZE,
    DRAW_CODE,
    FIRST_LEVEL,
    LARGEST_SIZE,
    NOW,
    OPEN,
    OPENED,
    RATES_BY_SIZE,
    RETAINED,
    RETAINED_BASE,
    RETAINED_RATES,
    RETAINED_STEP,
    RETAINED_WORDS,
    SAMPLING_CODES,
    SAMPLING_RATE,
    SIZE_COLUMN,
    SIZE_THRESHOLD,
    TOPIC_SPANS,
)
from streamshed.spark.common.one_partition import one_partition
from streamshed.spark.joins.side_drops import SideDrops, SideWork
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import PlanRow, StreamPlan
from streamshed.spark.windows.slice_placement import common_grid, has_one_grid

PLAN_SCHEMA = (
    f"{OPEN} bigint, {SAMPLING_RATE} double, {FIRST_LEVEL} int, {SAMPLING_CODES} string,"
    f" {CARRIER_FROM} bigint, {CARRIER_UNTIL} bigint, {CARRIER_TIME} bigint,"
    f" {BY_LEVEL} array<array<array<bigint>>>, {SIZE_COLUMN} string, {SIZE_THRESHOLD} double, {LARGEST_SIZE} int,"
    f" {RATES_BY_SIZE} array<double>, {CODES_BY_SIZE} array<string>,"
    f" {RETAINED} struct<{RETAINED_BASE}:bigint,{RETAINED_STEP}:bigint,{RETAINED_WORDS}:array<array<bigint>>,"
    f"{RETAINED_RATES}:array<double>>, {DRAW_CODE} int"
)
"""What a stream is told in a micro-batch."""
_OF_DOMAIN = f"{OPENED} bigint, {CARRIER_OPENED} bigint, {NOW} bigint, {TOPIC_SPANS} array<string>"
"""What it is told besides, by `StreamFacts.values`."""
_PLAN_NAMES = [one.split()[0] for one in PLAN_SCHEMA.split(", ")]


@dataclass(frozen=True)
class StreamFacts:
    """What a task has to know of a stream to tell it its plan; made by `stream_facts`."""

    name: str
    gating: Gating
    grid: SliceGrid
    has_one_grid: bool
    delay: int
    is_side: bool
    side_drops: SideDrops | None = None

    def values(self, row: PlanRow) -> dict[str, object]:
        """The plan of the stream, with the slices that its instants lie in."""
        plan, drops, opened = row.streams[self.name], row.drops, row.open - self.delay
        if self.is_side:
            plan, drops = (
                plan.all_of_it,
                NOTHING_DROPPED if self.side_drops is None else self.side_drops.spared_rows(drops),
            )
        values = plan_values(plan, opened, self.gating, drops)
        carried = opened if plan.carrier_from is None else max(opened, plan.carrier_from)
        return {
            **dict(zip(_PLAN_NAMES, values, strict=True)),
            OPENED: self.grid.slice_of(opened)[0] if self.has_one_grid else opened,
            CARRIER_OPENED: self.grid.slice_of(carried)[0],
            NOW: microseconds_of(row.decided_at_seconds) if row.decided_at_seconds else None,
            TOPIC_SPANS: [span.place for span in row.topics.get(self.name, ())],
        }


def stream_facts(work: StreamWork, *, is_side: bool = False, side_drops: SideDrops | None = None) -> StreamFacts:
    """Return what a task has to know.

    Args:
        work: What is done with the rows of a stream.
        is_side: Whether that is for a side of a join: then nothing is sampled.
        side_drops: What of the side may be dropped; None: nothing may be.
    """
    return StreamFacts(
        name=work.stream.name,
        gating=work.gating,
        grid=common_grid(work.classes),
        has_one_grid=has_one_grid(work.classes),
        delay=delay_of_stream(work.stream),
        is_side=is_side,
        side_drops=side_drops,
    )


@dataclass(frozen=True)
class PlanTable:
    """What is told in a micro-batch.

    Attributes:
        streams: To streams, by name.
        sides: To streams where answers of windows over them are joined, or windows over what they join are dropped: of
            what they were told all but what is sampled.
    """

    streams: Mapping[str, Plan]
    sides: Mapping[SideOf, Plan]


def plan_table(
    spark: SparkSession,
    client: PlanClient,
    works: Mapping[str, StreamWork],
    sides: Mapping[SideOf, SideWork] = MappingProxyType({}),
) -> PlanTable:
    """Return the plans of streams in each micro-batch: one row for all of them, asked for once.

    Args:
        spark: The session.
        client: Asks the driver for plans.
        works: What the streams of a time domain contribute to the network, by name.
        sides: The work on their rows for sides of joins, and what of it may be dropped.
    """
    parts = {f"stream_{number}_": stream_facts(work) for number, work in enumerate(works.values())}
    of_sides = {
        f"side_{number}_": stream_facts(side.work, is_side=True, side_drops=side.drops)
        for number, side in enumerate(sides.values())
    }
    parts |= of_sides

    def plan_rows(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        row = client.current()
        values = {f"{prefix}{name}": value for prefix, one in parts.items() for name, value in one.values(row).items()}
        yield pa.RecordBatch.from_pylist([values], schema)

    kinds = cast(T.StructType, T.DataType.fromDDL(f"{PLAN_SCHEMA}, {_OF_DOMAIN}"))
    columns = [f"{prefix}{one.name} {one.dataType.simpleString()}" for prefix in parts for one in kinds]
    row = one_partition(spark, plan_rows, ", ".join(columns))
    return PlanTable(
        {one.name: Plan(row, prefix) for prefix, one in parts.items() if not one.is_side},
        {of: Plan(row, prefix) for of, prefix in zip(sides, of_sides, strict=True)},
    )


def plan_values(
    plan: StreamPlan,
    opened: int,
    gating: Gating,
    drops: WindowDrops = NOTHING_DROPPED,
    *,
    place: Callable[[RetainedRows | None, Gating], RetainedRows | None] | None = None,
) -> tuple[object, ...]:
    """Return a row of `PLAN_SCHEMA`.

    Args:
        plan: What the stream is told.
        opened: The watermark of the micro-batch before, microseconds.
        gating: Where the stream's intakes are.
        drops: Which windows are dropped.
        place: Changes what is done with rows of dropped windows; None: it ends directly behind the source.
    """
    sized = plan.sized_intakes(gating)
    codes = plan.codes(gating)
    stream_gates = gates(gating, codes, sized)
    retained = retained_rows(gating, codes, drops, by_rate=not sized)
    retained = retained if place is None else place(retained, gating)
    by_size = plan.sized if sized else None
    return (
        opened,
        plan.sampling_rate,
        stream_gates.streams[0] if by_size is None else WHOLE,
        None if stream_gates.codes is None else stream_gates.codes[0],
        plan.carrier_from,
        plan.carrier_until,
        plan.carrier_time,
        None
        if stream_gates.passes is None
        else [[list(words) for words in of_size] for of_size in stream_gates.passes],
        None if by_size is None else by_size.column,
        None if by_size is None else by_size.threshold,
        len(stream_gates.streams) - 1,
        [sampling_rate_of(code) for code in stream_gates.streams],
        None if by_size is None or stream_gates.codes is None else list(stream_gates.codes),
        None if retained is None else _retained_values(retained),
        WHOLE if plan.join is None else plan.join.sampling_code,
    )


def _retained_values(retained: RetainedRows) -> dict[str, object]:
    return {
        RETAINED_BASE: retained.base,
        RETAINED_STEP: retained.step,
        RETAINED_WORDS: [list(words) for words in retained.words],
        RETAINED_RATES: list(retained.rates),
    }
