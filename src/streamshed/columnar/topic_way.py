"""Whether a task may read the records of topics itself, in the place of Spark, and with which settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec

from streamshed.columnar.file_way import check_shedding
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.sharing.stream_work import StreamWork

_OF_CLIENTS = "kafka."
_OF_OFFSETS = frozenset(
    {
        "fetchoffset.numretries",
        "fetchoffset.retryintervalms",
        "groupidprefix",
        "kafkaconsumer.polltimeoutms",
        "maxrecordsperpartition",
        "minpartitions",
        "startingoffsetsbytimestamp",
        "startingoffsetsbytimestampstrategy",
        "startingtimestamp",
    }
)
"""Options of Spark's connector that say where to begin, or how its tasks read: Spark keeps the offsets."""
_ALIKE = frozenset(
    {
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "group.id",
        "isolation.level",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "sasl.mechanism",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
    }
)
"""Settings that mean the same to both clients."""
_OF_PACE = frozenset(
    {
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "receive.buffer.bytes",
        "request.timeout.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
    }
)
"""Settings of Java's client that say how fast and how patiently it reads, not what."""
_PASSWORDS = re.compile(r"org\.apache\.kafka\.\S+\.(?:Plain|Scram)LoginModule\s+required\s+(.*?)\s*;\s*", re.DOTALL)
_WITH_PASSWORD = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


def check_topics(work: StreamWork, *, samples: bool, drops: bool) -> None:
    """See that a task may read the records of a stream itself.

    Args:
        work: What is done with them.
        samples: Whether rows may be sampled.
        drops: Whether rows may be left out by their times.

    Raises:
        Untranslatable: It may not; why.
    """
    stream, source = work.stream, work.stream.source
    if not isinstance(source, KafkaSource):
        raise Untranslatable("they are in no topic")
    if source.headers:
        raise Untranslatable("the headers of records are read by Spark")
    client_settings(source)
    check_shedding(stream, source.columns, samples=samples, drops=drops)
    if find_spec("confluent_kafka") is None:
        raise Untranslatable("the extra streamshed[kafka] is not installed")


def client_settings(source: KafkaSource) -> dict[str, str]:
    """Return the settings with which the client of tasks reads what Java's client reads.

    Args:
        source: The topics.

    Raises:
        Untranslatable: There are none.

    Example:
        >>> from streamshed.network.source.kafka_source import kafka
        >>> client_settings(kafka("packets", "host:9092", options={"kafka.client.id": "me", "minPartitions": "4"}))
        {'isolation.level': 'read_uncommitted', 'client.id': 'me', 'bootstrap.servers': 'host:9092'}
        >>> client_settings(kafka("packets", "host:9092", options={"kafka.ssl.truststore.location": "a.jks"}))
        Traceback (most recent call last):
        streamshed.columnar.untranslatable.Untranslatable: the option "kafka.ssl.truststore.location" is for Spark
    """
    settings = {"isolation.level": "read_uncommitted"}
    for name, value in source.options:
        ours = name.lower().removeprefix(_OF_CLIENTS)
        if not name.lower().startswith(_OF_CLIENTS):
            if ours not in _OF_OFFSETS:
                raise Untranslatable(f'the option "{name}" is for Spark')
        elif ours in _ALIKE:
            settings[ours] = value
        elif ours == "sasl.jaas.config":
            settings |= _password(value)
        elif ours not in _OF_PACE:
            raise Untranslatable(f'the option "{name}" is for Spark')
    return {**_checked(settings), "bootstrap.servers": source.servers}


def _password(text: str) -> Mapping[str, str]:
    """User and password, as Java's client is told them."""
    match = _PASSWORDS.fullmatch(text.strip())
    pairs = dict(re.findall(r'(\w+)\s*=\s*"([^"\\]*)"', match.group(1))) if match is not None else {}
    if pairs.keys() != {"username", "password"}:
        raise Untranslatable('the option "kafka.sasl.jaas.config" is for Spark')
    return {"sasl.username": pairs["username"], "sasl.password": pairs["password"]}


def _checked(settings: dict[str, str]) -> dict[str, str]:
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol.endswith("SSL"):
        raise Untranslatable("the brokers' certificates are checked by Java")
    if protocol.startswith("SASL") and (
        settings.get("sasl.mechanism") not in _WITH_PASSWORD or "sasl.password" not in settings
    ):
        raise Untranslatable("Java proves who the reader is")
    return settings
