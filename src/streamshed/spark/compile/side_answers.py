"""Sides of joins whose rows are answers of windows: stages of their own before that of the join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import LATE
from streamshed.joins.model.side import Side, SideOf
from streamshed.network.model.answer_side import side_aggregates, side_windows
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.network import QueryNetwork, TimeDomain
from streamshed.network.model.node import Node
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.model.stream import Stream
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind
from streamshed.network.terms.window import WindowSpecification
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.retained_rows import whole_words
from streamshed.spark.common.internal_names import EVENT_TIME, NEVER_IN_TIME, TIME
from streamshed.spark.compile.compiled_network import CompiledNetwork, compile_network, compiled_partials, needed_layout
from streamshed.spark.joins.side_drops import SideDrops, SideWork, tolerant_queries
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.source.domain_rows import DomainRows
from streamshed.spark.windows.finished_answers import FEED_TIME
from streamshed.spark.windows.watermarked_rows import watermarked_rows

_INSTANT = WindowSpecification(1, 1)


def side_works(domain: TimeDomain, network: QueryNetwork, *, skips_old: bool = False) -> Mapping[SideOf, SideWork]:
    """Return the work on rows of sources for sides of joins.

    That is of sides whose rows are answers of windows, and of sides whose rows may be dropped because all queries over
    the join tolerate gaps, or skipped as too old.

    Args:
        domain: Whose joins.
        network: Whose queries.
        skips_old: Whether rows may be skipped as too old.
    """
    works = {}
    for of, joined, node in _sides(domain):
        queries, standing = tolerant_queries(network, joined, skips_old=skips_old), _standing_for(node)
        if queries or side_aggregates(node):
            drops = _side_drops(of.side, joined, node, queries, standing.queries[0]) if queries else None
            works[of] = SideWork(stream_work(node.stream, standing.foundation.queries), drops)
    return works


def _side_drops(side: Side, joined: Stream, node: Node, queries: Sequence[int], standing: Query) -> SideDrops:
    join = joined.joined
    return SideDrops(
        side=side,
        definition_ids=tuple(queries),
        stands_for=standing.definition_id,
        lead=sum(window.size_microseconds for window in side_windows(node)),
        waits=0 if join is None else max(join.left_microseconds, join.right_microseconds),
    )


def side_admissions(works: Mapping[SideOf, SideWork], plans: Mapping[SideOf, Plan]) -> Mapping[SideOf, Admission]:
    """Return how the rows of sides are admitted.

    Args:
        works: The work on the rows of each side.
        plans: The plan of each side in a micro-batch.
    """
    return {
        of: Admission(
            plans[of],
            whole_words=() if side_work.drops is None else whole_words(side_work.work),
            drops_rows=side_work.drops is not None,
            samples=False,
        )
        for of, side_work in works.items()
    }


def compiled_sides(
    spark: SparkSession, domain: TimeDomain, sources: Mapping[str, DataFrame]
) -> tuple[CompiledNetwork, ...]:
    """Lay those sides out, without running them, to find out what can be known before that.

    Args:
        spark: The session.
        domain: Whose joins.
        sources: The rows of its sources, by name.
    """
    return tuple(
        _compiled(spark, node, sources[node.stream.name]) for _, _, node in _sides(domain) if side_aggregates(node)
    )


def _sides(domain: TimeDomain) -> Iterator[tuple[SideOf, Stream, Node]]:
    for stream in domain.joined:
        if stream.joined is not None:
            for side, node in zip(Side, (stream.joined.left, stream.joined.right), strict=True):
                yield SideOf(stream.name, side), stream, node


def side_answers(
    spark: SparkSession, node: Node, source: DataFrame, prefix: str, *, admission: Admission | None = None
) -> DataFrame:
    """Return the answers that are the rows of a side.

    They are computed from all rows of the stream, whatever is sampled for queries over it, and come when their windows
    close, stamped with the start of these: up to `delay_of_stream` behind the watermark. A window without rows has no
    answer. For each row that came late for a window there is one that is `NEVER_IN_TIME`, and null otherwise. Rows
    that only windows need that are dropped over the join leave behind the source; then there are answers of a part of
    their windows, whose results are in dropped windows only.

    Args:
        spark: The session.
        node: The side: an aggregate, or what operators make of its answers.
        source: The rows of its stream.
        prefix: What the names of its columns begin with.
        admission: How rows are admitted that come one micro-batch after the other, as in `start`; None: all are there.

    Returns:
        `event_time`, `TIME`, and the columns of the node.
    """
    compiled = _compiled(spark, node, source, [] if admission is None else [admission])
    layout = needed_layout(compiled)
    *below, last = compiled.levels
    (stream,) = compiled.streams
    if admission is not None:
        rows = watermarked_rows(spark, compiled.streams, layout, of_side=True)
    else:
        rows = {stream.work.stream.name: stream.rows(layout)}
    network_below = replace(compiled, levels=tuple(below))
    # States that user code made are not folded: nothing would tell which version of the code made them.
    line = last.answers(compiled_partials(network_below, rows, stream.work.classes, layout, folds=False))
    (program,) = last.level.programs
    place = program.places[node]
    columns = [F.col(f"`{place.columns[name]}`").alias(prefix + name) for name in node.columns]
    # A row that came late for a closed window: the join counts it, as it counts late rows of its own.
    is_late = F.coalesce((F.col("kind") == LATE) & (F.col("slot") == 0), F.lit(False))
    wanted = line.rows.where(line.pass_all(place.conditions) | is_late)
    times = F.when(is_late, F.array_repeat(F.lit(NEVER_IN_TIME), F.col("rows").cast("int")))
    side_rows = wanted.select(F.explode(F.coalesce(times, F.array(FEED_TIME))).alias(TIME), *columns)
    names = [F.col(f"`{prefix}{name}`") for name in node.columns]
    return side_rows.select(F.timestamp_micros(TIME).alias(EVENT_TIME), F.col(TIME), *names)


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
