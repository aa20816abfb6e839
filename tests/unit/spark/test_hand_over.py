"""Time domains that are handed over to another network, with what Spark does left out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streamshed.errors import (
    RunEndedError,
    ServerUnavailableError,
    SinkUnavailableError,
    SourceUnavailableError,
    StreamshedError,
)
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.source.sources import rate
from streamshed.spark.domain_draft import DomainDraft
from streamshed.spark.domain_frame import DomainFrame
from streamshed.spark.domain_run import DomainRun
from streamshed.spark.hand_over import DomainStarter, RunningDomains, Successor, first_windows
from streamshed.spark.run import Run
from streamshed.spark.supervision import Supervision

TICKS = stream("ticks", rate(10), time="timestamp")
SECOND = 1_000_000


class Domain:
    """Stands for a time domain of a run: notes what is done with it."""

    def __init__(self, draft: Any, finished: Any = None) -> None:
        self.draft, self.domain, self.finished = draft, draft.domain, finished
        self.idle_since_seconds = float("inf")
        self.query = SimpleNamespace(isActive=True, exception=lambda: None)
        self.client = f"the client of {draft.name}"
        self.status = SimpleNamespace(micro_batch_id=7)
        self.done: list[str] = []
        self.hindrance: Exception | None = None
        self.fails_to_close: Exception | None = None
        self.lacks: Exception | None = None

    @property
    def failure(self) -> Exception | None:
        return self.hindrance or self.query.exception()

    def require_sources(self) -> None:
        if self.lacks is not None:
            raise self.lacks

    def close(self) -> None:
        self.idle_since_seconds, self.query.isActive = time.monotonic(), False
        self.done.append("closed")
        if self.fails_to_close is not None:
            raise self.fails_to_close

    def call_off(self) -> None:
        self.done.append("called off")

    def go_back(self) -> None:
        self.done.append("gone back to")


@dataclass(frozen=True, kw_only=True)
class Starter(DomainStarter):
    """Starts such domains, but for drafts that fail."""

    failing: list[Any] = field(default_factory=list)
    failure: BaseException = field(default_factory=lambda: SourceUnavailableError("its folder went away"))
    described: list[QueryNetwork] = field(default_factory=list)
    full_disk: bool = False

    def describe(self, network: QueryNetwork) -> None:
        if self.full_disk:
            raise SinkUnavailableError("the disk is full")
        self.described.append(network)

    begun: list[Any] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def successors(
        self,
        network: QueryNetwork,  # noqa: ARG002 - as the real one
        running: Mapping[str, DomainRun],
    ) -> dict[str, Successor]:
        return {clock: successor(name, clock) for name, clock in zip("cd", running, strict=True)}

    def successor(self, before: DomainRun, draft: DomainDraft) -> Successor:  # noqa: ARG002 - as the real one
        return Successor(draft, cast(DomainFrame, None))

    def behind(self, before: DomainRun, successor: Successor) -> DomainRun:
        self.begun.append(Domain(successor.draft, before.finished))
        return cast(DomainRun, self.begun[-1])

    def begin(self, prepared: DomainRun) -> None:
        if prepared.draft in self.failing:
            raise self.failure


def draft(name: str, clock: str = "time") -> Any:
    return SimpleNamespace(name=name, domain=SimpleNamespace(clock=clock))


def successor(name: str, clock: str = "time") -> Successor:
    return Successor(draft(name, clock), cast(DomainFrame, None))


def starter(*failing: Any, **options: Any) -> Starter:
    nothing = cast(Any, None)
    forgotten: list[str] = []
    return Starter(
        spark=nothing,
        sink=nothing,
        server=cast(Any, SimpleNamespace(forget=forgotten.append)),
        settings_of=nothing,
        settings=nothing,
        checkpoint=nothing,
        failing=list(failing),
        forgotten=forgotten,
        **options,
    )


def running(*drafts: Any) -> RunningDomains:
    return RunningDomains(cast(Any, [Domain(one, finished=f"what {one.name} finished") for one in drafts]))


def names(domains: RunningDomains) -> list[str]:
    return [one.draft.name for one in cast(Any, domains.domains)]


def test_what_begins_takes_the_place_of_what_stops_and_knows_what_it_finished() -> None:
    domains = running(draft("a"), draft("b", clock="sensors"))
    stopped = domains.domains[0]
    seconds = starter().hand_over(domains, successor("c"))
    assert names(domains) == ["c", "b"]
    assert cast(Any, domains.domains[0]).finished == "what a finished"
    assert not stopped.query.isActive
    assert 0 <= seconds < 60


def test_where_it_cannot_begin_what_ran_before_runs_again() -> None:
    domains, bad = running(draft("a")), successor("bad")
    starts, (before,) = starter(bad.draft), cast(Any, domains.domains)
    with pytest.raises(SourceUnavailableError, match="went away"):
        starts.hand_over(domains, bad)
    assert names(domains) == ["a"]
    assert domains.domains[0].query.isActive
    assert before.done == ["closed", "gone back to"]
    assert starts.begun[0].done == ["called off"]
    assert starts.forgotten == ["the client of bad", "the client of a"]


NO_BROKER = ServerUnavailableError("no broker answers")


def test_while_a_broker_is_away_nothing_is_stopped() -> None:
    domains = running(draft("a"))
    (domain,) = cast(Any, domains.domains)
    domain.lacks = NO_BROKER
    with pytest.raises(ServerUnavailableError, match="no broker"):
        starter().hand_over(domains, successor("c"))
    assert (names(domains), domain.done, domain.query.isActive) == (["a"], [], True)


def test_where_neither_can_begin_as_a_broker_went_away_what_ran_before_is_started_again_once_it_is_back() -> None:
    domains = running(draft("a"))
    starts = starter(draft("a"), draft("c"), failure=NO_BROKER)
    supervision = Supervision(domains, lambda gone: starts.begin_again(domains, gone), patience_seconds=300.0)
    run = Run(domains, ExitStack(), starts, network(TICKS.query("rows")), supervision)
    with pytest.raises(ServerUnavailableError, match="no broker"):
        starts.hand_over(domains, successor("c"))
    now = time.monotonic()
    for seconds in range(3):
        supervision.look(now + seconds)
    assert (run.is_active, run.exception) == (True, None)
    assert run.waits_for == "no broker answers: started again until that has passed"
    starts.failing.clear()
    supervision.look(now + 30.0)
    assert names(domains) == ["a"]
    assert domains.domains[0].query.isActive


def test_where_neither_can_begin_for_a_fault_that_stays_the_run_has_failed() -> None:
    domains = running(draft("a"))
    starts = starter(draft("a"), draft("c"))
    supervision = Supervision(domains, lambda gone: starts.begin_again(domains, gone), patience_seconds=300.0)
    run = Run(domains, ExitStack(), starts, network(TICKS.query("rows")), supervision)
    with pytest.raises(SourceUnavailableError, match="went away"):
        starts.hand_over(domains, successor("c"))
    supervision.look(10.0)
    assert not run.is_active
    assert str(run.exception) == "its folder went away"


def test_a_change_that_is_interrupted_leaves_what_ran_before() -> None:
    domains = running(draft("a"))
    with pytest.raises(KeyboardInterrupt):
        starter(draft("c"), failure=KeyboardInterrupt()).hand_over(domains, successor("c"))
    assert names(domains) == ["a"]
    assert domains.domains[0].query.isActive


def two_clocks(starts: Starter) -> tuple[Run, RunningDomains]:
    """A run of a and b, in whose place c and d are to come."""
    domains = running(draft("a"), draft("b", "sensors"))
    supervision = Supervision(domains, lambda _: None, patience_seconds=1.0)
    return Run(domains, ExitStack(), starts, network(TICKS.query("rows")), supervision), domains


def test_several_clocks_are_handed_over_together() -> None:
    starts = starter()
    (run, domains), after = two_clocks(starts), network(TICKS.query("rows"))
    assert 0 <= run.hand_over(after).pause_seconds < 60
    assert (names(domains), run.network, starts.described) == (["c", "d"], after, [after])


@pytest.mark.parametrize("starts", [starter(draft("d", "sensors")), starter(full_disk=True)], ids=["query", "disk"])
def test_where_one_clock_cannot_be_handed_over_none_is(starts: Starter) -> None:
    run, domains = two_clocks(starts)
    before = run.network
    with pytest.raises(StreamshedError, match=r"went away|disk is full"):
        run.hand_over(network(TICKS.query("rows")))
    assert (names(domains), run.network, starts.described) == (["a", "b"], before, [])
    assert run.is_active


def test_an_error_notes_which_clock_could_not_be_handed_back() -> None:
    run, domains = two_clocks(starter(draft("d", "sensors"), draft("a")))
    with pytest.raises(SourceUnavailableError, match="went away") as raised:
        run.hand_over(network(TICKS.query("rows")))
    assert names(domains) == ["c", "b"]
    assert raised.value.__notes__ == ['the clock "time" goes on with the other network: its folder went away']


def test_who_waits_is_told_of_a_clock_that_has_failed_while_another_runs_on() -> None:
    run, domains = two_clocks(starter())
    first, second = cast(Any, domains.domains)
    assert not run.await_termination(0.0)
    full = RuntimeError("java.io.IOException: No space left on device")
    second.query = SimpleNamespace(isActive=False, exception=lambda: full)
    with pytest.raises(SinkUnavailableError, match="no space is left") as raised:
        run.await_termination()
    assert raised.value.__cause__ is full
    assert first.query.isActive


def test_who_waits_is_told_once_all_clocks_have_stopped() -> None:
    run, domains = two_clocks(starter())
    first, second = cast(Any, domains.domains)
    first.close()
    assert not run.await_termination(0.0)
    second.close()
    assert run.await_termination()


def test_where_it_cannot_be_closed_in_good_order_it_runs_again() -> None:
    domains = running(draft("a"))
    cast(Any, domains.domains[0]).fails_to_close = SinkUnavailableError("the disk is full")
    with pytest.raises(SinkUnavailableError, match="disk is full"):
        starter().hand_over(domains, successor("c"))
    assert names(domains) == ["a"]
    assert domains.domains[0].query.isActive


def test_a_stop_closes_all_whatever_one_of_them_raises() -> None:
    domains, opened, closed = running(draft("a"), draft("b", clock="sensors")), ExitStack(), []
    opened.callback(lambda: closed.append("what was opened"))
    for domain in cast(Any, domains.domains):
        domain.fails_to_close = SinkUnavailableError(f"the disk of {domain.draft.name} is full")
    supervision = Supervision(domains, lambda _: None, patience_seconds=1.0)
    run = Run(domains, opened, starter(), network(TICKS.query("rows")), supervision)
    with pytest.raises(SinkUnavailableError, match="disk of a is full"):
        run.stop()
    assert [domain.done for domain in cast(Any, domains.domains)] == [["closed"], ["closed"]]
    assert closed == ["what was opened"]


def test_a_run_that_cannot_be_drained_is_stopped() -> None:
    class Planner:
        def drain(self) -> None:
            """Asked for."""

        def record_last(self) -> int:
            raise SourceUnavailableError("a file vanished while it was read")

    domains = running(draft("a"))
    (domain,) = cast(Any, domains.domains)
    domain.planner = Planner()
    supervision = Supervision(domains, lambda _: None, patience_seconds=1.0)
    run = Run(domains, ExitStack(), starter(), network(TICKS.query("rows")), supervision)
    with pytest.raises(SourceUnavailableError, match="vanished"):
        run.drain()
    assert domain.done == ["closed"]


def test_a_run_that_has_ended_is_not_handed_over() -> None:
    domains = running(draft("a"))
    cast(Any, domains.domains[0]).query.exception = lambda: ValueError("it failed")
    supervision = Supervision(domains, lambda _: None, patience_seconds=1.0)
    run = Run(domains, cast(Any, None), starter(), network(TICKS.query("rows")), supervision)
    with pytest.raises(RunEndedError, match="has ended"):
        run.add(TICKS.filter("value > 1").query("more"))


def query(**window: Any) -> Query:
    return TICKS.window("10 seconds", **window).agg(n="count(*)").query("q")


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("slide", [5, 10])
@pytest.mark.parametrize("since", [0, 1, 4_999_999, 5 * SECOND, 12 * SECOND + 1])
def test_the_first_whole_window_is_the_first_that_begins_after_what_was_read(
    since: int, slide: int, offset: int
) -> None:
    asked = query(every=f"{slide} seconds", offset=f"{offset} seconds")
    manifest = SimpleNamespace(whole_since={asked.definition_id: since})
    told = first_windows({"q": asked}, {"time": cast(DomainRun, SimpleNamespace(manifest=manifest))})
    starts = (offset * SECOND + number * slide * SECOND for number in range(-5, 20))
    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=next(one for one in starts if one >= since))
    assert told == {"q": expected}


def test_of_rows_and_of_a_run_without_rows_there_is_no_first_window() -> None:
    manifest = SimpleNamespace(whole_since={})
    asked = {"q": query(), "rows": TICKS.query("rows")}
    told = first_windows(asked, {"time": cast(DomainRun, SimpleNamespace(manifest=manifest))})
    assert told == {"q": None, "rows": None}
