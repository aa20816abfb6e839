"""Time domains of a run are begun, and handed over to another network, each on the checkpoint that it has."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamshed.errors import IncompatibleCheckpointError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.words.numbering import MICROSECONDS_PER_NUMBER
from streamshed.spark.checkpoint.description import describe
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import settings_for_queries
from streamshed.spark.common.failures import explained
from streamshed.spark.domain_checkpoint import DomainCheckpoint
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.domain_frame import DomainFrame
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.loop.domain_settings import DomainSettings
from streamshed.spark.plan.plan_server import PlanServer
from streamshed.spark.settled_query import await_sources
from streamshed.spark.sinks.prediction_sink import PredictionSink
from streamshed.spark.sinks.sinks import Sink
from streamshed.spark.start_settings import StartSettings
from streamshed.spark.windows.manifest import NEW_CHECKPOINT
from streamshed.spark.windows.unseen_windows import ALWAYS


@dataclass(frozen=True)
class HandOver:
    """What became of a change of queries while they run.

    Attributes:
        first_windows: By query that came, when its first whole window begins: no window of it is answered before, and
            all from there on are as exact as if it had been there from the start. A time in UTC, or a number where
            windows lie along numbers; None: all its windows are whole, as no row has come yet, or it asks for rows.
        pause_seconds: How long no micro-batch could begin, of the time domain that waited longest; 0: none waited.
    """

    first_windows: Mapping[str, datetime | int | None]
    pause_seconds: float


class RunningDomains:
    """The time domains of a run; one thread may change them while others look.

    Args:
        domains: In the order of their clocks.
    """

    def __init__(self, domains: Sequence[DomainRun]) -> None:
        # Replaced, never changed, so that no reader sees half a change.
        self.domains = tuple(domains)

    @property
    def by_clock(self) -> dict[str, DomainRun]:
        """The same, by clock."""
        return {running.domain.clock: running for running in self.domains}

    @property
    def queries(self) -> list[StreamingQuery]:
        """Spark's queries."""
        return [running.query for running in self.domains]

    def put(self, domain: DomainRun) -> None:
        """Let a time domain take the place of that of its clock."""
        self.domains = tuple((self.by_clock | {domain.domain.clock: domain}).values())

    def give_up(self) -> None:
        """Stop all in the midst of their micro-batches."""
        for running in self.domains:
            running.give_up()


@dataclass(frozen=True)
class Successor:
    """What is to take the place of a time domain that runs.

    Attributes:
        draft: What Spark makes of it.
        frame: Its answers.
    """

    draft: DomainDraft
    frame: DomainFrame


@dataclass(frozen=True, kw_only=True)
class DomainStarter:
    """With what time domains begin.

    Attributes:
        spark: The session.
        sink: Where answers go.
        server: Answers for plans.
        settings_of: How the time domain of a clock is to run.
        settings: What all have in common.
        checkpoint: Of all time domains.
    """

    spark: SparkSession
    sink: Sink
    server: PlanServer
    settings_of: Callable[[str], DomainSettings]
    settings: StartSettings
    checkpoint: Storage

    def prepared(self, draft: DomainDraft) -> DomainRun:
        """Return a time domain that is ready to begin.

        Args:
            draft: What is to run.

        Raises:
            StreamshedError: It cannot be.
        """
        checkpoint = self._checkpoint_of(draft)
        missing, client = checkpoint.missing(draft, checkpoint.manifest), self.server.client(draft.domain.clock)
        frame = DomainFrame.of(draft, self.spark, checkpoint.settings, checkpoint.manifest, client, missing)
        return DomainRun(draft, self.spark, checkpoint, frame, self._sink_of(draft.network))

    def begin(self, prepared: DomainRun) -> None:
        """Start the streaming query of a time domain."""
        folder = self.checkpoint.below(f"{prepared.domain.clock}/spark")
        with settings_for_queries(self.spark, prepared.manifest.partitions, folder):
            self.server.serve(prepared.client, prepared.planner.plan)
            prepared.start()
            await_sources(prepared.query)

    def describe(self, network: QueryNetwork) -> None:
        """Write down what runs, for those who look at the checkpoint."""
        describe(self.checkpoint, network, self.settings)

    def successors(self, network: QueryNetwork, running: Mapping[str, DomainRun]) -> dict[str, Successor]:
        """Lay out what is new of a network, beside what runs.

        Args:
            network: What is to run.
            running: What does, by clock.

        Returns:
            By clock, those time domains of which another thing is asked.

        Raises:
            StreamshedError: It cannot go on from what runs; nothing has changed then.
        """
        domains = {domain.clock: domain for domain in network.time_domains}
        self._sink_of(network)
        for clocks, what in ((running.keys() - domains, "is gone"), (domains.keys() - running, "is new")):
            if clocks:
                raise IncompatibleCheckpointError(
                    f'the clock "{min(clocks)}" {what}, but the streams of a checkpoint are fixed: {NEW_CHECKPOINT}'
                )
        successors = {}
        for clock, domain in domains.items():
            before = running[clock].draft
            queries = tuple(query for query in network.queries if query.stream in domain.streams)
            if queries != before.of_domain.queries or network.depth != before.network.depth:
                successors[clock] = self.successor(running[clock], DomainDraft.of(network, domain, self.spark))
        return successors

    def hand_over(self, running: RunningDomains, successor: Successor) -> float:
        """Stop a time domain between two micro-batches, and begin another on its checkpoint.

        Nothing stops while a source is away.

        Args:
            running: Those that run; what begins takes the place of what stops.
            successor: What is to run.

        Returns:
            For how many seconds no micro-batch could begin.

        Raises:
            StreamshedError: It failed, and what ran before runs again, or has failed, too.
        """
        before = running.by_clock[successor.draft.domain.clock]
        before.require_sources()
        try:
            before.close()
            self._begin_behind(before, successor, running)
        except BaseException as error:
            self._go_back(before, running)
            if isinstance(error, Exception):
                raise explained(error) from error
            raise
        return time.monotonic() - before.idle_since_seconds

    def hand_over_all(
        self, network: QueryNetwork, successors: Mapping[str, Successor], running: RunningDomains
    ) -> float:
        """Hand over time domains, and write down what runs: all of that, or nothing.

        Args:
            network: What is to run.
            successors: By clock, what is new of it.
            running: Those that run.

        Returns:
            For how many seconds no micro-batch could begin, of the one that waited longest.

        Raises:
            StreamshedError: As for `hand_over`. Notes of it tell what could not be handed back.
        """
        before = {clock: running.by_clock[clock].draft for clock in successors}
        pauses: dict[str, float] = {}
        try:
            for clock, successor in successors.items():
                pauses[clock] = self.hand_over(running, successor)
            self.describe(network)
        except BaseException as error:
            for clock in pauses:
                try:
                    self.hand_over(running, self.successor(running.by_clock[clock], before[clock]))
                except Exception as failure:  # noqa: BLE001 - whatever it is, what comes first is raised
                    error.add_note(f'the clock "{clock}" goes on with the other network: {failure}')
            raise
        return max(pauses.values(), default=0.0)

    def begin_again(self, running: RunningDomains, stopped: DomainRun) -> None:
        """Start a time domain that has failed again from its checkpoint.

        Raises:
            StreamshedError: It cannot be.
        """
        stopped.close()
        self._begin_behind(stopped, self.successor(stopped, stopped.draft), running)

    def successor(self, before: DomainRun, draft: DomainDraft) -> Successor:
        """Lay out what is to take the place of a time domain that runs.

        Args:
            before: What runs.
            draft: What is to run.

        Raises:
            StreamshedError: It cannot go on from what runs.
        """
        return Successor(draft, before.frame_behind(draft, self.server.client(draft.domain.clock)))

    def behind(self, before: DomainRun, successor: Successor) -> DomainRun:
        """Return a time domain that is ready to begin where another one has stopped.

        Args:
            before: What has stopped.
            successor: What is to run.

        Raises:
            StreamshedError: It cannot be.
        """
        draft, frame = successor.draft, successor.frame
        sink = self._sink_of(draft.network)
        return DomainRun(draft, self.spark, self._checkpoint_of(draft), frame, sink, before.finished)

    def _go_back(self, before: DomainRun, running: RunningDomains) -> None:
        try:
            before.go_back()
            self._begin_behind(before, self.successor(before, before.draft), running)
        except Exception as error:  # noqa: BLE001 - the run tells it, or waits until it has passed
            before.hindrance = error

    def _begin_behind(self, before: DomainRun, successor: Successor, running: RunningDomains) -> None:
        after = self.behind(before, successor)
        try:
            self.begin(after)
        except BaseException:
            after.call_off()
            self.server.forget(after.client)
            raise
        self.server.forget(before.client)
        running.put(after)

    def _checkpoint_of(self, draft: DomainDraft) -> DomainCheckpoint:
        return DomainCheckpoint(draft, self.settings_of(draft.domain.clock))

    def _sink_of(self, network: QueryNetwork) -> Sink:
        return self.sink.of_network(network) if isinstance(self.sink, PredictionSink) else self.sink


def first_windows(queries: Mapping[str, Query], domains: Mapping[str, DomainRun]) -> dict[str, datetime | int | None]:
    """Return when the first whole window of each query begins; see `HandOver`.

    Args:
        queries: By name.
        domains: What runs now, by clock.
    """
    return {
        name: _first_window(query, domains[query.stream.clock].manifest.whole_since.get(query.definition_id, ALWAYS))
        for name, query in queries.items()
    }


def _first_window(query: Query, since: int) -> datetime | int | None:
    if since == ALWAYS or query.aggregate is None or query.is_by_count:
        return None
    window = query.aggregate.over
    start = window.offset_microseconds - (window.offset_microseconds - since) // window.slide_microseconds * (
        window.slide_microseconds
    )
    if window.is_numbered:
        return start // MICROSECONDS_PER_NUMBER
    return datetime.fromtimestamp(start / 1e6, UTC)
