"""What a sink of Kafka sends: keys that tell answers apart, values with all columns."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamshed.answering.table.answer_schema import ANSWER_DDL, ANSWER_SCHEMA
from streamshed.errors import InvalidNetworkError, SinkUnavailableError, SourceUnavailableError
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json
from streamshed.spark.sinks.kafka_sink import kafka_sink
from streamshed.spark.source.source_frame import streaming_frame

START = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
ANSWER = {
    "kind": "answer",
    "query": "q",
    "window_start": START,
    "window_end": datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
    "key": ["a", None],
    "aggregate": "n",
    "value": float("nan"),
    "exact": True,
}


def keys(spark: SparkSession, *changes: dict[str, Any], micro_batch_id: int = 7) -> list[dict[str, Any]]:
    rows = [{name: (ANSWER | change).get(name) for name, _ in ANSWER_SCHEMA} for change in changes]
    records = kafka_sink("answers", "a:1").records(spark.createDataFrame(rows, ANSWER_DDL), micro_batch_id)
    return [json.loads(record.key) for record in records.collect()]


def test_answers_are_told_apart_by_query_window_key_and_aggregate(spark: SparkSession) -> None:
    other_text = {"value_text": "8", "reason": "sampled", "value": 3.0}
    elsewhere = {"window_start": datetime(2026, 1, 1, tzinfo=UTC)}
    first, same, *others = keys(spark, {}, other_text, {"aggregate": "m"}, {"key": ["a", "b"]}, elsewhere)
    assert first == same
    assert len({json.dumps(key) for key in (first, *others)}) == 4
    assert first["window_start"] == "2026-01-01T00:00:00.123456Z"


def test_rows_are_told_apart_by_what_they_say_and_late_rows_by_micro_batch(spark: SparkSession) -> None:
    row, other = keys(spark, {"kind": "row", "value_text": "{}"}, {"kind": "row", "value_text": '{"a": 1}'})
    assert row != other
    late = {"kind": "late", "aggregate": None}
    assert keys(spark, late) != keys(spark, late, micro_batch_id=8)
    assert keys(spark, {}) == keys(spark, {}, micro_batch_id=8)


def test_values_have_all_columns(spark: SparkSession) -> None:
    rows = spark.createDataFrame([{name: ANSWER.get(name) for name, _ in ANSWER_SCHEMA}], ANSWER_DDL)
    (record,) = kafka_sink("answers", "a:1").records(rows, 7).collect()
    assert list(json.loads(record.value)) == [name for name, _ in ANSWER_SCHEMA]
    assert json.loads(record.value)["key"] == ["a", None]


def test_a_session_without_the_connector_says_how_to_get_it(spark: SparkSession) -> None:
    source = kafka("packets", "127.0.0.1:9")
    packets = stream("packets", source, time="ts", parse=parse_json("value", "ts timestamp"))
    says = r'kafka "packets": the session has no connector to Kafka: .*spark-sql-kafka-0-10_2.13:4.2.0'
    with pytest.raises(SourceUnavailableError, match=says):
        streaming_frame(spark, packets.stream)
    with pytest.raises(SinkUnavailableError, match="the session has no connector to Kafka"):
        kafka_sink("answers", "127.0.0.1:9").check()


def test_a_sink_is_a_topic_and_where_it_is() -> None:
    with pytest.raises(InvalidNetworkError, match="a sink of Kafka is a topic"):
        kafka_sink("answers", " ")
