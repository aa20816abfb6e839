"""A run begins with its first executor: it is waited for, and for no longer than it may take."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import ClusterUnavailableError
from streamshed.spark.cluster import executor_watch
from streamshed.spark.cluster.executor_watch import await_executor

SESSION = cast(SparkSession, SimpleNamespace(sparkContext=SimpleNamespace(getConf=dict[str, str])))


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_watch, "has_executors", lambda _: True)
    monkeypatch.setattr(executor_watch, "_LOOK_AT_START_SECONDS", 0.001)
    monkeypatch.setattr(executor_watch, "cluster_facts", lambda _: None)
    monkeypatch.setattr(executor_watch, "missing_executors", lambda _, seconds: f"none within {seconds:.1f} s")


def test_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: Iterator[bool] = iter([False, False, True])
    monkeypatch.setattr(executor_watch, "_has_any", lambda _: next(looks))
    await_executor(SESSION, patience_seconds=60.0)
    assert list(looks) == []


def test_one_that_does_not_come_ends_the_start_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(1_000_000))
    monkeypatch.setattr(executor_watch, "_has_any", lambda _: next(looks) < 0)
    with pytest.raises(ClusterUnavailableError, match="none within"):
        await_executor(SESSION, patience_seconds=0.05)
    assert next(looks) > 1


def test_an_application_that_the_cluster_has_ended_is_not_waited_for() -> None:
    stopped = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: True))
    context = SimpleNamespace(getConf=dict[str, str], master="spark://host:7077", _jsc=stopped)
    session = cast(SparkSession, SimpleNamespace(sparkContext=context))
    with pytest.raises(ClusterUnavailableError, match=r'the application has ended on the cluster "spark://host:7077"'):
        await_executor(session, patience_seconds=60.0)
