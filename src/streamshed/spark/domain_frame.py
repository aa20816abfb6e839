"""The answers of a time domain as a streaming DataFrame. It can be made while another network still runs."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from pyspark.accumulators import Accumulator
from pyspark.sql import DataFrame, SparkSession

from streamshed.answering.answer.answering import Answering
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.planning.window_drop.track.stale import ageing_queries
from streamshed.spark.admit.admission import Admission
from streamshed.spark.columns.task_clock import new_task_reports
from streamshed.spark.common.call_costs import CallCosts, new_call_costs
from streamshed.spark.compile.compiled_network import CompiledNetwork, compile_network, compiled_partials
from streamshed.spark.compile.join_frame import StreamingJoin, with_joined
from streamshed.spark.compile.plan_table import plan_table
from streamshed.spark.compile.side_answers import side_admissions, side_works
from streamshed.spark.count_windows.count_partials import streaming_count_partials
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.joins.join_reports import JoinReports, new_join_reports
from streamshed.spark.loop.domain_needs import streams_left_out
from streamshed.spark.loop.domain_settings import DomainSettings
from streamshed.spark.plan.known_drops import KnownDrops
from streamshed.spark.plan.plan_client import PlanClient
from streamshed.spark.sinks.answer_stage import Summaries, listener_of, new_summaries, streaming_answer_frame
from streamshed.spark.windows.manifest import Manifest
from streamshed.spark.windows.watermarked_rows import watermarked_rows
from streamshed.statistics.task_report import TaskReports


@dataclass(frozen=True, kw_only=True)
class DomainFrame:
    """The answers of a time domain, and what its tasks ask and report to.

    Attributes:
        answers: Streaming rows of the answer schema.
        client: What its tasks ask for plans.
        summaries: Told what they answered.
        join_reports: Told what joins took and yielded.
        call_costs: Told what user functions cost.
        task_reports: What tasks tell of the streams that they read.
        drops_windows: Whether any of its queries may drop windows.
        reads_files: Whether tasks read the rows of all its streams themselves.
        skips_blocks: The streams of whose files blocks may be left unread.
    """

    answers: DataFrame
    client: PlanClient
    summaries: Accumulator[Summaries]
    join_reports: Accumulator[JoinReports]
    call_costs: Accumulator[CallCosts]
    task_reports: Accumulator[TaskReports]
    drops_windows: bool
    reads_files: bool
    skips_blocks: frozenset[str]

    @classmethod
    def of(
        cls,
        draft: DomainDraft,
        spark: SparkSession,
        settings: DomainSettings,
        manifest: Manifest,
        client: PlanClient,
        missing: AbstractSet[int],
    ) -> DomainFrame:
        """Lay a time domain out as what Spark runs.

        Args:
            draft: What is to run.
            spark: The session.
            settings: How it is to run.
            manifest: What its checkpoint is made for. Classes that are in state no longer may be among those that are.
            client: What asks for its plans.
            missing: `Query.definition_id` of queries that may miss windows which are open, beside those whose modes
                allow it; others may be among them.
        """
        reports, costs = new_join_reports(spark), new_call_costs(spark)
        tasks, summaries = new_task_reports(spark), new_summaries(spark)
        streaming = _compiled(draft, spark, settings, manifest, client, reports, costs, tasks)
        ageing = {query.definition_id for query in _ageing_queries(draft.of_domain, settings)}
        compiled = replace(streaming, missing=frozenset(missing) | ageing)
        drops_windows = any(stream.work.may_drop_windows for stream in compiled.streams)
        queries = draft.of_domain.queries
        answers = streaming_answer_frame(
            _partials(compiled, spark, manifest, client, summaries),
            Answering(draft.compiled.outputs, settings.control.confidence, is_numbered=draft.domain.is_numbered),
            client,
            settings.set_aside,
            summaries,
            compiled.nested,
            windows={query.definition_id: query.windows for query in queries if query.aggregate is not None},
            has_cohorts=drops_windows or bool(missing),
        )
        return cls(
            answers=answers,
            client=client,
            summaries=summaries,
            join_reports=reports,
            call_costs=costs,
            task_reports=tasks,
            drops_windows=drops_windows,
            reads_files=all(stream.reads_files for stream in compiled.streams),
            skips_blocks=_skipping_blocks(compiled) if manifest.layout.block_sums else frozenset(),
        )


def _skipping_blocks(network: CompiledNetwork) -> frozenset[str]:
    return frozenset(stream.work.stream.name for stream in network.streams if stream.skips_blocks)


def _ageing_queries(network: QueryNetwork, settings: DomainSettings) -> tuple[Query, ...]:
    """The queries whose rows may be skipped as too old."""
    return () if settings.control.max_age_microseconds is None else ageing_queries(network)


def _compiled(
    draft: DomainDraft,
    spark: SparkSession,
    settings: DomainSettings,
    manifest: Manifest,
    client: PlanClient,
    reports: Accumulator[JoinReports],
    costs: Accumulator[CallCosts],
    tasks: Accumulator[TaskReports],
) -> CompiledNetwork:
    network, domain = draft.network, draft.domain
    works = side_works(domain, network, skips_old=settings.control.max_age_microseconds is not None)
    table = plan_table(spark, client, draft.works, works)
    left_out = streams_left_out(draft.of_domain, settings.needs)
    # Of a join the rows of sides are left out instead.
    left_out |= {query.stream.name for query in _ageing_queries(network, settings) if query.stream.joined is None}
    sampled = {query.stream.name for query in network.queries if query.may_be_sampled}
    sides = side_admissions(works, table.sides)
    streaming = StreamingJoin(client, reports, manifest.partitions, table.streams, sides)
    rows = with_joined(spark, domain, draft.sources, network, streaming, again=manifest.layout.answer_rows)
    return compile_network(
        network,
        domain,
        replace(rows, files=draft.files, tasks=manifest.partitions),
        spark,
        admissions=[
            Admission(
                plan,
                drops_rows=name in left_out,
                block_sums=manifest.layout.block_sums,
                client=client,
                task_reports=tasks,
                samples=name in sampled,
            )
            for name, plan in table.streams.items()
        ],
        depth=manifest.max_depth,
        costs=costs,
        types={stream.work.stream.name: stream.values.types for stream in draft.compiled.streams},
    )


def _partials(
    compiled: CompiledNetwork,
    spark: SparkSession,
    manifest: Manifest,
    client: PlanClient,
    summaries: Accumulator[Summaries],
) -> DataFrame:
    return compiled_partials(
        compiled,
        watermarked_rows(spark, compiled.streams, manifest.layout),
        manifest.classes,
        manifest.layout,
        KnownDrops(client),
        lambda level: listener_of(compiled.levels[level - 1].feeds, level, client, summaries),
        lambda streams, schema: streaming_count_partials(spark, streams, schema, client, manifest.partitions),
    )
