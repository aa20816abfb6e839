"""Times in the JSON of a set-valued query's rows."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamshed.spark.row_answers import TIMES

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
