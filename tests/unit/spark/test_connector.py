"""What a session needs for topics and tables, and what is said where it is missing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

import streamshed as ss
from streamshed.cli.connectors import connector_options
from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.spark import delta_sink
from streamshed.spark.common.connector import AVRO, DELTA, KAFKA, Connector, connector_settings


@pytest.mark.parametrize(
    ("connector", "spark", "version"),
    [
        (KAFKA, "4.1.1", "4.1.0"),
        (KAFKA, "4.2.0", "4.2.0"),
        (KAFKA, "4.3.0", "4.2.0"),
        (DELTA, "4.2.0", "4.4.0"),
        (AVRO, "4.2.1", "4.2.0"),
    ],
)
def test_a_connector_fits_the_release_of_spark(connector: Connector, spark: str, version: str) -> None:
    assert connector.package(spark).rpartition(":")[2] == version


def test_a_relation_in_a_table_of_delta_lake_needs_one() -> None:
    files = ss.stream("files", ss.folder("in", "json", schema="ts timestamp, k int"), time="ts")
    for labels, needed in (
        (ss.delta("labels", schema="k int, label string"), [DELTA]),
        (ss.iceberg("live.labels", schema="k int, label string"), []),
    ):
        looked_up = ss.network(files.lookup(ss.relation("labels", labels), on="k").query("all"))
        if DELTA.fits():
            assert connector_options(looked_up, None) == connector_settings(needed)
        assert connector_options(looked_up, "a.jar")["spark.jars"] == "a.jar"


def test_a_folder_of_avro_needs_one_and_values_of_avro_do_not() -> None:
    instant = {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}}
    values = ss.parse_avro("value", {"type": "record", "name": "Packet", "fields": [instant]})
    files = ss.stream("files", ss.folder("in", "avro", schema="ts timestamp"), time="ts")
    records = ss.stream("values", ss.kafka("packets", "host:9092"), time="ts", parse=values)
    assert connector_options(ss.network(records.query("all")), None) == connector_settings([KAFKA])
    of_files = ss.network(files.query("all"))
    if AVRO.fits():
        assert connector_options(of_files, None) == connector_settings([AVRO])
    else:
        with pytest.raises(SourceUnavailableError, match="no build of the connector to files of Avro runs on PySpark"):
            connector_options(of_files, None)


def test_several_are_fetched_together() -> None:
    settings = connector_settings([KAFKA, DELTA])
    assert settings["spark.jars.packages"] == f"{KAFKA.package()},{DELTA.package()}"
    assert settings.keys() - {"spark.jars.packages"} == DELTA.settings.keys()
    assert connector_settings([KAFKA, DELTA], are_there=True) == DELTA.settings


def test_where_it_is_missing_the_way_out_is_told() -> None:
    error = AnalysisException("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta.")
    refused = DELTA.refused(error, 'the sink delta "out"')
    assert isinstance(refused, SourceUnavailableError)
    assert str(refused).startswith('the sink delta "out": the session has no connector to Delta Lake: start it with')
    assert "io.delta.sql.DeltaSparkSessionExtension" in str(refused)
    other = AnalysisException("[PATH_NOT_FOUND]")
    assert DELTA.refused(other, "x") is other


def test_where_no_build_runs_no_settings_are_advised() -> None:
    """What is built for an older release fails deep in Spark, at the first table."""
    refused = str(dataclasses.replace(DELTA, last_release="4.1").missing('the sink delta "out"'))
    assert refused.startswith('the sink delta "out": no build of the connector to Delta Lake runs on PySpark 4')
    assert "4.1" in refused
    assert "spark.jars.packages" not in refused


def test_a_table_is_a_path_and_partitioned_by_columns_of_answers() -> None:
    sink = delta_sink("out", partition_by=("query",))
    assert (sink.path, sink.partition_by) == (str(Path.cwd() / "out"), ("query",))
    for path, columns, says in [
        ("", (), "a path or a URI"),
        (5, (), "got 5"),
        ("out", ("qery",), "unknown column of answers"),
        ("out", ("query", "kind", "query"), '"query" twice'),
        ("out", ("key",), '"key", which is array<string>'),
        ("out", ("value",), '"value", which is double'),
    ]:
        with pytest.raises(InvalidNetworkError, match=says):
            delta_sink(path, partition_by=columns)  # type: ignore[arg-type]
