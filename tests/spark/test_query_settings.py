"""What a network's query runs with, and what the session keeps."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from streamshed.spark.session import QUERY_SETTINGS, settings_for_queries

pytestmark = pytest.mark.spark


def test_a_session_has_its_own_settings_back(spark: SparkSession) -> None:
    before = {name: spark.conf.get(name, None) for name in QUERY_SETTINGS}
    with settings_for_queries(spark, 2, local_checkpoint=True):
        assert {name: spark.conf.get(name) for name in QUERY_SETTINGS} == dict(QUERY_SETTINGS)
    assert {name: spark.conf.get(name, None) for name in QUERY_SETTINGS} == before
