"""Starting a network on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from pyspark.sql import SparkSession

from streamshed.control.shared_time import SharedTime
from streamshed.errors import InvalidNetworkError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.feed import refuse_bad_feeds
from streamshed.network.source.sources import FolderSource
from streamshed.network.words.keywords import with_advice
from streamshed.spark.checkpoint.hold import CheckpointHold
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.checkpoint.storage import Storage, absolute_location
from streamshed.spark.cluster.domain_scaling import DomainWorkers
from streamshed.spark.cluster.elastic_workers import begin_with, default_partitions, elastic_workers
from streamshed.spark.cluster.executor_watch import await_executor, executor_watch
from streamshed.spark.cluster.session import require_classic, require_settings, settings_for_files, use_this_python
from streamshed.spark.cluster.setting_sources import forget_setting_sources
from streamshed.spark.cluster.warm_workers import begin_workers
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.hand_over import DomainStarter, RunningDomains
from streamshed.spark.loop.domain_needs import NeedsSettings
from streamshed.spark.loop.domain_settings import DomainSettings
from streamshed.spark.loop.needs_files import NeedsFile
from streamshed.spark.plan.plan_server import PlanServer
from streamshed.spark.run import Run
from streamshed.spark.sinks.sinks import AnswerFunction, FunctionSink, Sink
from streamshed.spark.start_notes import StartNotes
from streamshed.spark.start_settings import StartSettings, with_settings
from streamshed.spark.supervision import Supervision
from streamshed.spark.windows.manifest import most_partitions, refuse_lost_clocks, refuse_other_checkpoint


@with_advice
@without_call_sites()
@with_settings(StartSettings)
def start(network: QueryNetwork, spark: SparkSession, settings: StartSettings) -> Run:
    """Run a network until it is stopped: one streaming query per time domain.

    Args:
        network: The network.
        spark: The session; its settings are left as they are.
        settings: Each is a keyword, listed below.

    Raises:
        InvalidNetworkError: Listing all settings that are wrong; or the session is of Spark Connect, an aggregate does
            not take a column's type, or a function as sink does not tell several clocks apart.
        IncompatibleCheckpointError: The checkpoint is of another network, or is being repartitioned.
        UnsheddableQueryError: A sample cannot answer a query, and `unscalable` is "refuse".
        SourceUnavailableError: A folder or topic is missing, a broker does not answer, or a relation cannot be read or
            repeats a key of a lookup.
        SinkUnavailableError: The checkpoint or the sink cannot be written.
        PortInUseError: Another program listens on the port, or the host is not of this machine.
        ClusterUnavailableError: No executor has come.
    """
    require_classic(spark)
    notes = StartNotes.of(spark)
    notes.begins(network)
    sink = _sound_sink(settings.sink, network)
    require_settings(spark)
    use_this_python(spark)
    refuse_bad_feeds(settings.feeds, network)
    storage = Storage.private(absolute_location(settings.checkpoint))
    refuse_other_checkpoint(storage)
    refuse_lost_clocks(storage, network)
    with ExitStack() as opening:
        opening.enter_context(CheckpointHold(storage))
        opening.enter_context(settings_for_files(spark, _folders(network)))
        await_executor(spark, patience_seconds=settings.worker_patience_seconds)
        server = opening.enter_context(PlanServer(host=settings.host, port=settings.port))
        starter, domains = _prepared(network, spark, settings, sink, server)
        opened = opening.pop_all()
    watch = executor_watch(
        spark, lambda: domains.queries, domains.give_up, patience_seconds=settings.worker_patience_seconds
    )
    supervision = Supervision(
        domains,
        lambda stopped: starter.begin_again(domains, stopped),
        patience_seconds=settings.fault_patience_seconds,
        on_look=notes.look,
    )
    run = Run(domains, opened, starter, network, supervision, watch)
    try:
        starter.describe(network)
        for domain in domains.domains:
            starter.begin(domain)
    except BaseException:
        run.stop()
        raise
    if watch is not None:
        watch.start()
    notes.waits()
    supervision.start()
    return run


def _folders(network: QueryNetwork) -> list[str]:
    sources = [stream.source for stream in network.all_streams]
    return [source.path for source in sources if isinstance(source, FolderSource)]


def _prepared(
    network: QueryNetwork, spark: SparkSession, settings: StartSettings, sink: Sink, server: PlanServer
) -> tuple[DomainStarter, RunningDomains]:
    """Compile each time domain, while Python's workers begin, and ask for the executors that they begin with."""
    begin_workers(spark)
    forget_setting_sources(spark)
    clocks = [domain.clock for domain in network.time_domains]
    control, elastic = settings.control(len(clocks)), settings.elastic
    partitions = settings.partitions or default_partitions(spark, elastic)
    storage = Storage.reached(absolute_location(settings.checkpoint))
    workers: Mapping[str, DomainWorkers] = {}
    if elastic is not None:
        period, most = control.trigger_interval_seconds, most_partitions(storage, clocks, partitions)
        workers = elastic_workers(spark, elastic, clocks, partitions=most, period_seconds=period)
    shared_time = SharedTime(clocks, control)

    def of_domain(clock: str) -> DomainSettings:
        return DomainSettings(
            checkpoint=f"{absolute_location(settings.checkpoint)}/{clock}",
            control=control,
            time=shared_time.of(clock),
            partitions=partitions,
            set_aside_limit_bytes=settings.set_aside_limit_bytes // len(clocks),
            layout=StateLayout().extended(*settings.reserve),
            workers=workers.get(clock),
            needs=_needs(settings),
        )

    starter = DomainStarter(
        spark=spark, sink=sink, server=server, settings_of=of_domain, settings=settings, checkpoint=storage
    )
    drafts = [DomainDraft.of(network, domain, spark) for domain in network.time_domains]
    domains = [starter.prepared(draft) for draft in drafts]
    begin_with(workers, {domain.domain.clock: domain.first_workers for domain in domains})
    return starter, RunningDomains(domains)


def _needs(settings: StartSettings) -> NeedsSettings:
    published = settings.publish_needs
    return NeedsSettings(
        tuple(replace(feed, needs=absolute_location(feed.needs)) for feed in settings.feeds),
        None if published is None else NeedsFile(absolute_location(published)),
    )


def _sound_sink(given: Sink | AnswerFunction, network: QueryNetwork) -> Sink:
    sink = FunctionSink(given) if callable(given) else given
    clocks = [domain.clock for domain in network.time_domains]
    if len(clocks) > 1 and isinstance(sink, FunctionSink) and not sink.takes_query_id:
        raise InvalidNetworkError(
            f"sink: the clocks {', '.join(clocks)} each number their micro-batches from 0, which a function of"
            " (answers, micro_batch_id) cannot tell apart: let it take (answers, micro_batch_id, query_id)"
        )
    sink.check()
    return sink
