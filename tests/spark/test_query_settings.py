"""What a network's query runs with, and what the session keeps."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.session import PARTS_PER_CORE, QUERY_SETTINGS, settings_for_queries

pytestmark = pytest.mark.spark

PARTS = "spark.sql.files.minPartitionNum"


def test_files_are_spread_where_windows_may_be_dropped(spark: SparkSession) -> None:
    with settings_for_queries(spark, 2, local_checkpoint=True, drops_windows=True):
        assert spark.conf.get(PARTS) == str(PARTS_PER_CORE * spark.sparkContext.defaultParallelism)
    assert spark.conf.get(PARTS, None) is None
    with settings_for_queries(spark, 2, local_checkpoint=True):
        assert spark.conf.get(PARTS, None) is None


def test_what_the_session_says_of_files_holds(spark: SparkSession) -> None:
    spark.conf.set(PARTS, "3")
    try:
        with settings_for_queries(spark, 2, local_checkpoint=True, drops_windows=True):
            assert spark.conf.get(PARTS) == "3"
        assert spark.conf.get(PARTS) == "3"
    finally:
        spark.conf.unset(PARTS)


def test_a_session_has_its_own_settings_back(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name, None) for name in QUERY_SETTINGS}
    with settings_for_queries(spark, 2, local_checkpoint=True):
        assert {name: spark.conf.get(name) for name in QUERY_SETTINGS} == dict(QUERY_SETTINGS)
    assert {name: spark.conf.get(name, None) for name in QUERY_SETTINGS} == before
