"""Workers begin once in each application, beside what goes on, and say once whether they can read topics."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from streamshed.spark.cluster import warm_workers
from streamshed.spark.cluster.warm_workers import begin_workers, obstacle_to_topics


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(warm_workers, "_BEGUN", {})
    yield
    _await_workers()


def _await_workers() -> None:
    for thread in threading.enumerate():
        if thread.name == "streamshed-workers":
            thread.join()


def _session(application: str = "a", master: str = "spark://host:7077", python: str = "python3") -> Any:
    context = SimpleNamespace(applicationId=application, master=master, pythonExec=python)
    return SimpleNamespace(sparkContext=context)


def test_workers_of_an_application_begin_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, bool]] = []

    def run(spark: Any, _workers: Any) -> None:
        begun.append((spark.sparkContext.applicationId, threading.current_thread() is threading.main_thread()))

    monkeypatch.setattr(warm_workers, "_run", run)
    for application in ("a", "a", "b"):
        begin_workers(_session(application))
        _await_workers()
    assert begun == [("a", False), ("b", False)]


def test_the_answer_of_workers_is_settled_once_and_logged_once_for_each_stream(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter(["no client on b", ""])
    monkeypatch.setattr(warm_workers, "_run", lambda _spark, workers: workers.settle(next(answers)))
    with caplog.at_level(logging.WARNING, "streamshed"):
        said = [obstacle_to_topics(_session(), name) for name in ("packets", "packets", "flows")]
        assert obstacle_to_topics(_session("b"), "packets") == ""
    assert said == ["no client on b"] * 3
    assert caplog.messages == [
        f'stream "{name}": Spark reads its records: no client on b' for name in ("packets", "flows")
    ]


def test_workers_that_say_nothing_in_time_are_not_heard_later(monkeypatch: pytest.MonkeyPatch) -> None:
    late = threading.Event()

    def run(_spark: Any, workers: Any) -> None:
        late.wait(10)
        workers.settle("")

    monkeypatch.setattr(warm_workers, "_run", run)
    monkeypatch.setattr(warm_workers, "_PATIENCE_SECONDS", 0.01)
    first = obstacle_to_topics(_session(), "packets")
    late.set()
    _await_workers()
    assert "no worker has said" in first
    assert obstacle_to_topics(_session(), "packets") == first


def test_workers_with_the_python_of_this_process_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_workers, "_run", lambda _spark, workers: workers.settle("asked"))
    assert obstacle_to_topics(_session(master="local[2]", python=sys.executable), "packets") == ""
    assert obstacle_to_topics(_session(master="local[2]", python="/other/python"), "packets") == "asked"
