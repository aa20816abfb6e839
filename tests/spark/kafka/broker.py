"""A broker of Kafka for tests: started by the project's own script, and asked by Java's client."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.programs import free_port, script


@contextmanager
def running_broker(folder: Path) -> Iterator[Broker]:
    """Run a broker."""
    for connector in ("kafka", "delta"):
        script("jars.sh", connector)
    port, secure = free_port(), free_port()
    write_certificates(folder)
    (folder / "more.properties").write_text(
        _SECURE.format(folder=folder, password=PASSWORD, port=port, controller=port + 1, secure=secure)
    )
    try:
        servers = script("kafka.sh", "start", str(folder), str(port))
        yield Broker(servers, f"127.0.0.1:{secure}", secure_options(folder))
    finally:
        script("kafka.sh", "stop", str(folder))


@dataclass(frozen=True)
class Broker:
    """A broker that runs.

    Attributes:
        servers: Where it answers everybody.
        secure_servers: Where it answers who has a password and a certificate.
        secure_options: What these are, as options of Spark's connector.
    """

    servers: str
    secure_servers: str
    secure_options: Mapping[str, str]


PASSWORD = "hush-hush-7f3a"
"""Of the reader of `secure_servers`; shown nowhere."""

_SECURE = """
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller},SECURE://127.0.0.1:{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL
listener.name.secure.sasl.enabled.mechanisms=PLAIN
listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  user_reader="{password}";
listener.name.secure.ssl.client.auth=required
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={folder}/broker.pem
listener.name.secure.ssl.truststore.type=PEM
listener.name.secure.ssl.truststore.location={folder}/ca.pem
"""


def secure_options(folder: Path) -> dict[str, str]:
    """What a reader of `secure_servers` shows, and whom it trusts."""
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{login} required username="reader" password="{PASSWORD}";',
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": str(folder / "reader.pem"),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(folder / "ca.pem"),
    }


def write_certificates(folder: Path) -> None:
    """Write those of broker and reader, each with its key, and that of who has signed both."""
    ca = ("-x509", "-subj", "/CN=ca", "-out", "ca.pem", "-keyout", "ca.key", "-days", "2")
    _openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", *ca)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("broker", "reader"):
        asked = ("-subj", f"/CN={name}", "-out", f"{name}.csr", "-keyout", f"{name}.key")
        _openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", *asked)
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signed)
        parts = [(folder / f"{name}.{ending}").read_text() for ending in ("key", "crt")]
        (folder / f"{name}.pem").write_text("".join(parts))


def _openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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
