"""What a Kafka cluster says of topics, asked by the client that Spark's connector brings.

Rests on Spark's internals: tests/spark/kafka/test_topics.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from streamshed.errors import ServerUnavailableError, SourceUnavailableError
from streamshed.spark.checkpoint.partition_offsets import PartitionOffsets
from streamshed.spark.common.failures import innermost_cause, may_pass

_PATIENCE_SECONDS = 10
"""How long a cluster may take to answer before a run begins."""

_RUNNING_PATIENCE_SECONDS = 2
"""The same while micro-batches wait for it."""

_PLACE = re.compile(r"([^\s{]+)-(\d+)=ListOffsetsResultInfo\(offset=(-?\d+), timestamp=(-?\d+)")
"""An entry of the answer as Java writes it: all of it is read by one call, where each entry by itself takes six."""


class Broker:
    """A cluster, asked about topics.

    Args:
        spark: The session, with the connector.
        label: What the topics are called in messages.
        servers: Where the cluster is, as "host:port,host:port".
        options: Options of Spark's connector: those that begin with "kafka." are the client's.
    """

    def __init__(self, spark: SparkSession, label: str, servers: str, options: Mapping[str, str]) -> None:
        self._java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's client has no other way
        self._label, self._servers, self._options = label, servers, options
        self._client: Any = None
        self._requests: dict[str, tuple[PartitionOffsets, Any]] = {}

    def require_topics(self, topics: Iterable[str]) -> None:
        """See that the cluster answers, and has some topics.

        Raises:
            ServerUnavailableError: It does not answer.
            SourceUnavailableError: It has not, or may not be asked.
        """
        names = self._java.java.util.ArrayList()
        for topic in topics:
            names.add(topic)
        try:
            self._answer(self._admin().describeTopics(names).allTopicNames(), _PATIENCE_SECONDS)
        except Py4JError as error:
            # Of a topic Kafka says that it may come yet, which is true of a broker that has just come back.
            is_away = may_pass(error) and not _is_unknown_topic(error)
            says = f"{self._label}: {self._reason(error)}"
            raise (ServerUnavailableError if is_away else SourceUnavailableError)(says) from error

    def earliest(self, partitions: PartitionOffsets) -> PartitionOffsets | None:
        """Return the earliest offset that each partition has; None: the cluster does not answer.

        Args:
            partitions: Whatever their offsets are.
        """
        places = self._places("earliest", partitions)
        if places is None:
            return None
        offsets: PartitionOffsets = {}
        for topic, partition, offset, _ in places:
            offsets.setdefault(topic, {})[partition] = int(offset)
        return offsets

    def newest(self, partitions: PartitionOffsets) -> int | None:
        """Return the latest timestamp of a record, microseconds; None: no record has one, or the cluster does not tell.

        Kafka tells it since 3.0.

        Args:
            partitions: Whatever their offsets are.
        """
        timestamps = [int(milliseconds) for *_, milliseconds in self._places("maxTimestamp", partitions) or ()]
        latest = max(timestamps, default=-1)
        return latest * 1000 if latest >= 0 else None

    def close(self) -> None:
        """Let the client go, whatever it waits for: else it would wait for a minute for a cluster that is away."""
        if self._client is not None:
            self._client.close(self._java.java.time.Duration.ZERO)
            self._client = None

    def _admin(self) -> Any:
        if self._client is None:
            settings = self._java.java.util.Properties()
            for name, value in self._options.items():
                if name.startswith("kafka."):
                    settings.put(name.removeprefix("kafka."), value)
            settings.put("bootstrap.servers", self._servers)
            self._client = self._java.org.apache.kafka.clients.admin.AdminClient.create(settings)
        return self._client

    def _places(self, which: str, partitions: PartitionOffsets) -> list[tuple[str, str, str, str]] | None:
        """Topic, partition, offset and timestamp of a record of each partition; None: the cluster does not answer."""
        try:
            promised = self._admin().listOffsets(self._request(which, partitions)).all()
            # Not `str`, which asks Java for one entry after the other.
            return _PLACE.findall(self._answer(promised, _RUNNING_PATIENCE_SECONDS).toString())
        except Py4JError:
            return None

    def _request(self, which: str, partitions: PartitionOffsets) -> Any:
        names = {topic: dict.fromkeys(of_topic, 0) for topic, of_topic in partitions.items()}
        if which not in self._requests or self._requests[which][0] != names:
            kafka, request = self._java.org.apache.kafka, self._java.java.util.HashMap()
            for topic, of_topic in names.items():
                for partition in of_topic:
                    place = kafka.common.TopicPartition(topic, int(partition))
                    request.put(place, getattr(kafka.clients.admin.OffsetSpec, which)())
            self._requests[which] = names, request
        return self._requests[which][1]

    def _answer(self, promised: Any, seconds: int) -> Any:
        return promised.get(seconds, self._java.java.util.concurrent.TimeUnit.SECONDS)

    def _reason(self, error: Py4JError) -> str:
        if _is_unknown_topic(error):
            return "there is no such topic: does the cluster have it by another name?"
        if "TimeoutException" in str(error) or "No resolvable bootstrap" in str(error):
            return f"no broker answers at {self._servers}: is the cluster there, and is that its address?"
        return innermost_cause(error)


def _is_unknown_topic(error: Py4JError) -> bool:
    return "UnknownTopicOrPartition" in str(error)
