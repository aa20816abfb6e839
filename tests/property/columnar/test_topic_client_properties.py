"""Settings of the client of tasks: whatever the options are, each is taken over, left out with a reason, or refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.topics.topic_client import client_settings
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.source.kafka_source import kafka

_TEXTS = st.text(st.characters(exclude_characters='"\\\r\n', exclude_categories=["Cs"]), min_size=1, max_size=20)
_NAMES = st.sampled_from(
    [
        "sasl.jaas.config",
        "sasl.mechanism",
        "sasl.oauthbearer.token.endpoint.url",
        "security.protocol",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    ]
)
_MARK = "hush-hush"
_VALUES = st.sampled_from(["PEM", "JKS", "SSL", "SASL_SSL", "SASL_PLAINTEXT", "PLAIN", "https", "", _MARK]) | st.just(
    f"-----BEGIN PRIVATE KEY-----\n{_MARK}\n-----END PRIVATE KEY-----"
)


@given(user=_TEXTS, password=_TEXTS, is_scram=st.booleans(), user_first=st.booleans())
def test_user_and_password_are_what_java_is_told(*, user: str, password: str, is_scram: bool, user_first: bool) -> None:
    module, mechanism = ("scram.Scram", "SCRAM-SHA-512") if is_scram else ("plain.Plain", "PLAIN")
    pairs = [f'username="{user}"', f'password="{password}"'][:: 1 if user_first else -1]
    login = f"org.apache.kafka.common.security.{module}LoginModule required {' '.join(pairs)};"
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": login,
    }
    settings = client_settings(kafka("packets", "host:9092", options=options))
    assert (settings["sasl.username"], settings["sasl.password"]) == (user, password)


@given(options=st.dictionaries(_NAMES, _VALUES))
def test_nobody_is_trusted_whom_java_does_not_trust_and_no_reason_shows_a_secret(options: dict[str, str]) -> None:
    try:
        settings = client_settings(
            kafka("packets", "host:9092", options={f"kafka.{name}": value for name, value in options.items()})
        )
    except Untranslatable as reason:
        said = str(reason)
    else:
        _check(options, settings)
        said = ""
    assert _MARK not in said


def _check(options: dict[str, str], settings: dict[str, str]) -> None:
    protocol = options.get("security.protocol", "PLAINTEXT")
    assert settings.get("security.protocol", "PLAINTEXT") == protocol.upper()
    assert not protocol.startswith("SASL")
    trusted = {name for name in settings if name.startswith("ssl.ca.")}
    assert bool(trusted) is protocol.endswith("SSL")
    if trusted:
        assert options["ssl.truststore.type"] == "PEM"
        checks = settings.get("ssl.endpoint.identification.algorithm", "https")
        assert (checks == "none") is (options.get("ssl.endpoint.identification.algorithm") == "")
