"""Aggregates of aggregates over a DataFrame of the user's own: tasks know its columns, and nothing else of it."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from tests.spark.sessions import interpreting


def test_they_are_answered(spark: SparkSession) -> None:
    spark = interpreting(spark)
    ticks = stream("ticks", spark.readStream.format("rate").load(), time="timestamp")
    per_second = ticks.window("1 second").agg(n="count(*)")
    most = network(per_second.window("10 seconds").agg(most="max(n)").query("q"))
    rows = spark.range(100).select(F.timestamp_seconds(F.sqrt("id")).alias("timestamp"), F.col("id").alias("value"))
    [answer] = most.answers(spark, {"ticks": rows}).collect()
    assert answer.value == 19, "from 81 to 99: numbers whose roots are in the tenth second"
