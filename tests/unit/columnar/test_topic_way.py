"""With which settings tasks read topics, and when Spark does."""

from __future__ import annotations

from typing import Any

import pytest

from streamshed.columnar import topic_way
from streamshed.columnar.row_ways import record_ways
from streamshed.columnar.topic_way import client_settings
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json

_LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="p w";'


def _settings(**options: str) -> dict[str, str]:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return client_settings(kafka("packets", "host:9092", options=dotted))


def _network(time: str = "timestamp", identity: Any = None, **settings: Any) -> QueryNetwork:
    source = kafka("packets", "host:9092", **settings)
    rows = stream("packets", source, time=time, parse=parse_json("value", "size int"), identity=identity)
    return network(rows.window("1 minute").agg(bytes="sum(size)").query("bytes"))


def test_passwords_are_handed_on() -> None:
    settings = _settings(
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="SCRAM-SHA-256",
        kafka__sasl__jaas__config=_LOGIN,
    )
    assert {name: value for name, value in settings.items() if name.startswith("sasl.")} == {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "me",
        "sasl.password": "p w",
    }


def test_aborted_transactions_are_read_unless_somebody_says_otherwise() -> None:
    assert _settings()["isolation.level"] == "read_uncommitted"
    assert _settings(kafka__isolation__level="read_committed")["isolation.level"] == "read_committed"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kafka__ssl__truststore__location": "a.jks"}, 'the option "kafka.ssl.truststore.location" is for Spark'),
        ({"kafka__security__protocol": "SSL"}, "the brokers' certificates are checked by Java"),
        ({"kafka__security__protocol": "SASL_PLAINTEXT"}, "Java proves who the reader is"),
        ({"kafka__sasl__jaas__config": "com.sun.Krb5LoginModule required;"}, "jaas.config"),
        ({"kafka__sasl__jaas__config": _LOGIN.replace("p w", 'p\\"w')}, "jaas.config"),
        ({"somethingNew": "1"}, 'the option "somethingNew" is for Spark'),
    ],
)
def test_what_only_java_knows_is_left_to_spark(options: dict[str, str], reason: str) -> None:
    with pytest.raises(Untranslatable, match=reason):
        _settings(**options)


def test_explain_says_who_reads() -> None:
    assert record_ways(_network()) == {"packets": None}
    assert record_ways(_network(options={"kafka.max.poll.records": "9", "minPartitions": "8"})) == {"packets": None}
    by_time = record_ways(_network(identity=["timestamp"]))
    assert by_time == {"packets": 'the column "timestamp", which identifies a row, is hashed by Spark'}


def test_without_the_extra_spark_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_way, "find_spec", lambda _name: None)
    assert record_ways(_network()) == {"packets": "the extra streamshed[kafka] is not installed"}
