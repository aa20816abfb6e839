"""The handle on a network that runs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from streamshed.control.explained_change import ExplainedChange, explain_change
from streamshed.errors import RunEndedError
from streamshed.network.document.document import network_to_document, parse_network
from streamshed.network.model.network import QueryNetwork
from streamshed.network.model.query import Query
from streamshed.network.words.notebook import ShownInBrief
from streamshed.spark.checkpoint.storage import absolute_location
from streamshed.spark.cluster.executor_watch import ExecutorWatch
from streamshed.spark.common.call_sites import without_call_sites
from streamshed.spark.common.failures import explained
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.hand_over import DomainStarter, HandOver, RunningDomains, first_windows
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.operators.expression_checker import parser_of
from streamshed.spark.supervision import LOOK_EVERY_SECONDS, Supervision
from streamshed.statistics.network_statistics import NetworkStatistics

if TYPE_CHECKING:
    from streamshed.page.serving import PageServer


class Run(ShownInBrief):
    """A network that runs, made by `start`; use it as a context manager to have it stopped."""

    def __init__(
        self,
        domains: RunningDomains,
        opened: ExitStack,
        starter: DomainStarter,
        network: QueryNetwork,
        supervision: Supervision,
        watch: ExecutorWatch | None = None,
    ) -> None:
        self._running = domains
        self._opened, self._starter, self._network, self._watch = opened, starter, network, watch
        self._is_closed = False
        self._supervision = supervision
        self._changing = supervision.changing
        self._pages = ExitStack()

    def __str__(self) -> str:
        state = self.waits_for or ("runs" if self.is_active else "has ended")
        queries = ", ".join(query.name for query in self._network.queries)
        return "\n".join([f"{queries}: {state}", *map(str, self.statuses().values())])

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
        return domain.failure is not None and self._supervision.failure(domain) is None

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
            StreamshedError: They could not begin. Whatever is raised, all runs as before, or is started again until it
                does.
        """
        return self._go_on(lambda network: network.with_queries(*queries))

    def remove(self, *names: str) -> HandOver:
        """Ask some queries no longer; their open windows are not answered.

        Args:
            *names: Those that go.

        Raises:
            InvalidNetworkError: There is no query of a name, or none would be left.
            StreamshedError: As for `add`.
        """
        return self._go_on(lambda network: network.without_queries(*names))

    def change(self, name: str, **goals: Any) -> HandOver:
        """Give a query other goals from here on; what it asks stays, and its windows go on.

        Args:
            name: The query.
            **goals: `weight`, `priority`, `mode`, `max_error`, `max_gap`, `gaps_by` or `latency`, as `.query(...)`
                takes them.

        Raises:
            InvalidNetworkError: There is no such query or goal, or a goal cannot be.
            StreamshedError: As for `add`.
        """
        return self._go_on(lambda network: network.with_goals(name, **goals))

    def hand_over(self, network: QueryNetwork) -> HandOver:
        """Run another network over the same streams from here on, under the same checkpoint.

        It is compiled, checked and laid out while the present one runs. Then each time domain of which another thing is
        asked stops between two micro-batches, and the new one reads on where it stopped. What was killed in the midst
        of it goes on with either.

        Args:
            network: What is to run.

        Raises:
            StreamshedError: As for `add`.
        """
        return self._go_on(lambda _network: network)

    @without_call_sites()
    def _go_on(self, edit: Callable[[QueryNetwork], QueryNetwork]) -> HandOver:
        """Hand over to what is made of the network that runs; of two changes at a time none undoes the other."""
        with self._changing:
            if self._is_closed or self._given_up is not None or self.exception is not None:
                raise RunEndedError("the run has ended: start the other network instead") from self.exception
            network = edit(self._network)
            successors = self._starter.successors(network, self._running.by_clock)
            pause_seconds = self._starter.hand_over_all(network, successors, self._running)
            before, self._network = self._network, network
            ran = {query.definition_id for query in before.queries}
            come = {query.name: query for query in network.queries if query.definition_id not in ran}
            return HandOver(first_windows(come, self._running.by_clock), pause_seconds)

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
        return NetworkStatistics.together(domain.statistics() for domain in self._domains)

    def explain(self, *queries: Query, load: float = 1.0) -> ExplainedChange:
        """Tell what more queries would cost at the load that runs, and whose answers would pay; nothing is added.

        Args:
            *queries: Those that may come.
            load: How many times as many rows come as do at present, on average.

        Raises:
            InvalidNetworkError: A name that is there already, or what no network can have.
            InvalidStatisticsError: No load is sustained, or every load is.
        """
        return self.explain_hand_over(self._network.with_queries(*queries), load=load)

    def explain_hand_over(self, network: QueryNetwork, *, load: float = 1.0) -> ExplainedChange:
        """Tell what another network would cost in the place of this one; see `explain` and `hand_over`."""
        control = self._starter.settings_of(self._domains[0].domain.clock).control
        return explain_change(self._network, network, self.statistics(), control, load=load)

    def page(self, *, host: str = "127.0.0.1", port: int = 0) -> PageServer:
        """Show the run as a page on which its queries can be changed, until the page is closed or the run is stopped.

        Args:
            host: Address to listen on. Who has the token in the page's address may change queries; beyond loopback
                nothing is shown without it.
            port: Port to listen on; 0: any that is free.

        Returns:
            The page: its `url`, and `close()`, which the end of a `with` block calls. Notebooks show it as a link.

        Raises:
            RunEndedError: The run was stopped. `streamshed page CHECKPOINT` shows what it has left.
            MissingExtraError: The extra `page` is not installed.
            PortInUseError: Another program listens there, or the address is not of this machine.
        """
        checkpoint = absolute_location(self._starter.settings.checkpoint)
        if self._is_closed:
            raise RunEndedError(f'the run has ended: show what it has left with streamshed page "{checkpoint}"')
        # Who runs a network without its page needs no server of pages.
        serving, changes = (import_module(f"streamshed.page.{name}") for name in ("serving", "changes"))

        def go_on(edit: Callable[[str], str]) -> HandOver:
            checker = parser_of(self._starter.spark)
            return self._go_on(
                lambda network: parse_network(edit(network_to_document(network)), expression_checker=checker).network
            )

        changing = changes.Changes(lambda: network_to_document(self._network), go_on)
        page: PageServer = serving.PageServer(checkpoint, host=host, port=port, changes=changing)
        self._pages.callback(page.close)
        return page

    def await_termination(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it stops, and raise what stopped it, or a clock of it; False when the time ran out first."""
        deadline = math.inf if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not self._has_ended:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(LOOK_EVERY_SECONDS, left))
        if (failure := self.exception) is not None:
            raise failure
        return True

    @property
    def _has_ended(self) -> bool:
        """Whether something stopped it, or a clock of it, or all has stopped."""
        if self.exception is not None:
            return True
        if any(map(self._runs, self._domains)):
            return False
        with self._changing:  # it may have been stopped to be handed over
            return not any(map(self._runs, self._domains))

    def drain(self, timeout_seconds: float = 120.0) -> bool:
        """Read all that has come, answer all windows that are open, then stop; False when the time ran out first.

        For the end of a bounded replay: once each source has brought what it had when this was called, the watermark
        passes the end of every window, so that rows which come later under the same checkpoint are late. A source that
        never has nothing new, and does not tell what it has left, takes all the time there is.
        """
        deadline = time.monotonic() + timeout_seconds
        drained = False
        try:
            while self.is_active and not drained and time.monotonic() < deadline:
                for domain in self._domains:
                    domain.planner.drain()  # also of one that was started again since
                drained = all(_is_drained(domain) for domain in self._domains)
                if not drained:
                    time.sleep(LOOK_EVERY_SECONDS)
        finally:
            self.stop()
        return drained

    def stop(self) -> None:
        """Stop; what is open stays in the checkpoint."""
        self._supervision.close()
        self._pages.close()  # before, for a change that is being made there has to end
        with self._changing:
            if self._is_closed:
                return
            self._is_closed = True
            with ExitStack() as closing:  # whatever one of them raises, the others are closed
                closing.callback(self._opened.close)
                for domain in self._domains:
                    closing.callback(domain.close)
                if self._watch is not None:
                    closing.callback(self._watch.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _is_drained(domain: DomainRun) -> bool:
    domain.planner.record_last()
    target = domain.planner.drained_at
    return target is not None and round(domain.status.watermark_seconds * 1e3) >= target // 1_000
