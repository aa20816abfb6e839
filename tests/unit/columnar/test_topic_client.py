"""With which settings tasks read topics, and which are left to Java's client."""

from __future__ import annotations

import pytest

from streamshed.columnar.topics.topic_client import client_settings
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.source.kafka_source import kafka

_LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="p w";'


_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
_KEY = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n"
_TRUSTED = {"kafka__ssl__truststore__type": "PEM", "kafka__ssl__truststore__location": "/ca.pem"}
_TLS = {"kafka__security__protocol": "SSL", **_TRUSTED}


def _settings(**options: str) -> dict[str, str]:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return client_settings(kafka("packets", "host:9092", options=dotted))


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


def test_certificates_in_files_are_handed_on() -> None:
    settings = _settings(
        kafka__security__protocol="SASL_SSL",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config=_LOGIN.replace("scram.Scram", "plain.Plain"),
        kafka__ssl__keystore__type="PEM",
        kafka__ssl__keystore__location="/me.pem",
        kafka__ssl__key__password="secret",
        kafka__ssl__endpoint__identification__algorithm="",
        **_TRUSTED,
    )
    assert settings == {
        "bootstrap.servers": "host:9092",
        "isolation.level": "read_uncommitted",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "p w",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "/me.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_certificates_in_texts_are_handed_on() -> None:
    settings = _settings(
        kafka__security__protocol="SSL",
        kafka__ssl__truststore__type="PEM",
        kafka__ssl__truststore__certificates=_CERTIFICATE * 2,
        kafka__ssl__keystore__type="PEM",
        kafka__ssl__keystore__certificate__chain=_CERTIFICATE,
        kafka__ssl__keystore__key=_KEY,
    )
    assert {name: value for name, value in settings.items() if name.startswith("ssl.")} == {
        "ssl.ca.pem": _CERTIFICATE * 2,
        "ssl.certificate.pem": _CERTIFICATE,
        "ssl.key.pem": _KEY,
    }


def test_what_the_protocol_does_not_use_is_left_out() -> None:
    plain = _settings()
    assert _settings(**_TRUSTED) == plain
    assert _settings(**_TRUSTED, kafka__security__protocol="PLAINTEXT") == plain | {"security.protocol": "PLAINTEXT"}


@pytest.mark.parametrize(
    "options",
    [
        {"kafka__ssl__truststore__type": "JKS"},
        {"kafka__ssl__truststore__password": "secret"},
        {"kafka__ssl__keystore__location": "/me.p12"},
        {"kafka__ssl__keystore__type": "PEM", "kafka__ssl__keystore__password": "secret"},
        {"kafka__ssl__keystore__type": "PEM", "kafka__ssl__keystore__key": _KEY.replace("\n", " ")},
        {"kafka__ssl__keystore__type": "PEM", "kafka__ssl__keystore__certificate__chain": _CERTIFICATE * 2},
        {"kafka__ssl__endpoint__identification__algorithm": "LDAPS"},
        {"kafka__ssl__cipher__suites": "TLS_AES_256_GCM_SHA384"},
        {"kafka__ssl__engine__factory__class": "a.Factory"},
        {"kafka__sasl__kerberos__service__name": "kafka"},
        {"kafka__sasl__client__callback__handler__class": "a.Handler"},
        {"kafka__sasl__jaas__config": _LOGIN.replace(";", " tokenauth=true;")},
        {"kafka__sasl__jaas__config": _LOGIN.replace(";", ' tokenauth="true";')},
    ],
)
def test_of_certificates_and_logins_too(options: dict[str, str]) -> None:
    with pytest.raises(Untranslatable, match="is for Spark") as refused:
        _settings(**{**_TLS, **options})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER"])
def test_who_logs_in_without_a_password_is_left_to_java(mechanism: str) -> None:
    for protocol in ("SASL_SSL", "SASL_PLAINTEXT"):
        with pytest.raises(Untranslatable, match="Java proves who the reader is"):
            _settings(**{**_TLS, "kafka__security__protocol": protocol}, kafka__sasl__mechanism=mechanism)
