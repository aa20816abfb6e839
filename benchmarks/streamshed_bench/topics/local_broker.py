"""A broker of Kafka on this machine, by the scripts of the checkout; it can be killed, and come back."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.errors import SourceUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCRIPTS = Path(__file__).parents[3] / "scripts"


@dataclass(frozen=True, slots=True)
class LocalBroker:
    """A broker that runs.

    Attributes:
        folder: Where it keeps its topics.
        port: Where it listens on the loopback address.
    """

    folder: Path
    port: int

    @property
    def servers(self) -> str:
        """Its address, as clients are told it."""
        return f"127.0.0.1:{self.port}"

    def kill(self) -> None:
        """Stop it as a crash would."""
        _script("kafka.sh", "kill", str(self.folder))

    def start(self) -> None:
        """Start it with the topics that it has, and wait until it listens.

        Raises:
            SourceUnavailableError: It cannot be started.
        """
        _script("kafka.sh", "start", str(self.folder), str(self.port))


@contextmanager
def local_broker(folder: Path) -> Iterator[LocalBroker]:
    """Run a broker.

    Args:
        folder: A new folder for its topics.

    Raises:
        SourceUnavailableError: It cannot be started: there is no checkout, or no Maven to bring its jars.
    """
    broker = LocalBroker(folder, _free_port())
    try:
        broker.start()
        yield broker
    finally:
        _script("kafka.sh", "stop", str(folder))


def connector_jars() -> str:
    """Return the jars of Spark's connector, as `spark.jars` takes them.

    Raises:
        SourceUnavailableError: They cannot be had.
    """
    return _script("jars.sh", "kafka")


def make_topic(spark: SparkSession, servers: str, topic: str, partitions: int) -> None:
    """Make a topic.

    Args:
        spark: A session with the connector, whose client is asked.
        servers: The broker.
        topic: Its name.
        partitions: How many it has.
    """
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Kafka's client has no other way
    kafka, settings = java.org.apache.kafka.clients.admin, java.java.util.Properties()
    settings.put("bootstrap.servers", servers)
    client = kafka.AdminClient.create(settings)
    try:
        made = java.java.util.Collections.singletonList(kafka.NewTopic(topic, partitions, 1))
        client.createTopics(made).all().get()
    finally:
        client.close()


def _script(name: str, *arguments: str) -> str:
    path = _SCRIPTS / name
    if not path.exists():
        raise SourceUnavailableError(f"no broker of Kafka can be started: {path} is only in a checkout of streamshed")
    done = subprocess.run([str(path), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SourceUnavailableError(f"no broker of Kafka can be started: {done.stderr.strip()}")
    return done.stdout.strip()


def _free_port() -> int:
    """A port that is free, as the next one is, which the broker's controller takes."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
