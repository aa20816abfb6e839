from collections.abc import Mapping
from typing import Any

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError

from streamshed.errors import JavaUnavailableError
from streamshed.spark.cluster import java_process
from streamshed.spark.cluster.java_process import start_quietly
from streamshed.spark.cluster.session import START_SETTINGS


def test_java_starts_with_what_it_can_be_given_only_then(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Mapping[str, str]] = []

    def launch(settings: SparkConf, **_: object) -> str:
        launched.append(dict(settings.getAll()))
        return "gateway"

    used: list[Any] = []
    monkeypatch.setattr(java_process, "require_java", lambda: None)
    monkeypatch.setattr(java_process, "launch_gateway", launch)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", lambda *, gateway: used.append(gateway))
    start_quietly(memory="3g")
    assert launched == [{**START_SETTINGS, "spark.driver.memory": "3g"}]
    assert used == ["gateway"]


def test_java_that_runs_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_process, "launch_java", lambda _settings: pytest.fail("Java was launched"))
    monkeypatch.setattr(SparkContext, "_gateway", "gateway")
    start_quietly(memory="3g")


def test_where_java_ends_at_its_start_the_connectors_that_it_was_to_fetch_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end(*_: object, **__: object) -> None:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(java_process, "require_java", lambda: None)
    monkeypatch.setattr(java_process, "launch_gateway", end)
    settings = SparkConf(loadDefaults=False).set("spark.jars.packages", "io.delta:delta-spark_2.13:4.4.0")
    with pytest.raises(JavaUnavailableError, match=r"could io\.delta:delta-spark_2\.13:4\.4\.0 not be fetched\?"):
        java_process.launch_java(settings)
