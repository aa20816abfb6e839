"""Starting a network on Spark, and the handle on what runs."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import pandas as pd
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from streamshed.control.shared_time import SharedTime
from streamshed.elasticity.settings import ElasticSettings
from streamshed.errors import InvalidNetworkError, RunEndedError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.run.feed import refuse_bad_feeds
from streamshed.network.words.keywords import with_advice
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.checkpoint.storage import Storage, absolute_location
from streamshed.spark.cluster.domain_scaling import DomainWorkers
from streamshed.spark.cluster.elastic_workers import begin_with, elastic_partitions, elastic_workers
from streamshed.spark.cluster.executor_watch import ExecutorWatch, await_executor, executor_watch
from streamshed.spark.cluster.session import require_settings, use_this_python
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.common.failures import explained
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.hand_over import DomainStarter, HandOver, RunningDomains, first_windows
from streamshed.spark.loop.domain_needs import NeedsSettings
from streamshed.spark.loop.domain_settings import DomainSettings
from streamshed.spark.loop.needs_files import NeedsFile
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.plan.plan_server import PlanServer
from streamshed.spark.sinks.sinks import AnswerFunction, FunctionSink, Sink
from streamshed.spark.start_settings import StartSettings, with_settings
from streamshed.spark.supervision import LOOK_EVERY_SECONDS, Supervision
from streamshed.spark.windows.manifest import refuse_lost_clocks, refuse_other_checkpoint
from streamshed.statistics.network_statistics import NetworkStatistics


class Run:
    """A network that runs, made by `start`; use it as a context manager to have it stopped."""

    def __init__(
        self,
        domains: RunningDomains,
        server: PlanServer,
        starter: DomainStarter,
        network: QueryNetwork,
        supervision: Supervision,
        watch: ExecutorWatch | None = None,
    ) -> None:
        self._running = domains
        self._server, self._starter, self._network, self._watch = server, starter, network, watch
        self._is_closed = False
        self._supervision = supervision
        self._changing = supervision.changing

    @property
    def network(self) -> QueryNetwork:
        """What runs."""
        return self._network

    @property
    def _domains(self) -> tuple[DomainRun, ...]:
        return self._running.domains

    @property
    def _given_up(self) -> Exception | None:
        return None if self._watch is None else self._watch.failure

    @property
    def is_active(self) -> bool:
        """Whether all of it runs."""
        if self._is_closed or self._given_up is not None:
            return False
        return self._changing.locked() or all(self._runs(domain) for domain in self._domains)

    def _runs(self, domain: DomainRun) -> bool:
        """Whether a time domain runs, or is started again."""
        if domain.query.isActive:
            return True
        return domain.query.exception() is not None and self._supervision.failure(domain) is None

    @property
    def waits_for(self) -> str:
        """What is waited out at present, such as a broker that does not answer; empty where nothing is."""
        return self._supervision.note

    @property
    def exception(self) -> Exception | None:
        """What stopped it, if something did."""
        if (failure := self._given_up) is not None:
            return failure
        failures = map(self._supervision.failure, self._domains)
        return next((explained(error) for error in failures if error is not None), None)

    def add(self, *queries: Query) -> HandOver:
        """Ask more queries from here on, under the same checkpoint; no row is lost, and no other answer changes.

        What they rest on runs already or comes with them: their streams run, as a checkpoint's streams are fixed.

        Args:
            *queries: Those that come.

        Returns:
            When their first whole windows begin, and how long the run paused.

        Raises:
            InvalidNetworkError: A name that is there already, or what no network can have.
            IncompatibleCheckpointError: They need what the checkpoint was not made with, and the way out.
            UnsheddableQueryError: The policy cannot answer one, and `unscalable` is "refuse".
            StreamshedError: They could not begin. Whatever is raised, all runs as before.
        """
        return self.hand_over(self._network.with_queries(*queries))

    def remove(self, *names: str) -> HandOver:
        """Ask some queries no longer; their open windows are not answered.

        Args:
            *names: Those that go.

        Raises:
            InvalidNetworkError: There is no query of a name, or none would be left.
            StreamshedError: As for `add`.
        """
        return self.hand_over(self._network.without_queries(*names))

    def change(self, name: str, **goals: Any) -> HandOver:
        """Give a query other goals from here on; what it asks stays, and its windows go on.

        Args:
            name: The query.
            **goals: `weight`, `priority`, `mode`, `max_error`, `max_gap` or `gaps_by`, as `.query(...)` takes them.

        Raises:
            InvalidNetworkError: There is no such query or goal, or a goal cannot be.
            StreamshedError: As for `add`.
        """
        return self.hand_over(self._network.with_goals(name, **goals))

    @without_call_sites()
    def hand_over(self, network: QueryNetwork) -> HandOver:
        """Run another network over the same streams from here on, under the same checkpoint.

        It is compiled and checked while the present one runs. Then each time domain of which another thing is asked
        stops between two micro-batches, and the new one reads on where it stopped. What was killed in the midst of it
        goes on with either.

        Args:
            network: What is to run.

        Raises:
            StreamshedError: As for `add`.
        """
        with self._changing:
            if self._is_closed or self._given_up is not None or self.exception is not None:
                raise RunEndedError("the run has ended: start the other network instead") from self.exception
            drafts = self._starter.drafts(network, self._running.by_clock)
            pauses = [self._starter.hand_over(self._running, draft) for draft in drafts.values()]
            before, self._network = self._network, network
            self._starter.describe(network)
            ran = {query.definition_id for query in before.queries}
            come = {query.name: query for query in network.queries if query.definition_id not in ran}
            return HandOver(first_windows(come, self._running.by_clock), max(pauses, default=0.0))

    def status(self) -> RunStatus:
        """Return the state after the latest finished micro-batch, of the first time domain."""
        return self._domains[0].status

    def statuses(self) -> Mapping[str, RunStatus]:
        """Return the state of every time domain by its clock."""
        return {domain.domain.clock: domain.status for domain in self._domains}

    def statuses_since(self, micro_batch_ids: Mapping[str, int]) -> tuple[RunStatus, ...]:
        """Return the state after each micro-batch that has finished meanwhile, in the order in which they finished.

        The latest hundred of each time domain are there: a caller that looks now and then misses none.

        Args:
            micro_batch_ids: By clock, the latest micro-batch that the caller has seen; -1 for a clock that is left out.
        """
        statuses = [
            status
            for domain in self._domains
            for status in domain.finished.since(micro_batch_ids.get(domain.domain.clock, -1))
        ]
        return tuple(sorted(statuses, key=lambda status: status.started_at_seconds + status.processing_seconds))

    def journal(self) -> pd.DataFrame:
        """Return every decision with its reason, its expectation and its outcome, one row per micro-batch."""
        tables = [domain.history.table() for domain in self._domains]
        return pd.concat([table for table in tables if len(table)] or tables[:1], ignore_index=True)

    def statistics(self) -> NetworkStatistics:
        """Return what is known of operators and queries by now: what `start` and `explain` take as `statistics`."""
        return NetworkStatistics.together([domain.statistics() for domain in self._domains])

    def await_termination(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it stops, and raise what stopped it; False when the time ran out first."""
        deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while True:
            domains = self._domains
            for domain in domains:
                left = None if deadline is None else max(deadline - time.monotonic(), 0.001)
                try:
                    has_stopped = domain.query.awaitTermination(left)  # type: ignore[arg-type]
                except StreamingQueryException:
                    if (failure := self._supervision.failure(domain)) is not None:
                        raise explained(failure) from failure
                    time.sleep(LOOK_EVERY_SECONDS)
                    has_stopped = deadline is None or time.monotonic() < deadline
                if has_stopped is False:
                    return False
            with self._changing:  # it may have been stopped to be handed over
                if domains == self._domains and not any(map(self._runs, domains)):
                    break
        if (failure := self._given_up) is not None:
            raise failure
        return True

    def drain(self, timeout_seconds: float = 120.0) -> bool:
        """Read all that has come, answer all windows that are open, then stop; False when the time ran out first.

        For the end of a bounded replay: once each source has brought what it had when this was called, the watermark
        passes the end of every window, so that rows which come later under the same checkpoint are late. A source that
        never has nothing new, and does not tell what it has left, takes all the time there is.
        """
        deadline = time.monotonic() + timeout_seconds
        drained = False
        while self.is_active and not drained and time.monotonic() < deadline:
            for domain in self._domains:
                domain.planner.drain()  # also of one that was started again since
            drained = all(_is_drained(domain) for domain in self._domains)
            if not drained:
                time.sleep(LOOK_EVERY_SECONDS)
        self.stop()
        return drained

    def stop(self) -> None:
        """Stop; what is open stays in the checkpoint."""
        self._supervision.close()
        with self._changing:
            if self._is_closed:
                return
            self._is_closed = True
            if self._watch is not None:
                self._watch.close()
            for domain in self._domains:
                domain.close()
            self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


@with_advice
@without_call_sites()
@with_settings(StartSettings)
def start(network: QueryNetwork, spark: SparkSession, settings: StartSettings) -> Run:
    """Run a network until it is stopped: one streaming query per time domain.

    Args:
        network: The network.
        spark: The session; its settings are left as they are.
        settings: Each is a keyword of its own, listed below.

    Raises:
        InvalidNetworkError: Settings that cannot be, all that are; types that aggregates do not take; a function that
            several clocks would confuse.
        IncompatibleCheckpointError: The checkpoint was made for another network.
        UnsheddableQueryError: The policy cannot answer a query, and `unscalable` is "refuse".
        SourceUnavailableError: A folder or a topic that is not there, a broker that does not answer, a relation that
            cannot be read or repeats a key of a lookup.
        SinkUnavailableError: A checkpoint or sink that cannot be written to.
        PortInUseError: Another program listens on the port.
        ClusterUnavailableError: No executor has come.
    """
    sink = _sound_sink(settings.sink, network)
    require_settings(spark)
    use_this_python(spark)
    refuse_bad_feeds(settings.feeds, network)
    storage = Storage.at(absolute_location(settings.checkpoint))
    refuse_other_checkpoint(storage)
    refuse_lost_clocks(storage, network)
    await_executor(spark, patience_seconds=settings.worker_patience_seconds)
    server = PlanServer(host=settings.host, port=settings.port)
    try:
        starter, domains = _prepared(network, spark, settings, sink, server)
    except BaseException:
        server.close()
        raise
    watch = executor_watch(
        spark, lambda: domains.queries, domains.give_up, patience_seconds=settings.worker_patience_seconds
    )
    supervision = Supervision(
        domains,
        lambda stopped: starter.begin_again(domains, stopped),
        patience_seconds=settings.fault_patience_seconds,
    )
    run = Run(domains, server, starter, network, supervision, watch)
    try:
        starter.describe(network)
        for domain in domains.domains:
            starter.begin(domain)
    except BaseException:
        run.stop()
        raise
    if watch is not None:
        watch.start()
    supervision.start()
    return run


def _prepared(
    network: QueryNetwork, spark: SparkSession, settings: StartSettings, sink: Sink, server: PlanServer
) -> tuple[DomainStarter, RunningDomains]:
    """Compile each time domain, and ask for the workers that they begin with."""
    clocks = [domain.clock for domain in network.time_domains]
    control, elastic = settings.control(len(clocks)), settings.elastic
    partitions = settings.partitions or _default_partitions(spark, elastic)
    workers: Mapping[str, DomainWorkers] = {}
    if elastic is not None:
        period = control.trigger_interval_seconds
        workers = elastic_workers(spark, elastic, clocks, partitions=partitions, period_seconds=period)
    shared_time = SharedTime(clocks, control)

    def of_domain(clock: str) -> DomainSettings:
        return DomainSettings(
            checkpoint=f"{absolute_location(settings.checkpoint)}/{clock}",
            control=control,
            time=shared_time.of(clock),
            partitions=partitions,
            layout=StateLayout().extended(*settings.reserve),
            workers=workers.get(clock),
            needs=_needs(settings),
        )

    storage = Storage.reached(absolute_location(settings.checkpoint))
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


def _default_partitions(spark: SparkSession, elastic: ElasticSettings | None) -> int:
    if elastic is not None:
        return elastic_partitions(spark, elastic)
    return min(spark.sparkContext.defaultParallelism, os.cpu_count() or 1)


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


def _is_drained(domain: DomainRun) -> bool:
    domain.planner.record_last()
    target = domain.planner.drained_at
    return target is not None and round(domain.status.watermark_seconds * 1e3) >= target // 1_000
