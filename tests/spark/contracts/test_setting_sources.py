"""Hadoop sends with each of its settings what set it; it can be made to forget that, and keeps the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.cluster import setting_sources
from streamshed.spark.cluster.setting_sources import forget_setting_sources

_OF_A_FILE = "io.file.buffer.size"
_OF_A_PROGRAM = "streamshed.test.setting"


@pytest.fixture
def settings(spark: SparkSession) -> Iterator[Any]:
    """Those of Hadoop, of which one was set just now."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no public way
    hadoop.set(_OF_A_PROGRAM, "1")
    yield hadoop
    hadoop.unset(_OF_A_PROGRAM)


def _bytes_sent(spark: SparkSession, settings: Any) -> int:
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark sends them by itself
    util = java.org.apache.spark.util
    return len(util.Utils.serialize(util.SerializableConfiguration(settings)))


def test_settings_keep_their_values_and_lose_their_sources(spark: SparkSession, settings: Any) -> None:
    number, buffer_size = settings.size(), settings.get(_OF_A_FILE)
    assert list(settings.getPropertySources(_OF_A_PROGRAM)) == ["programmatically"]
    forget_setting_sources(spark)
    assert settings.getPropertySources(_OF_A_PROGRAM) is None
    assert settings.getPropertySources(_OF_A_FILE) is None
    assert (settings.size(), settings.get(_OF_A_FILE), settings.get(_OF_A_PROGRAM)) == (number, buffer_size, "1")


def test_a_setting_that_is_made_later_has_its_source(spark: SparkSession, settings: Any) -> None:
    forget_setting_sources(spark)
    settings.set(_OF_A_PROGRAM, "2", "a test")
    assert list(settings.getPropertySources(_OF_A_PROGRAM)) == ["a test"]


def test_less_is_sent_with_each_access_to_state(spark: SparkSession) -> None:
    """Against what Hadoop reads from its own files: at least as many settings, in fewer bytes."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - as above
    of_files = java.org.apache.hadoop.conf.Configuration()
    forget_setting_sources(spark)
    sent = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - so Spark makes them
    assert sent.size() >= of_files.size()
    assert _bytes_sent(spark, sent) < 0.8 * _bytes_sent(spark, of_files)


def test_where_hadoop_is_another_it_goes_on(
    spark: SparkSession, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting_sources, "_SOURCES", "there is no such field")
    forget_setting_sources(spark)
    assert list(settings.getPropertySources(_OF_A_PROGRAM)) == ["programmatically"]
