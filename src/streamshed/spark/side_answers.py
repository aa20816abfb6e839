"""A side of a join that is answers of windows, as rows: stages of its own before that of the join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.answering.answer_schema import LATE
from streamshed.joins.side import Side
from streamshed.network.aggregate import AggregateCall, AggregateKind
from streamshed.network.answer_side import side_aggregates
from streamshed.network.grouping import Aggregate
from streamshed.network.network import QueryNetwork, TimeDomain
from streamshed.network.node import Node
from streamshed.network.query import AnswerMode, Query
from streamshed.network.window import WindowSpecification
from streamshed.sharing.network_work import StreamWork, stream_work
from streamshed.spark.compiled_network import CompiledNetwork, compile_network, compiled_partials, needed_layout
from streamshed.spark.domain_rows import DomainRows
from streamshed.spark.finished_answers import FEED_TIME
from streamshed.spark.internal_names import EVENT_TIME, NEVER_IN_TIME, TIME
from streamshed.spark.plan_columns import Plan
from streamshed.spark.sampled_rows import Admission
from streamshed.spark.side_of import SideOf
from streamshed.spark.watermarked_rows import watermarked_rows

_INSTANT = WindowSpecification(1, 1)


def side_works(domain: TimeDomain) -> Mapping[SideOf, StreamWork]:
    """Return what is done with the rows of sources for those sides of joins that are answers of windows."""
    return {of: stream_work(node.stream, _standing_for(node).foundation.queries) for of, node in _answer_sides(domain)}


def compiled_sides(
    spark: SparkSession, domain: TimeDomain, sources: Mapping[str, DataFrame]
) -> tuple[CompiledNetwork, ...]:
    """Lay those sides out, without running them, to find out what can be known before that.

    Args:
        spark: The session.
        domain: Whose joins.
        sources: The rows of its sources, by name.
    """
    return tuple(_compiled(spark, node, sources[node.stream.name]) for _, node in _answer_sides(domain))


def _answer_sides(domain: TimeDomain) -> Iterator[tuple[SideOf, Node]]:
    for stream in domain.joined:
        if stream.joined is not None:
            for side, node in zip(Side, (stream.joined.left, stream.joined.right), strict=True):
                if side_aggregates(node):
                    yield SideOf(stream.name, side), node


def side_answers(
    spark: SparkSession, node: Node, source: DataFrame, prefix: str, *, is_streaming: bool, plan: Plan | None = None
) -> DataFrame:
    """Return the answers that are the rows of a side.

    They are computed from all rows of the stream, whatever is shed for queries over it, and come when their windows
    close, stamped with the start of these: up to `delay_of_stream` behind the watermark. A window without rows has no
    answer. For each row that came late for a window there is one that is `NEVER_IN_TIME`, and null otherwise.

    Args:
        spark: The session.
        node: The side: an aggregate, or what operators make of its answers.
        source: The rows of its stream.
        prefix: What the names of its columns begin with.
        is_streaming: Whether rows come one micro-batch after the other, as in `start`.
        plan: What a micro-batch is told of these; None where there is nobody to ask.

    Returns:
        `event_time`, `TIME`, and the columns of the node.
    """
    compiled = _compiled(spark, node, source, [Admission(plan)] if is_streaming else [])
    layout = needed_layout(compiled)
    *below, last = compiled.levels
    (stream,) = compiled.streams
    if is_streaming:
        rows = watermarked_rows(spark, compiled.streams, layout)
    else:
        rows = {stream.work.stream.name: stream.rows(layout)}
    own = replace(compiled, levels=tuple(below))
    # Nothing would tell that states which a user's code has made were made by another version of it.
    line = last.answers(compiled_partials(own, rows, stream.work.classes, layout, folds=False))
    (program,) = last.level.programs
    place = program.places[node]
    columns = [F.col(f"`{place.columns[name]}`").alias(prefix + name) for name in node.columns]
    # What has come late for a window that had closed: the join counts it, as it does a row that came late.
    is_late = F.coalesce((F.col("kind") == LATE) & (F.col("slot") == 0), F.lit(False))
    wanted = line.rows.where(line.pass_all(place.conditions) | is_late)
    times = F.when(is_late, F.array_repeat(F.lit(NEVER_IN_TIME), F.col("rows").cast("int")))
    told = wanted.select(F.explode(F.coalesce(times, F.array(FEED_TIME))).alias(TIME), *columns)
    names = [F.col(f"`{prefix}{name}`") for name in node.columns]
    return told.select(F.timestamp_micros(TIME).alias(EVENT_TIME), F.col(TIME), *names)


def _compiled(
    spark: SparkSession, node: Node, source: DataFrame, admissions: Sequence[Admission] = ()
) -> CompiledNetwork:
    network = _standing_for(node)
    (domain,) = network.time_domains
    return compile_network(network, domain, DomainRows([source], {}), spark, admissions=admissions)


def _standing_for(node: Node) -> QueryNetwork:
    """A network of one query over a side's answers, which stands where the join does: what is below is the same."""
    call = AggregateCall(AggregateKind.COUNT, None)
    over = Aggregate(node, _INSTANT, (), (("n", call),))
    return QueryNetwork((Query("side", over, mode=AnswerMode.EXACT),))
