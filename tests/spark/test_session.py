import re
import subprocess
import sys
from functools import partial

import pytest
from pyspark.sql import SparkSession

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.kafka_source import kafka
from streamshed.network.source.sources import rate
from streamshed.spark.cluster.session import require_settings
from streamshed.spark.source.source_frame import files_read_by_tasks


def test_a_query_runs(spark: SparkSession) -> None:
    total = spark.range(10).selectExpr("sum(id) AS total").collect()
    assert [row.total for row in total] == [45]


def test_timestamps_are_in_utc(spark: SparkSession) -> None:
    [row] = spark.sql("SELECT CAST(timestamp_seconds(0) AS string) AS text").collect()
    assert row.text == "1970-01-01 00:00:00"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("session.timeZone", "Europe/Vienna", 'time zone is "Europe/Vienna": set spark.sql.session.timeZone to UTC'),
        ("session.timeZone", "+02:00", 'time zone is "+02:00": set spark.sql.session.timeZone to UTC'),
        ("timestampType", "TIMESTAMP_NTZ", "spark.sql.timestampType is TIMESTAMP_NTZ: set it to TIMESTAMP_LTZ"),
        ("caseSensitive", "true", "spark.sql.caseSensitive is true: set it to false"),
        ("legacy.timeParserPolicy", "LEGACY", "timeParserPolicy is LEGACY: set it to CORRECTED"),
        ("files.ignoreMissingFiles", "true", "rows of files that vanish would be lost"),
        ("files.ignoreCorruptFiles", "true", "rows of damaged files would be lost"),
    ],
)
def test_a_session_in_which_answers_would_be_wrong_is_refused(
    spark: SparkSession, name: str, value: str, says: str
) -> None:
    elsewhere = spark.newSession()
    elsewhere.conf.set(f"spark.sql.{name}", value)
    ticks = stream("ticks", rate(1), time="timestamp").window("1 second").agg(n="count(*)").query("q")
    for refused in (network(ticks).answers, partial(network(ticks).start, checkpoint="/nowhere", sink=print)):
        with pytest.raises(InvalidNetworkError, match=re.escape(says)):
            refused(elsewhere)


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "+00:00", "Z"])
def test_utc_has_many_names(spark: SparkSession, zone: str) -> None:
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", zone)
    require_settings(elsewhere)


def test_what_tells_tasks_of_topics_is_of_the_session_that_the_rows_are_of(spark: SparkSession) -> None:
    elsewhere = spark.newSession()
    packets = stream("packets", kafka("packets", "host:9092"), time="timestamp")
    [domain] = network(packets.query("all")).time_domains
    assert files_read_by_tasks(elsewhere, domain, ["packets"], is_streaming=True)["packets"].sparkSession is elsewhere
    assert files_read_by_tasks(elsewhere, domain, ["packets"], is_streaming=False) == {}


_HANDED_OVER = """
from pathlib import Path
from streamshed.spark import local_session

with local_session(cores=1, memory="512m", options={"spark.hadoop.fs.s3a.secret.key": "hush-hush"}) as spark:
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    print("java" if any(b"spark.driver.memory=512m" in line for line in lines) else "no java")
    print("told" if any(b"hush-hush" in line for line in lines) else "hidden")
    print(spark.sparkContext._jsc.hadoopConfiguration().get("fs.s3a.secret.key"))
    print(spark.sparkContext.defaultParallelism)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_secrets_of_a_session_are_on_no_command_line() -> None:
    done = subprocess.run([sys.executable, "-"], input=_HANDED_OVER, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["java", "hidden", "hush-hush", "1"], done.stderr[-2000:]


def test_tests_here_are_marked(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("spark") is not None
