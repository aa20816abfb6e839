"""Exact answers of bounded input: what lies in a folder, and DataFrames in its stead."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import folder
from streamshed.spark.source.carrier import carrier_frame
from tests.spark.event_times import at
from tests.spark.files import write_lines

ROWS = [(at(second), second % 3) for second in range(20)]


@pytest.fixture
def queries(tmp_path: Path) -> QueryNetwork:
    lines = [json.dumps({"ts": instant.isoformat(), "v": v}) for instant, v in ROWS]
    write_lines(tmp_path / "in" / "0.json", lines)
    events = stream("events", folder(tmp_path / "in", "json", schema="ts timestamp, v int"), time="ts")
    return network(events.filter("v > 0").window("10 seconds").agg(n="count(*)", total="sum(v)").query("q"))


def found(answers: DataFrame) -> list[tuple[str, float]]:
    rows = answers.orderBy("window_start", "aggregate").collect()
    assert all(row.exact for row in rows)
    return [(row.aggregate, row.value) for row in rows]


def test_a_typed_dataframe_stands_for_a_folder_of_text(spark: SparkSession, queries: QueryNetwork) -> None:
    typed = spark.createDataFrame(ROWS, "ts timestamp, v int")
    expected = [("n", 6.0), ("total", 9.0), ("n", 7.0), ("total", 10.0)]
    assert found(queries.answers(spark)) == expected
    assert found(queries.answers(spark, {"events": typed})) == expected
    lines = typed.select(F.to_json(F.struct("ts", "v")).alias("value"))
    assert found(queries.answers(spark, {"events": lines})) == expected


def test_a_typed_dataframe_may_have_a_column_called_as_lines_are(spark: SparkSession, tmp_path: Path) -> None:
    source = folder(tmp_path / "in", "json", schema="ts timestamp, value int")
    values = stream("values", source, time="ts").window("10 seconds").agg(total="sum(value)").query("q")
    typed = spark.createDataFrame(ROWS, "ts timestamp, value int")
    assert found(network(values).answers(spark, {"values": typed})) == [("total", 9.0), ("total", 10.0)]


def test_a_dataframe_without_a_column_is_refused(spark: SparkSession, queries: QueryNetwork) -> None:
    frame = spark.createDataFrame([(at(0), 1)], "tss timestamp, v int")
    with pytest.raises(InvalidNetworkError, match=r'"events": its DataFrame has no column "ts" .did you mean "tss"'):
        queries.answers(spark, {"events": frame})


def test_a_streaming_dataframe_is_refused(spark: SparkSession, queries: QueryNetwork) -> None:
    with pytest.raises(InvalidNetworkError, match='"events": bounded input is a static DataFrame'):
        queries.answers(spark, {"events": carrier_frame(spark)})
