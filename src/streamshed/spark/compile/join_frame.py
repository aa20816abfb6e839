"""The rows of a joined stream as a DataFrame: both sides' own straight lines, packed by label, joined, unpacked.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.accumulators import Accumulator
from pyspark.sql import Column, DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from streamshed.errors import InvalidNetworkError
from streamshed.joins.match.drawn import DRAWN
from streamshed.joins.model.comparable import check_comparable
from streamshed.joins.model.conditions import Condition, Equality
from streamshed.joins.model.side import Side, SideOf
from streamshed.network.model.answer_side import side_aggregates
from streamshed.network.model.join import join_for_tasks
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.node import Node
from streamshed.network.model.query import Query
from streamshed.network.model.row_selection import stream_columns_used
from streamshed.network.model.stream import Stream
from streamshed.network.sql.expression import quoted
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.sharing.resolution import resolve_stream
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.columns.summed_rows import SUMS_TYPE
from streamshed.spark.common.collation import collation_problems
from streamshed.spark.common.in_arrow import in_arrow
from streamshed.spark.common.internal_names import (
    CARRIER_TIME,
    EVENT_TIME,
    IDENTITY,
    IS_SUMMED,
    PAIR_CODES,
    SUMS,
    TIME,
)
from streamshed.spark.common.late_processor import LateProcessor
from streamshed.spark.compile.side_answers import side_answers
from streamshed.spark.count_windows.count_partials import labels_of
from streamshed.spark.joins.join_drawing import drawn_rows, draws_by_chance, sampled_side_of
from streamshed.spark.joins.join_operator import BASIC_WINDOWS, JOINED_AT, OUTPUT_DDL, JoinOperator
from streamshed.spark.joins.join_reports import JoinReports
from streamshed.spark.joins.join_rows import PACKED_DDL, fragments_of, join_condition_of, packing
from streamshed.spark.joins.join_sums import join_sums
from streamshed.spark.joins.join_unpacking import unpacking
from streamshed.spark.joins.join_weight import JoinWeight, join_weight, with_worth
from streamshed.spark.joins.join_work import NO_SUMS, PIECE_DDL, JoinSums, JoinWork
from streamshed.spark.operators.straight_line import run_instructions
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.plan.plan_columns import Plan, with_plan
from streamshed.spark.source.carrier import carrier_frame
from streamshed.spark.source.domain_rows import DomainRows

_BOUNDED_LABELS = 16


@dataclass(frozen=True)
class StreamingJoin:
    """What a join needs to stream.

    Attributes:
        client: Asks for the plan of a micro-batch.
        reports: Told what was done.
        partitions: Of state.
        plans: By stream, what a micro-batch is told of it.
        sides: How rows are admitted of sides that are told a plan, see `side_works`; of others, all are.
    """

    client: PlanClient
    reports: Accumulator[JoinReports]
    partitions: int
    plans: Mapping[str, Plan] = field(default_factory=dict)
    sides: Mapping[SideOf, Admission] = field(default_factory=dict)


def with_joined(
    spark: SparkSession,
    domain: TimeDomain,
    sources: Mapping[str, DataFrame],
    network: QueryNetwork,
    streaming: StreamingJoin | None = None,
    *,
    again: bool = False,
) -> DomainRows:
    """Return the rows of all streams of a time domain.

    Args:
        spark: The session.
        domain: The time domain.
        sources: The rows of its sources, by name.
        network: The queries over them.
        streaming: How joins stream; None: all rows are there.
        again: Whether a second copy of joins of answers is wanted, for set-valued queries.

    Raises:
        InvalidNetworkError: As `joined_frame`.
    """
    frames, summed, once_more = [], {}, {}
    for stream in domain.streams:
        if stream.joined is None:
            frames.append(sources[stream.name])
            continue
        needed_columns = _columns_asked(stream, network.queries)
        frame, summed[stream.name] = joined_frame(spark, stream, sources, needed_columns, network, streaming)
        frames.append(frame)
        if again and delay_of_stream(stream):
            once_more[stream.name], _ = joined_frame(spark, stream, sources, needed_columns, network, streaming)
    return DomainRows(frames, summed, once_more)


def joined_frame(
    spark: SparkSession,
    joined: Stream,
    sources: Mapping[str, DataFrame],
    needed_columns: AbstractSet[str],
    network: QueryNetwork,
    streaming: StreamingJoin | None = None,
) -> tuple[DataFrame, frozenset[int]]:
    """Return the results of a join, and the sharing classes whose results may be summed up already.

    Results have the columns of the joined stream; columns that no query uses are null. The windows of the join keep
    all columns of its sides, as queries that come later may use others.

    What can be is summed up where results are found, see `join_sums`: then there are rows among them with what many
    results sum up to, `SUMS`, and `IS_SUMMED` tells of results that are in there. Those that nothing else needs do not
    come. Sums are made only while nobody takes a sample, and of rows that say what they need: not of those that were
    stored for other queries.

    Every row of both sides is joined, but those of a join that is sampled that were not drawn, and those that only
    windows over results need that are dropped: what queries over them sample has no effect here. So is every answer of
    windows, which come when these close (`side_answers`), and for which the join stays behind the watermark
    (`delay_of_stream`). Rows go in pieces of many by labels, one per
    partition of state; those of equal keys to one, those of joins without keys to all where fragments of theirs meet
    one of the other side.

    Args:
        spark: The session.
        joined: A joined stream.
        sources: The rows of the streams that it joins, by their names.
        needed_columns: The columns of results that queries use.
        network: The queries over them.
        streaming: How it streams; None: all rows are there, as in batch mode.

    Raises:
        InvalidNetworkError: What is compared cannot be.
    """
    join = joined.source
    if not isinstance(join, JoinSource):
        raise TypeError(f'"{joined.name}" is no joined stream')
    sampled = None if streaming is None else sampled_side_of(join)
    side_rows = {
        side: _side_rows(spark, join, SideOf(joined.name, side), sources, streaming, is_drawn=side is sampled)
        for side in Side
    }
    sums, summed = _summed(joined, side_rows, network)
    result_type = _result_type(join, side_rows)
    weight = None if streaming is None else join_weight(join)
    lines = {side: with_worth(rows, weight, side) for side, rows in summed.items()}
    condition = join_condition_of(join)
    labels = _labels(spark, condition, streaming)
    fragments = fragments_of(join, len(labels))
    work = replace(_work(joined, join, lines, result_type, needed_columns, sums, weight, sampled), fragments=fragments)
    _refuse_collations(joined.name, join, side_rows)
    check_comparable(condition, work.sides[Side.LEFT], work.sides[Side.RIGHT])
    if not isinstance(condition, Equality):
        labels = labels[: fragments.partitions]
        lines = {side: _told_apart(rows) for side, rows in lines.items()}
    packed: list[DataFrame] = []
    for side, node, _ in _sides(join):
        draws = side is sampled and draws_by_chance(join)
        rows = lines[side] if streaming is None else _with_carrier(spark, lines[side], node, streaming, draws=draws)
        packed.append(in_arrow(rows.drop(EVENT_TIME), packing(condition, side, labels, fragments), PACKED_DDL))
    by_label = packed[0].unionByName(packed[1]).groupBy("label")
    return _unpacked(_packed_results(by_label, work, streaming), work, result_type), sums.class_ids


def _packed_results(by_label: GroupedData, work: JoinWork, streaming: StreamingJoin | None) -> DataFrame:
    if streaming is None:
        return by_label.applyInArrow(work.all_at_once(), PIECE_DDL)
    return by_label.transformWithStateInPandas(
        LateProcessor(JoinOperator(work, streaming.client, streaming.reports), [BASIC_WINDOWS]),
        OUTPUT_DDL,
        "append",
        "EventTime",
        eventTimeColumnName=JOINED_AT,
    )


def _refuse_collations(name: str, join: JoinSource, side_rows: Mapping[Side, DataFrame]) -> None:
    compared: dict[tuple[str, str], T.DataType] = {}
    for (side, _, prefix), columns in zip(_sides(join), (join.condition.left, join.condition.right), strict=True):
        kinds = {field.name: field.dataType for field in side_rows[side].schema.fields}
        compared |= {
            (f'stream "{name}" joins on', f"{prefix}{column}"): kinds[f"{prefix}{column}"] for column in columns
        }
    if problems := collation_problems(compared):
        raise InvalidNetworkError(*problems)


def _labels(spark: SparkSession, condition: Condition, streaming: StreamingJoin | None) -> list[int]:
    """One per partition; without keys no more than there are cores, as rows go to several."""
    if streaming is not None:
        return labels_of(spark, streaming.partitions)
    cores = spark.sparkContext.defaultParallelism
    return list(range(_BOUNDED_LABELS if isinstance(condition, Equality) else min(_BOUNDED_LABELS, cores)))


def _told_apart(rows: DataFrame) -> DataFrame:
    """Rows and a hash of what is in them, as far as Spark can hash it."""
    columns: list[Column] = []
    for struct_field in rows.drop(DRAWN).schema:
        column, parts = F.col(quoted(struct_field.name)), [struct_field.dataType]
        if isinstance(struct_field.dataType, T.MapType):
            column, parts = F.map_entries(column), [struct_field.dataType.keyType, struct_field.dataType.valueType]
        if not any(unhashed in part.simpleString() for part in parts for unhashed in ("map<", "variant")):
            columns.append(column)
    return rows.withColumn(IDENTITY, F.xxhash64(*columns))


def _summed(
    joined: Stream, side_rows: Mapping[Side, DataFrame], network: QueryNetwork
) -> tuple[JoinSums, Mapping[Side, DataFrame]]:
    return join_sums(stream_work(joined, network.foundation.queries), side_rows)


def _unpacked(packed_results: DataFrame, work: JoinWork, result_type: T.StructType) -> DataFrame:
    is_summed = work.sums != NO_SUMS
    kinds = [field for field in result_type if field.name in work.schema.names]
    added = [T.StructField(PAIR_CODES, T.StringType())] if work.sampled is not None else []
    added += [T.StructField(IS_SUMMED, T.BooleanType()), T.StructField(SUMS, SUMS_TYPE)] if is_summed else []
    rows = in_arrow(packed_results, unpacking(work.schema, sums=is_summed), T.StructType([*kinds, *added]))
    columns = [
        F.col(f"`{field.name}`") if field.name in rows.columns else F.lit(None).cast(field.dataType).alias(field.name)
        for field in result_type
    ]
    return rows.select(*columns, *[field.name for field in added])


def _columns_asked(joined: Stream, queries: Sequence[Query]) -> frozenset[str]:
    columns = {name for query in queries if query.stream == joined for name in stream_columns_used(query.node)}
    return frozenset({joined.time, *columns})


def _sides(join: JoinSource) -> Sequence[tuple[Side, Node, str]]:
    return list(zip(Side, (join.left, join.right), join.prefixes, strict=True))


def _side_rows(
    spark: SparkSession,
    join: JoinSource,
    of: SideOf,
    sources: Mapping[str, DataFrame],
    streaming: StreamingJoin | None,
    *,
    is_drawn: bool,
) -> DataFrame:
    """The rows of a side: `event_time`, `TIME`, its columns under the names that results have, and perhaps `DRAWN`."""
    node, prefix = next((node, prefix) for side, node, prefix in _sides(join) if side is of.side)
    source = sources[node.stream.name]
    admission = None if streaming is None else streaming.sides.get(of)
    if side_aggregates(node):
        return side_answers(spark, node, source, prefix, admission=admission)
    program, stream = resolve_stream(node.stream, [node]), node.stream
    clock = None if streaming is None else streaming.plans[of.joined]
    plan = clock if is_drawn else None
    is_early = stream.is_identified_before_parsing
    if plan is not None and is_early:
        source = drawn_rows(source, stream, of.joined, plan)
    rows = sampled_rows(source, stream, admission or Admission(clock=clock))
    if plan is not None and not is_early:
        rows = drawn_rows(rows, stream, of.joined, plan)
    line = run_instructions(rows, program.instructions, frozenset(), fused=True)
    place = program.places[node]
    columns = [F.col(f"`{place.columns[name]}`").alias(prefix + name) for name in node.columns]
    wanted = line.rows.where(line.pass_all(place.conditions))
    drawn = [] if plan is None else [DRAWN]
    return wanted.select(F.timestamp_micros(TIME).alias(EVENT_TIME), F.col(TIME), *columns, *drawn)


def _work(
    joined: Stream,
    join: JoinSource,
    lines: Mapping[Side, DataFrame],
    result_type: T.StructType,
    needed_columns: AbstractSet[str],
    sums: JoinSums,
    weight: JoinWeight | None,
    sampled: Side | None,
) -> JoinWork:
    sides = {
        side: to_arrow_schema(_nullable(rows.drop(EVENT_TIME).schema), timezone="UTC") for side, rows in lines.items()
    }
    lower = {one.lower() for one in needed_columns}
    results = T.StructType([one for one in result_type if one.name.lower() in lower])
    schema, delay = to_arrow_schema(results, timezone="UTC"), delay_of_stream(joined)
    if sampled is not None:
        schema = schema.append(pa.field(PAIR_CODES, pa.string()))
    return JoinWork(
        joined.name, join_for_tasks(join), sides, schema, sums, weight, sampled=sampled, delay_microseconds=delay
    )


def _result_type(join: JoinSource, side_rows: Mapping[Side, DataFrame]) -> T.StructType:
    of_sides = (f for rows in side_rows.values() for f in rows.drop(EVENT_TIME, TIME, DRAWN).schema.fields)
    return _nullable(T.StructType([T.StructField(join.time, T.TimestampType()), *of_sides]))


def _nullable(schema: T.StructType) -> T.StructType:
    return T.StructType([T.StructField(one.name, one.dataType, nullable=True) for one in schema.fields])


def _with_carrier(
    spark: SparkSession, rows: DataFrame, node: Node, streaming: StreamingJoin, *, draws: bool
) -> DataFrame:
    """The rows of a side and its stream's carrier, which goes to every label.

    Answers come of rows that have the watermark already, and Spark knows one per query.

    The carrier of rows that draw by chance draws, too, and always passes. So Spark takes no shuffle for another where
    no such rows come either, and each micro-batch reads its sources as often as `readings` says.
    """
    stream = node.stream
    carrier = with_plan(carrier_frame(spark), streaming.plans[stream.name], (CARRIER_TIME,))
    timed_carrier = carrier.where(F.col(CARRIER_TIME).isNotNull())
    if draws:
        timed_carrier = timed_carrier.where(F.uuid() != "")
    shown = {EVENT_TIME: F.timestamp_micros(CARRIER_TIME)}
    carried = timed_carrier.select(
        *[shown.get(one.name, F.lit(None)).cast(one.dataType).alias(one.name) for one in rows.schema.fields]
    )
    both = rows.unionByName(carried)
    if side_aggregates(node):
        return both
    return both.withWatermark(EVENT_TIME, f"{stream.watermark_microseconds} microseconds")
