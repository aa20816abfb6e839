"""With which settings the client of tasks (librdkafka) reads what Java's client reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.source.kafka_source import KafkaSource

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
_WHO_READS = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
"""Settings that say who reads, and whether what is sent is encrypted."""

_CERTIFICATES: Mapping[str, tuple[str, ...]] = {
    "ssl.endpoint.identification.algorithm": ("ssl.endpoint.identification.algorithm",),
    "ssl.key.password": ("ssl.key.password",),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
    "ssl.keystore.type": (),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.truststore.type": (),
}
"""Settings of certificates; to each, what it is here, if it is in PEM."""

_STORES = ("ssl.keystore.", "ssl.truststore.")
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]+-----[ \t]*\r?\n")
_ALGORITHMS: Mapping[str, str] = {"https": "https", "": "none"}
"""How the name of a broker is compared with that in its certificate."""

_PASSWORDS = re.compile(
    r"""org\.apache\.kafka\.\S+\.(?:Plain|Scram)LoginModule\s+required((?:\s+\w+\s*=\s*"[^"\\\r\n]*")*)\s*;\s*"""
)
_WITH_PASSWORD = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})


def client_settings(source: KafkaSource) -> dict[str, str]:
    """Return the settings with which the client of tasks reads what Java's client reads.

    Args:
        source: The topics.

    Raises:
        Untranslatable: There are none; the reason shows no value of an option.

    Example:
        >>> from streamshed.network.source.kafka_source import kafka
        >>> client_settings(kafka("packets", "host:9092", options={"kafka.client.id": "me", "minPartitions": "4"}))
        {'isolation.level': 'read_uncommitted', 'client.id': 'me', 'bootstrap.servers': 'host:9092'}
        >>> client_settings(kafka("packets", "host:9092", options={"kafka.ssl.truststore.location": "a.jks"}))
        Traceback (most recent call last):
        streamshed.columnar.untranslatable.Untranslatable: the option "kafka.ssl.truststore.location" is for Spark
    """
    settings, security = {"isolation.level": "read_uncommitted"}, dict[str, str]()
    for name, value in source.options:
        ours = name.lower().removeprefix(_OF_CLIENTS)
        if not name.lower().startswith(_OF_CLIENTS):
            if ours not in _OF_OFFSETS:
                raise _of_spark(name)
        elif ours in _ALIKE:
            settings[ours] = value
        elif ours in _WHO_READS or ours in _CERTIFICATES:
            security[ours] = value
        elif ours not in _OF_PACE:
            raise _of_spark(name)
    return {**settings, **_security(security), "bootstrap.servers": source.servers}


def _of_spark(name: str) -> Untranslatable:
    return Untranslatable(f'the option "{name}" is for Spark')


def _security(options: Mapping[str, str]) -> dict[str, str]:
    """Who reads, and by what brokers are trusted; what the protocol does not use is left out, as Java does."""
    login, certificates = _login(options), _certificates(options)
    if "security.protocol" not in options:
        return {}
    protocol = options["security.protocol"].upper()
    settings = {"security.protocol": protocol}
    if protocol.startswith("SASL"):
        if options.get("sasl.mechanism") not in _WITH_PASSWORD or not login:
            raise Untranslatable("Java proves who the reader is")
        settings |= {"sasl.mechanism": options["sasl.mechanism"], **login}
    if protocol.endswith("SSL"):
        if not certificates.keys() & {"ssl.ca.location", "ssl.ca.pem"}:
            raise Untranslatable("the brokers' certificates are checked by Java")
        settings |= certificates
    return settings


def _login(options: Mapping[str, str]) -> dict[str, str]:
    """User and password, as Java's client is told them."""
    text = options.get("sasl.jaas.config")
    if text is None:
        return {}
    match = _PASSWORDS.fullmatch(text.strip())
    pairs = re.findall(r'(\w+)\s*=\s*"([^"]*)"', match[1]) if match is not None else []
    if sorted(name for name, _ in pairs) != ["password", "username"]:
        raise _of_spark("kafka.sasl.jaas.config")
    return {f"sasl.{name}": value for name, value in pairs}


def _certificates(options: Mapping[str, str]) -> dict[str, str]:
    """The brokers' and the reader's certificates, and how the first are checked."""
    return {ours: value for name in options if name in _CERTIFICATES for ours, value in _certificate(name, options)}


def _certificate(name: str, options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    value = options[name]
    store = next(filter(name.startswith, _STORES), None)
    if store is not None and options.get(f"{store}type") != "PEM":
        raise _of_spark(f"{_OF_CLIENTS}{name}")
    if name == "ssl.endpoint.identification.algorithm":
        if value.lower() not in _ALGORITHMS:
            raise _of_spark(f"{_OF_CLIENTS}{name}")
        value = _ALGORITHMS[value.lower()]
    for ours in _CERTIFICATES[name]:
        # Of the reader's certificates librdkafka takes one from a text, and texts only in lines.
        is_read = value.count("-----BEGIN ") == 1 or ours == "ssl.ca.pem"
        if ours.endswith(".pem") and not (is_read and _PEM.search(value)):
            raise _of_spark(f"{_OF_CLIENTS}{name}")
        yield ours, value
