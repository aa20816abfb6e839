import pytest
from pyspark.sql import SparkSession


def test_a_query_runs(spark: SparkSession) -> None:
    total = spark.range(10).selectExpr("sum(id) AS total").collect()
    assert [row.total for row in total] == [45]


def test_timestamps_are_in_utc(spark: SparkSession) -> None:
    [row] = spark.sql("SELECT CAST(timestamp_seconds(0) AS string) AS text").collect()
    assert row.text == "1970-01-01 00:00:00"


def test_tests_here_are_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("spark") is not None
