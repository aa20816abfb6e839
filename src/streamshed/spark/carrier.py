"""The carrier: one row per micro-batch that moves the watermark of a stream and tells how far its time has come.

It keeps the watermark moving when the stream is silent, when all of it is shed, and at the end of a replay; and the
windows of ungrouped queries that it has passed are answered even where no row fell into them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.spark.internal_names import CARRIER


def carrier_frame(spark: SparkSession) -> DataFrame:
    """Return a stream of one row per micro-batch, which makes every trigger a micro-batch, input or not.

    Every stream needs one of its own: of a source that is used twice, Spark writes the offset twice, but numbers it
    once, and then the numbers of sources are no longer those of the lines that hold their offsets.
    """
    reader = spark.readStream.format("rate-micro-batch")
    return reader.option("rowsPerBatch", 1).option("numPartitions", 1).load()


def with_carrier(source: DataFrame, carrier: DataFrame) -> DataFrame:
    """Put the carrier's rows among those of a source: all columns null but `CARRIER`, which is null in others."""
    nothing = F.lit(None)
    carried = [nothing.cast(field.dataType).alias(field.name) for field in source.schema.fields]
    rows = source.withColumn(CARRIER, nothing.cast("bigint"))
    return rows.unionByName(carrier.select(*carried, F.col("value").alias(CARRIER)))


def without_carrier(source: DataFrame) -> DataFrame:
    """Give a bounded source, which needs none, the column that tells so."""
    return source.withColumn(CARRIER, F.lit(None).cast("bigint"))
