"""The records of topics as a streaming DataFrame, read by Spark's connector to Kafka."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.control.rows_to_read import FIRST_ROWS
from streamshed.network.model.kafka_source import KafkaSource
from streamshed.spark.common.connector import KAFKA


def topic_rows(spark: SparkSession, source: KafkaSource) -> DataFrame:
    """Return the streaming DataFrame of topics, with the columns of the source.

    Raises:
        SourceUnavailableError: The session has no connector to Kafka.
    """
    first = FIRST_ROWS if source.max_rows_per_micro_batch is None else source.max_rows_per_micro_batch
    reader = spark.readStream.format("kafka").options(**dict(source.options))
    reader = reader.option("kafka.bootstrap.servers", source.servers)
    reader = reader.option("subscribePattern" if source.is_pattern else "subscribe", ",".join(source.topics))
    reader = reader.option("startingOffsets", source.start).option("includeHeaders", source.headers)
    reader = reader.option("failOnDataLoss", False).option("maxOffsetsPerTrigger", first)
    try:
        rows = reader.load()
    except AnalysisException as error:
        raise KAFKA.refused(error, source.label) from error
    return rows.select(*[F.col(column.name).alias(source.column(column.name)) for column in source.broker_columns])
