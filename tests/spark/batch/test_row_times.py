"""Times in the JSON of a set-valued query's rows."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import folder
from streamshed.spark.compile.row_answers import TIMES

ZONE = "spark.sql.session.timeZone"


def test_times_are_in_utc_whatever_the_zone_of_the_session(spark: SparkSession) -> None:
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, "Asia/Kolkata")
    try:
        row = F.struct(F.timestamp_micros(F.lit(1_500_000)).alias("at"))
        (found,) = spark.range(1).select(F.to_json(row, TIMES).alias("text")).collect()
    finally:
        spark.conf.set(ZONE, before or "UTC")
    assert found.text == '{"at":"1970-01-01T00:00:01.500000Z"}'


def test_answers_have_all_digits_of_times_with_and_without_a_zone(spark: SparkSession) -> None:
    source = folder("/nowhere", "parquet", schema="ts timestamp, local timestamp_ntz")
    rows = network(stream("events", source, time="ts").query("rows"))
    instant = F.timestamp_micros(F.lit(1_500_007)).alias("ts")
    frame = spark.range(1).select(instant, F.lit("2026-01-02 03:04:05").cast("timestamp_ntz").alias("local"))
    (found,) = rows.answers(spark, {"events": frame}).collect()
    assert found.value_text == '{"ts":"1970-01-01T00:00:01.500007Z","local":"2026-01-02T03:04:05.000000"}'
