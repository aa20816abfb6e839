import re
from functools import partial

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.network import network
from streamshed.network.sources import rate
from streamshed.network.stream import stream
from streamshed.spark.session import require_utc


def test_a_query_runs(spark: SparkSession) -> None:
    total = spark.range(10).selectExpr("sum(id) AS total").collect()
    assert [row.total for row in total] == [45]


def test_timestamps_are_in_utc(spark: SparkSession) -> None:
    [row] = spark.sql("SELECT CAST(timestamp_seconds(0) AS string) AS text").collect()
    assert row.text == "1970-01-01 00:00:00"


@pytest.mark.parametrize("zone", ["Europe/Vienna", "+02:00"])
def test_a_session_with_another_time_zone_is_refused(spark: SparkSession, zone: str) -> None:
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", zone)
    ticks = stream("ticks", rate(1), time="timestamp").window("1 second").agg(n="count(*)").query("q")
    for refused in (network(ticks).answers, partial(network(ticks).start, checkpoint="/nowhere", sink=print)):
        with pytest.raises(
            InvalidNetworkError, match=f"time zone is .{re.escape(zone)}.: set spark.sql.session.timeZone"
        ):
            refused(elsewhere)


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "+00:00", "Z"])
def test_utc_has_many_names(spark: SparkSession, zone: str) -> None:
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", zone)
    require_utc(elsewhere)


def test_tests_here_are_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("spark") is not None
