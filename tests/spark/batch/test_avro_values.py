"""Values of Avro on Spark: what is read is what fastavro reads, and what cannot be is told row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import streamshed as ss
from streamshed.columnar.avro_values import NO_AVRO, NO_FRAME, UNKNOWN_SCHEMA
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.parsed_rows import NO_TEXT
from streamshed.spark.admit.sampled_rows import sampled_rows
from streamshed.spark.common.internal_names import TEXT, UNREADABLE
from tests.avro_samples import encoded
from tests.registry_server import Registered, register, running_registry

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
INSTANT = {"type": "long", "logicalType": "timestamp-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
HOST = {"type": "record", "name": "Host", "fields": [{"name": "name", "type": "string"}]}
FIELDS = [{"name": "ts", "type": INSTANT}, {"name": "host", "type": HOST}, {"name": "price", "type": ["null", PRICE]}]
FIRST = {"type": "record", "name": "Fare", "fields": [*FIELDS, {"name": "gone", "type": "string"}]}
SECOND = {
    "type": "record",
    "name": "Fare",
    "fields": [*FIELDS, {"name": "tip", "type": "double", "default": 0.5}],
}
SOURCE_COLUMNS = "value binary, topic string, partition int, offset bigint"


def fares() -> list[dict[str, Any]]:
    return [
        {
            "ts": EPOCH + timedelta(seconds=number),
            "host": {"name": "ab"[number % 2]},
            "price": None if number % 5 == 0 else Decimal(number * 37 % 1000) / 100,
            **({"gone": "x"} if number < 30 else {"tip": 0.25}),
        }
        for number in range(60)
    ]


@pytest.fixture(scope="module")
def registry() -> Iterator[tuple[str, list[int]]]:
    with running_registry(Registered()) as url:
        yield url, [register(url, "fares-value", schema) for schema in (FIRST, SECOND)]


@pytest.fixture(scope="module")
def values(registry: tuple[str, list[int]]) -> tuple[list[bytes | None], dict[bytes | None, str]]:
    """Values of fares and, among them, broken ones; and why these cannot be read."""
    _, (first, second) = registry
    whole = [
        encoded(FIRST, fare, number=first) if "gone" in fare else encoded(SECOND, fare, number=second)
        for fare in fares()
    ]
    broken = {
        None: NO_TEXT,
        b"": NO_FRAME,
        b'{"ts": 5}': NO_FRAME,
        whole[3][:-1]: NO_AVRO,
        whole[40] + b"\0": NO_AVRO,
        b"\0\0\0\x7f\x7f\x01": UNKNOWN_SCHEMA,
    }
    return [*whole[:20], *broken, *whole[20:]], broken


def packets(registry: tuple[str, list[int]]) -> ss.Rows:
    parse = ss.parse_avro("value", registry=registry[0])
    return ss.stream("fares", ss.kafka("fares", "host:9092"), time="ts", parse=parse)


def frame(spark: SparkSession, rows: list[bytes | None]) -> DataFrame:
    numbered = [(value, "fares", 0, offset) for offset, value in enumerate(rows)]
    key, timestamp = F.lit(None).cast("binary").alias("key"), F.lit(None).cast("timestamp").alias("timestamp")
    return spark.createDataFrame(numbered, SOURCE_COLUMNS).select("*", key, timestamp)


def test_each_value_is_a_row_or_tells_why_it_is_none(
    spark: SparkSession, registry: tuple[str, list[int]], values: tuple[list[bytes | None], dict[bytes | None, str]]
) -> None:
    rows, broken = values
    read = sampled_rows(frame(spark, rows), packets(registry).stream, Admission()).orderBy("offset")
    got = read.select("ts", "host", "price", "tip", UNREADABLE, F.unbase64(TEXT).alias("bytes")).toArrow().to_pylist()
    expected = iter(fares())
    for value, row in zip(rows, got, strict=True):
        if value in broken:
            assert row == {
                **dict.fromkeys(("ts", "host", "price", "tip")),
                UNREADABLE: broken[value],
                "bytes": None if value is None else value,
            }
        else:
            fare = next(expected)
            written = {name: fare[name] for name in ("ts", "host", "price")} | {"tip": fare.get("tip", 0.5)}
            assert row == {**written, UNREADABLE: None, "bytes": None}


def test_queries_answer_over_the_fields_of_records(
    spark: SparkSession, registry: tuple[str, list[int]], values: tuple[list[bytes | None], dict[bytes | None, str]]
) -> None:
    fare = packets(registry)
    queries = fare.map(name="host.name").filter("price > 1").window("30 seconds").by("name").agg(tips="sum(tip)")
    answers = ss.network(queries.query("tips")).answers(spark, {"fares": frame(spark, values[0])})
    expected = Counter[tuple[datetime, str]]()
    for number, each in enumerate(fares()):
        if each["price"] is not None and each["price"] > 1:
            expected[EPOCH + timedelta(seconds=number // 30 * 30), each["host"]["name"]] += each.get("tip", 0.5)
    rows = answers.toArrow().to_pylist()
    got = {(row["window_start"], row["key"][0]): row["value"] for row in rows if row["kind"] == "answer"}
    assert got == expected
    assert sum(row["rows_used"] for row in rows if row["kind"] == "unreadable") == len(values[1])
