"""Workers begin once in each application, beside what goes on."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from streamshed.spark.cluster import warm_workers
from streamshed.spark.cluster.warm_workers import begin_workers


def test_workers_of_an_application_begin_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[str, bool]] = []

    def run(spark: Any) -> None:
        begun.append((spark.sparkContext.applicationId, threading.current_thread() is threading.main_thread()))

    monkeypatch.setattr(warm_workers, "_run", run)
    monkeypatch.setattr(warm_workers, "_BEGUN", set())
    for application in ("a", "a", "b"):
        session: Any = SimpleNamespace(sparkContext=SimpleNamespace(applicationId=application))
        begin_workers(session)
        for thread in threading.enumerate():
            if thread.name == "streamshed-workers":
                thread.join()
    assert begun == [("a", False), ("b", False)]
