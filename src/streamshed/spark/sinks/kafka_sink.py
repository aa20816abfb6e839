"""Answers as records of a topic: each under a key of its own, so that a compacted topic has it once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA, GAP, IDENTITY_COLUMNS, LATE, ROW
from streamshed.errors import InvalidNetworkError, SinkUnavailableError, SourceUnavailableError
from streamshed.network.words.given import given_options, is_filled_text
from streamshed.spark.common.connector import KAFKA
from streamshed.spark.source.broker import Broker

_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Without it, microseconds would be lost."""


@dataclass(frozen=True)
class KafkaSink:
    """A topic.

    A record's key tells the query, the window, the key and the aggregate, its value is the whole answer, both as JSON.
    A micro-batch that is run again sends the same records again: at least once, and once on a compacted topic.

    Attributes:
        topic: The topic.
        servers: Where the cluster is found.
        options: Options of Spark's connector, sorted by name.
    """

    reads_once: ClassVar[bool] = True

    topic: str
    servers: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f'the sink kafka "{self.topic}"'

    def check(self) -> None:
        """See that the cluster answers, and has the topic, where there is a session that can ask it."""
        spark = SparkSession.getActiveSession()
        if spark is None:
            return
        try:
            spark.read.format("kafka").option("subscribe", self.topic).option(
                "kafka.bootstrap.servers", self.servers
            ).load()
        except AnalysisException as error:
            raise SinkUnavailableError(str(KAFKA.refused(error, self.label))) from error
        broker = Broker(spark, self.label, self.servers, dict(self.options))
        try:
            broker.require_topics([self.topic])
        except SourceUnavailableError as error:
            raise SinkUnavailableError(str(error)) from error
        finally:
            broker.close()

    def write(self, answers: DataFrame, query_id: str, micro_batch_id: int) -> None:
        """Send the answers."""
        writer = self.records(answers, micro_batch_id).write.format("kafka").options(**dict(self.options))
        writer.option("kafka.bootstrap.servers", self.servers).option("topic", self.topic).save()

    def records(self, answers: DataFrame, micro_batch_id: int) -> DataFrame:
        """Return what is sent: `key` without what is null, `value` with all columns, both JSON.

        Of a query, a window and a group there is one answer for each aggregate, and one gap for each cohort. Rows of a
        query without aggregates have no more than what they say, and late rows are counted in each micro-batch.
        """
        of = F.when(F.col("kind").isin(ROW, GAP), F.col("value_text")).alias("of")
        micro_batch = F.when(F.col("kind") == LATE, F.lit(micro_batch_id)).alias("micro_batch_id")
        key = F.to_json(F.struct(*IDENTITY_COLUMNS, of, micro_batch), _TIMES)
        value = F.to_json(F.struct(*[name for name, _ in ANSWER_SCHEMA]), {**_TIMES, "ignoreNullFields": "false"})
        return answers.select(key.alias("key"), value.alias("value"))


def kafka_sink(topic: str, servers: str, *, options: Mapping[str, str] | None = None) -> KafkaSink:
    """Send answers to a topic; the session needs Spark's connector to Kafka.

    Args:
        topic: The topic; with `cleanup.policy=compact` it has each answer once.
        servers: Where the cluster is found, as "host:port,host:port".
        options: Options of Spark's connector, such as {"kafka.security.protocol": "SSL"}.

    Raises:
        InvalidNetworkError: The topic or the servers are no text.
    """
    if not (is_filled_text(topic) and is_filled_text(servers)):
        raise InvalidNetworkError(f"a sink of Kafka is a topic and where the cluster is, got {topic!r}, {servers!r}")
    return KafkaSink(topic, servers, given_options(options))
