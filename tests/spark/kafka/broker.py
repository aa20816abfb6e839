"""A broker of Kafka for tests: started by the project's own script, and asked by Java's client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.programs import free_port, script


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    """Run a broker, and tell its address."""
    for connector in ("kafka", "delta"):
        script("jars.sh", connector)
    try:
        yield script("kafka.sh", "start", str(folder), str(free_port()))
    finally:
        script("kafka.sh", "stop", str(folder))


class Topics:
    """Makes and changes topics of a broker, and writes records.

    Args:
        spark: A session with the connector.
        servers: The broker.
    """

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark, self._servers = spark, servers
        self._java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's client has no other way
        self._gateway: Any = spark.sparkContext._gateway  # noqa: SLF001
        self._client = self._new_client()

    def _new_client(self) -> Any:
        settings = self._java.java.util.Properties()
        settings.put("bootstrap.servers", self._servers)
        return self._java.org.apache.kafka.clients.admin.AdminClient.create(settings)

    def create(self, topic: str, partitions: int, **settings: str) -> None:
        """Make a topic."""
        made = self._java.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1).configs(settings)
        self._client.createTopics(self._java.java.util.Collections.singletonList(made)).all().get()

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions, up to so many."""
        grown = self._java.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        self._client.createPartitions(self._java.java.util.Collections.singletonMap(topic, grown)).all().get()

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the records before an offset, as retention does."""
        place = self._java.org.apache.kafka.common.TopicPartition(topic, partition)
        # A method of an object has the same name, which Py4J takes for this one.
        records = self._client.getClass().getClassLoader().loadClass("org.apache.kafka.clients.admin.RecordsToDelete")
        before = next(method for method in records.getMethods() if str(method).endswith("beforeOffset(long)"))
        arguments = self._gateway.new_array(self._java.java.lang.Object, 1)
        arguments[0] = self._java.java.lang.Long.valueOf(str(offset))
        deleted = self._java.java.util.Collections.singletonMap(place, before.invoke(None, arguments))
        self._client.deleteRecords(deleted).all().get()

    def write(self, topic: str, records: list[Mapping[str, Any]]) -> None:
        """Write records (key, value, partition), those of a partition in this order."""
        schema = "key binary, value binary, partition int"
        rows = self._spark.createDataFrame([{"key": None, **record} for record in records], schema)
        writer = rows.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", self._servers)
        writer.option("topic", topic).save()

    def close(self) -> None:
        """Let the client go."""
        self._client.close()
