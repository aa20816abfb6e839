"""What a network's query runs with, and what the session keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.cluster.session import (
    FILE_MANAGER,
    LOCAL_CHECKPOINT_SETTINGS,
    MEMORY_LIMIT,
    QUERY_SETTINGS,
    SAFETY_SETTINGS,
    settings_for_queries,
    state_settings,
)
from streamshed.spark.windows.manifest import read_manifest
from tests.spark.files import timed_values, write_parquet
from tests.spark.harness import QUICK, Collected, wait_for_micro_batch

pytestmark = pytest.mark.spark

SOURCES = 8
"""So many that Spark has not made them all by the time that it was told to start."""


def test_a_session_has_its_own_settings_back(spark: SparkSession, tmp_path: Path) -> None:
    names = [*QUERY_SETTINGS, *SAFETY_SETTINGS]
    before = {name: spark.conf.get(name, None) for name in names}
    with settings_for_queries(spark, 2, Storage.at(str(tmp_path))):
        assert {name: spark.conf.get(name) for name in names} == {**QUERY_SETTINGS, **SAFETY_SETTINGS}
    assert {name: spark.conf.get(name, None) for name in names} == before


def test_a_session_may_choose_its_own_limits(spark: SparkSession, tmp_path: Path) -> None:
    session, (name, value) = spark.newSession(), (MEMORY_LIMIT, "64")
    session.conf.set(name, value)
    with settings_for_queries(session, 2, Storage.at(str(tmp_path))):
        assert state_settings(session)["rocksdb.maxMemoryUsageMB"] == value
    assert session.conf.get(name) == value


def test_what_takes_time_in_each_micro_batch_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    """Processes for logs of sources, which look at settings once a query was started, and what set those of Hadoop."""
    names = [f"events_{number}" for number in range(SOURCES)]
    for name in names:
        write_parquet(tmp_path / name / "0.parquet", timed_values([0], [0]))
    sources = [folder(tmp_path / name, "parquet", schema="ts timestamp, v bigint") for name in names]
    streams = [stream(name, source, time="ts") for name, source in zip(names, sources, strict=True)]
    queries = network(*(one.window("1 second").agg(n="count(*)").query(f"of_{one.stream.name}") for one in streams))
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way
    hadoop.set("streamshed.test.setting", "1")
    with queries.start(spark, checkpoint=str(tmp_path / "checkpoint"), sink=Collected(), **QUICK) as run:
        wait_for_micro_batch(run, 0)
        (query,) = spark.streams.active
        manifest = read_manifest(Storage.at(str(tmp_path / "checkpoint" / "time")))
        managers = _managers_of_logs(query)
    assert len(managers) == SOURCES
    assert set(managers) == {LOCAL_CHECKPOINT_SETTINGS[FILE_MANAGER]}
    assert hadoop.getPropertySources("streamshed.test.setting") is None
    hadoop.unset("streamshed.test.setting")
    assert manifest is not None
    assert manifest.state_settings.items() >= {"checkpointFormatVersion": "2", "rowChecksum.enabled": "true"}.items()


def _managers_of_logs(query: Any) -> list[str]:
    """By which class each source over a folder writes its log."""
    made = query._jsq.streamingQuery().sources()  # noqa: SLF001 - Spark tells it to nobody
    found = []
    for number in range(made.size()):
        source = made.apply(number)
        if source.getClass().getSimpleName() == "FileStreamSource":
            field = source.getClass().getDeclaredField("metadataLog")
            field.setAccessible(True)
            found.append(field.get(source).fileManager().getClass().getName())
    return found
