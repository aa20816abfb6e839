"""A fault that passes is waited out, with growing pauses and an end; one of the network's own is not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from streamshed.errors import IncompatibleCheckpointError, ServerUnavailableError, SourceUnavailableError
from streamshed.network.model.network import TimeDomain
from streamshed.spark.common.failures import may_pass
from streamshed.spark.hand_over import RunningDomains
from streamshed.spark.loop.run_status import RunStatus
from streamshed.spark.supervision import Supervision

NO_BROKER = RuntimeError("Caused by: org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node")
OWN_FAULT = RuntimeError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012")


@dataclass
class Domain:
    """A time domain in memory."""

    failure: Exception | None = None
    latest: int = 7

    @property
    def domain(self) -> TimeDomain:
        return TimeDomain("time", ())

    @property
    def status(self) -> RunStatus:
        return RunStatus(clock="time", micro_batch_id=self.latest)


class Starter:
    """Starts domains again, or fails to, as it is told."""

    def __init__(self, *failures: Exception | None) -> None:
        self.failures, self.starts = list(failures), 0
        self.running = RunningDomains([Domain()])  # type: ignore[list-item]

    def __call__(self, stopped: Any) -> None:
        self.starts += 1
        if (failure := self.failures.pop(0)) is not None:
            raise failure
        self.running.put(Domain(latest=stopped.latest))  # type: ignore[arg-type]

    @property
    def domain(self) -> Any:
        return self.running.domains[0]

    def fail(self, error: Exception) -> None:
        self.domain.failure = error


def supervised(starter: Starter, patience_seconds: float = 600.0) -> Supervision:
    return Supervision(starter.running, starter, patience_seconds=patience_seconds)


def looked(supervision: Supervision, starter: Starter, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Look every tenth of a second, on a clock of the test's own; return when starts were tried."""
    tried: list[float] = []
    for tenth in range(round(seconds * 10)):
        now = tenth / 10
        monkeypatch.setattr("streamshed.spark.supervision.time.monotonic", lambda now=now: now)
        before = starter.starts
        supervision.look(now)
        tried += [now] * (starter.starts - before)
    return tried


def test_it_is_started_again_with_growing_pauses_until_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = Starter(ServerUnavailableError("no broker"), NO_BROKER, None)
    starter.fail(NO_BROKER)
    supervision = supervised(starter)
    assert looked(supervision, starter, 20, monkeypatch) == [1.0, 3.0, 7.0]
    assert supervision.failure(starter.domain) is None


def test_a_topic_that_a_broker_does_not_know_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run had it: a broker that has just come back learns of it by and by."""
    missing = SourceUnavailableError("there is no such topic")
    missing.__cause__ = RuntimeError("org.apache.kafka.common.errors.UnknownTopicOrPartitionException: no such topic")
    starter = Starter(missing, None)
    starter.fail(NO_BROKER)
    supervision = supervised(starter)
    assert looked(supervision, starter, 20, monkeypatch) == [1.0, 3.0]
    assert supervision.failure(starter.domain) is None


def test_a_fault_that_comes_again_before_a_micro_batch_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = Starter(None, None, None)
    starter.fail(NO_BROKER)
    supervision = supervised(starter)
    assert looked(supervision, starter, 2, monkeypatch) == [1.0]
    starter.fail(NO_BROKER)
    assert looked(supervision, starter, 5, monkeypatch) == [3.0]
    assert supervision.note
    starter.domain.latest += 1
    supervision.look(6.0)
    assert not supervision.note


def test_who_cannot_be_told_how_far_it_is_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    starter, calls = Starter(None), []

    def on_look(domains: Sequence[Any]) -> None:
        calls.append(len(domains))
        starter.fail(NO_BROKER)
        raise BrokenPipeError("nobody reads")

    monkeypatch.setattr("streamshed.spark.supervision.FIRST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("streamshed.spark.supervision.LOOK_EVERY_SECONDS", 0.001)
    supervision = Supervision(starter.running, starter, patience_seconds=600.0, on_look=on_look)
    supervision.start()
    deadline = time.monotonic() + 30
    while not starter.starts and time.monotonic() < deadline:
        time.sleep(0.01)
    supervision.close()
    assert (starter.starts, len(calls)) == (1, 1)


def test_pauses_grow_up_to_a_bound_and_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = Starter(*[NO_BROKER] * 30)
    starter.fail(NO_BROKER)
    supervision = supervised(starter, patience_seconds=70.0)
    assert supervision.failure(starter.domain) is None
    assert looked(supervision, starter, 300, monkeypatch) == [1.0, 3.0, 7.0, *range(15, 70, 15)]
    assert supervision.failure(starter.domain) is NO_BROKER


def test_a_fault_of_the_networks_own_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = Starter()
    starter.fail(OWN_FAULT)
    supervision = supervised(starter)
    assert looked(supervision, starter, 10, monkeypatch) == []
    assert supervision.failure(starter.domain) is OWN_FAULT


def test_so_does_a_checkpoint_that_it_cannot_go_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = IncompatibleCheckpointError("it was changed meanwhile")
    starter = Starter(refusal)
    starter.fail(NO_BROKER)
    supervision = supervised(starter)
    assert looked(supervision, starter, 10, monkeypatch) == [1.0]
    assert supervision.failure(starter.domain) is refusal


def test_who_stops_is_told_what_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = Starter()
    starter.fail(NO_BROKER)
    supervision = supervised(starter)
    supervision.look(0.0)
    supervision.close()
    assert looked(supervision, starter, 10, monkeypatch) == []
    assert supervision.failure(starter.domain) is NO_BROKER


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.DisconnectException: x", True),
        ("java.net.ConnectException: Connection refused", True),
        ("org.apache.kafka.common.KafkaException: Failed to construct; No resolvable bootstrap urls given", True),
        ("org.apache.kafka.common.errors.RecordTooLargeException: too large", False),
        ("org.apache.kafka.common.errors.TopicAuthorizationException: no", False),
        ("org.apache.spark.api.python.PythonException: java.net.ConnectException said the user", False),
        ("org.apache.spark.api.python.PythonException: x\nstreamshed.errors.ServerUnavailableError: registry", True),
        ("org.apache.spark.api.python.PythonException: x\nstreamshed.errors.SourceUnavailableError: registry", False),
        ("ZeroDivisionError: division by zero", False),
        ("my.java.net.ConnectExceptional", False),
    ],
)
def test_which_faults_may_pass(text: str, passes: bool) -> None:
    assert may_pass(RuntimeError(text)) is passes
