"""A network that runs under a plan that never changes, or under none: what measures the price of planning."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.answering.answer.answering import Answering
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.tree.quantization import code_of
from streamshed.sharing.stream_work import StreamWork, stream_work
from streamshed.spark.admit.admission import Admission
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import settings_for_queries, use_this_python
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.compile.compiled_network import (
    CompiledNetwork,
    compile_network,
    compiled_partials,
    needed_layout,
)
from streamshed.spark.compile.plan_table import PLAN_SCHEMA, plan_values
from streamshed.spark.loop.micro_batch_writer import MicroBatchWriter
from streamshed.spark.plan.known_drops import NOTHING_KNOWN, KnownDrops
from streamshed.spark.plan.plan_columns import Plan
from streamshed.spark.plan.plan_row import StreamPlan
from streamshed.spark.plan.share_codes import share_codes, sized_shares
from streamshed.spark.settled_query import await_sources
from streamshed.spark.sinks.answer_stage import new_summaries, streaming_answer_frame
from streamshed.spark.sinks.sinks import Sink
from streamshed.spark.source.domain_rows import DomainRows
from streamshed.spark.source.source_frame import streaming_frame
from streamshed.spark.windows.watermarked_rows import watermarked_rows
from streamshed_bench.runs.fixed_drops import FixedDrops
from streamshed_bench.runs.fixed_sampling import FixedSampling


@without_call_sites()
def start_fixed(
    network: QueryNetwork,
    spark: SparkSession,
    *,
    checkpoint: str,
    sink: Sink,
    sampling: FixedSampling | None = None,
    dropping: FixedDrops | None = None,
    trigger: str = "0 seconds",
    confidence: float = 0.95,
) -> StreamingQuery:
    """Run a network that asks for no plans: no control loop, no plan table, no journal.

    All else is as in `start`. Meant for input without late rows: nothing tells here which slices are closed.

    Args:
        network: The network, of one time domain.
        spark: The session.
        checkpoint: A new folder.
        sink: Where answers go.
        sampling: How rows are sampled; None: no samplers are compiled in.
        dropping: Which windows are dropped where; None: none.
        trigger: How often a micro-batch starts.
        confidence: Of the bounds of answers, in (0, 1).

    Returns:
        Spark's query.

    Raises:
        InvalidNetworkError: The network has several time domains or windows of so many rows, or both is asked for.
    """
    _check(network, sampling, dropping)
    use_this_python(spark)
    partitions = min(spark.sparkContext.defaultParallelism, os.cpu_count() or 1)
    with settings_for_queries(spark, partitions, Storage.reached(checkpoint)):
        summaries = new_summaries(spark)
        compiled = _compiled(network, spark, sampling, dropping)
        drops = NOTHING_KNOWN if dropping is None else KnownDrops(None, dropping.drops, dropping.place.value)
        layout = needed_layout(compiled)
        rows = watermarked_rows(spark, compiled.streams, layout)
        classes = [sharing_class for one in compiled.streams for sharing_class in one.work.classes]
        partials = compiled_partials(compiled, rows, classes, layout, drops)
        answering = Answering(compiled.outputs, confidence=confidence, is_numbered=network.time_domains[0].is_numbered)
        answers = streaming_answer_frame(
            partials,
            answering,
            None,
            f"{checkpoint}/set_aside",
            summaries,
            compiled.nested,
            drops.fixed,
            has_cohorts=any(stream.work.may_drop_windows for stream in compiled.streams),
        )
        writer = MicroBatchWriter(sink, lambda: "fixed", summaries)
        stream = answers.writeStream.outputMode("append").option("checkpointLocation", f"{checkpoint}/spark")
        query = stream.foreachBatch(writer).trigger(processingTime=trigger).start()
        await_sources(query)
        return query


def _check(network: QueryNetwork, sampling: FixedSampling | None, dropping: FixedDrops | None) -> None:
    if sampling is not None and dropping is not None:
        raise InvalidNetworkError("a fixed plan samples rows or drops windows, not both")
    if len(network.time_domains) != 1:
        raise InvalidNetworkError(f"expected one time domain, got {len(network.time_domains)}")
    if by_count := [query.name for query in network.queries if query.is_by_count]:
        raise InvalidNetworkError(
            f'query "{by_count[0]}": windows of so many rows are numbered by what a plan tells, but a fixed one tells'
            " nothing: use start"
        )


def _compiled(
    network: QueryNetwork, spark: SparkSession, sampling: FixedSampling | None, dropping: FixedDrops | None
) -> CompiledNetwork:
    domain, queries = network.time_domains[0], network.foundation.queries
    sized = () if sampling is None else tuple(sorted({one.column for one in sampling.sized.values()}))
    return compile_network(
        network,
        domain,
        DomainRows([streaming_frame(spark, stream) for stream in domain.streams], {}),
        spark,
        admissions=[
            Admission(
                _plan(spark, stream_work(stream, queries), sampling, dropping), sized, samples=sampling is not None
            )
            for stream in domain.streams
        ],
    )


def _plan(
    spark: SparkSession, work: StreamWork, sampling: FixedSampling | None, dropping: FixedDrops | None
) -> Plan | None:
    if dropping is not None:
        values = plan_values(StreamPlan(), 0, work.gating, dropping.drops, place=dropping.retained)
        return Plan(spark.createDataFrame([values], PLAN_SCHEMA))
    if sampling is None:
        return None
    code = code_of(sampling.sampling_rate)
    query_codes = {query: code for intake in work.intakes for query in intake.queries}
    codes = share_codes(work.intakes, query_codes, sampling.sized, sampling.counting)
    plan = StreamPlan(
        sampling_code=min(codes.values(), default=code),
        share_codes=codes,
        sized=sized_shares(work.intakes, query_codes, sampling.sized),
    )
    return Plan(spark.createDataFrame([plan_values(plan, 0, work.gating)], PLAN_SCHEMA))
