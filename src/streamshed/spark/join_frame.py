"""The rows of a joined stream as a DataFrame: both sides' own straight lines, packed by label, joined, unpacked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from streamshed.joins.comparable import check_comparable
from streamshed.joins.side import Side
from streamshed.network.join_source import JoinSource
from streamshed.network.network import TimeDomain
from streamshed.network.node import Node
from streamshed.network.query import Query
from streamshed.network.selection import stream_columns_used
from streamshed.network.stream import Stream
from streamshed.sharing.resolution import resolve_stream
from streamshed.spark.carrier import carrier_frame
from streamshed.spark.count_partials import labels_of
from streamshed.spark.internal_names import CARRIER_TIME, TIME
from streamshed.spark.join_operator import BASIC_WINDOWS, JOINED_AT, OUTPUT_DDL, JoinOperator, JoinWork
from streamshed.spark.join_reports import JoinReports
from streamshed.spark.join_rows import PACKED_DDL, join_condition_of, packing, unpacking
from streamshed.spark.join_weight import JoinWeight, join_weight, with_worth
from streamshed.spark.late_processor import LateProcessor
from streamshed.spark.plan_client import PlanClient
from streamshed.spark.plan_columns import with_plan
from streamshed.spark.sampled_rows import Admission, sampled_rows
from streamshed.spark.straight_line import run_instructions

_BOUNDED_LABELS = 16


@dataclass(frozen=True)
class StreamingJoin:
    """What a join needs to stream.

    Attributes:
        client: Asks for the plan of a micro-batch.
        reports: Told what was done.
        partitions: Of state.
        plans: By stream, what a micro-batch is told of it, one row.
    """

    client: PlanClient
    reports: Accumulator[JoinReports]
    partitions: int
    plans: Mapping[str, DataFrame] = field(default_factory=dict)


def with_joined(
    spark: SparkSession,
    domain: TimeDomain,
    sources: Mapping[str, DataFrame],
    queries: Sequence[Query],
    streaming: StreamingJoin | None = None,
) -> list[DataFrame]:
    """Return the rows of all streams of a time domain, in order: those of sources as they are, joined ones as results.

    Args:
        spark: The session.
        domain: The time domain.
        sources: The rows of its sources, by name.
        queries: Of the network.
        streaming: How joins stream; None: all rows are there.

    Raises:
        InvalidNetworkError: As `joined_frame`.
    """
    return [
        sources[one.name]
        if one.joined is None
        else joined_frame(spark, one, sources, _columns_asked(one, queries), streaming)
        for one in domain.streams
    ]


def joined_frame(
    spark: SparkSession,
    joined: Stream,
    sources: Mapping[str, DataFrame],
    asked: AbstractSet[str],
    streaming: StreamingJoin | None = None,
) -> DataFrame:
    """Return the results of a join, with the columns of the joined stream; those that nobody asks for are null.

    The windows of the join keep all columns of its sides: queries that come later may ask for others.

    Every row of both sides is joined: what queries over them sample has no effect here. Rows go in pieces of many by
    labels, one per partition of state; those of joins that are not by equality, to one.

    Args:
        spark: The session.
        joined: A joined stream.
        sources: The rows of the streams that it joins, by their names.
        asked: The columns of results that anybody asks for.
        streaming: How it streams; None: all rows are there, as in batch mode.

    Raises:
        InvalidNetworkError: What is compared cannot be.
    """
    join = joined.source
    if not isinstance(join, JoinSource):
        raise TypeError(f'"{joined.name}" is no joined stream')
    lines = {side: _side_rows(node, sources[node.stream.name], prefix) for side, node, prefix in _sides(join)}
    weight = None if streaming is None else join_weight(join)
    weighed = {side: with_worth(rows, weight, side) for side, rows in lines.items()}
    work = _work(joined.name, join, lines, asked, weighed, weight)
    condition = join_condition_of(join)
    check_comparable(condition, work.sides[Side.LEFT], work.sides[Side.RIGHT])
    labels = list(range(_BOUNDED_LABELS)) if streaming is None else labels_of(spark, streaming.partitions)
    packed: list[DataFrame] = []
    for side, node, _ in _sides(join):
        rows = weighed[side] if streaming is None else _watermarked(spark, weighed[side], node.stream, streaming)
        packed.append(rows.drop("event_time").mapInArrow(packing(condition, side, labels), PACKED_DDL))
    by_label = packed[0].unionByName(packed[1]).groupBy("label")
    if streaming is None:
        found = by_label.applyInArrow(work.all_at_once(), "rows binary")
    else:
        found = by_label.transformWithStateInPandas(
            LateProcessor(JoinOperator(work, streaming.client, streaming.reports), [BASIC_WINDOWS]),
            OUTPUT_DDL,
            "append",
            "EventTime",
            eventTimeColumnName=JOINED_AT,
        )
    told = _result_type(join, lines)
    rows = found.mapInArrow(
        unpacking(work.schema), T.StructType([one for one in told if one.name in work.schema.names])
    )
    return rows.select(
        *[
            F.col(f"`{one.name}`") if one.name in rows.columns else F.lit(None).cast(one.dataType).alias(one.name)
            for one in told
        ]
    )


def _columns_asked(joined: Stream, queries: Sequence[Query]) -> frozenset[str]:
    asked = {name for query in queries if query.stream == joined for name in stream_columns_used(query.node)}
    return frozenset({joined.time, *asked})


def _sides(join: JoinSource) -> Sequence[tuple[Side, Node, str]]:
    return list(zip(Side, (join.left, join.right), join.prefixes, strict=True))


def _side_rows(node: Node, source: DataFrame, prefix: str) -> DataFrame:
    """The rows of a side: `event_time`, `TIME`, and its columns under the names that results have."""
    program = resolve_stream(node.stream, [node])
    line = run_instructions(
        sampled_rows(source, node.stream, Admission()), program.instructions, frozenset(), fused=True
    )
    place = program.places[node]
    columns = [F.col(f"`{place.columns[name]}`").alias(prefix + name) for name in node.columns]
    wanted = line.rows.where(line.pass_all(place.conditions))
    return wanted.select(F.timestamp_micros(TIME).alias("event_time"), F.col(TIME), *columns)


def _work(
    name: str,
    join: JoinSource,
    lines: Mapping[Side, DataFrame],
    asked: AbstractSet[str],
    weighed: Mapping[Side, DataFrame],
    weight: JoinWeight | None,
) -> JoinWork:
    sides = {
        side: to_arrow_schema(_nullable(rows.drop("event_time").schema), timezone="UTC")
        for side, rows in weighed.items()
    }
    lower = {one.lower() for one in asked}
    told = T.StructType([one for one in _result_type(join, lines) if one.name.lower() in lower])
    return JoinWork(name, join.for_tasks(), sides, to_arrow_schema(told, timezone="UTC"), weight)


def _result_type(join: JoinSource, lines: Mapping[Side, DataFrame]) -> T.StructType:
    of_sides = (f for rows in lines.values() for f in rows.drop("event_time", TIME).schema.fields)
    return _nullable(T.StructType([T.StructField(join.time, T.TimestampType()), *of_sides]))


def _nullable(schema: T.StructType) -> T.StructType:
    return T.StructType([T.StructField(one.name, one.dataType, nullable=True) for one in schema.fields])


def _watermarked(spark: SparkSession, rows: DataFrame, stream: Stream, streaming: StreamingJoin) -> DataFrame:
    """A side's rows and its stream's carrier, which has no time of its own and goes to every label."""
    carrier = with_plan(carrier_frame(spark), streaming.plans[stream.name], (CARRIER_TIME,))
    told = carrier.where(F.col(CARRIER_TIME).isNotNull())
    shown = {"event_time": F.timestamp_micros(CARRIER_TIME)}
    carried = told.select(
        *[shown.get(one.name, F.lit(None)).cast(one.dataType).alias(one.name) for one in rows.schema.fields]
    )
    return rows.unionByName(carried).withWatermark("event_time", f"{stream.watermark_microseconds} microseconds")
