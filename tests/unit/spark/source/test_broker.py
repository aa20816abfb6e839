"""What is said of a cluster, and of a topic, that is not there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JError

from streamshed.errors import ServerUnavailableError, SourceUnavailableError
from streamshed.spark.source.broker import Broker

_ERRORS = "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors"


def asked(answer: Exception | None = None) -> tuple[Broker, Any, Any]:
    """A broker whose client answers, or fails, as it is told; with Java and the client."""
    java = MagicMock()
    client = java.org.apache.kafka.clients.admin.AdminClient.create.return_value
    client.describeTopics.return_value.allTopicNames.return_value.get.side_effect = answer
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=java))
    return Broker(spark, 'kafka "packets"', "127.0.0.1:9", {"kafka.ssl.key.password": "hush"}), java, client


@pytest.mark.parametrize(
    ("sentence", "kind", "says"),
    [
        (f"{_ERRORS}.UnknownTopicOrPartitionException: no", SourceUnavailableError, "there is no such topic"),
        (f"{_ERRORS}.TopicAuthorizationException: no", SourceUnavailableError, "org.*TopicAuth"),
        (f"{_ERRORS}.TimeoutException: no", ServerUnavailableError, "no broker answers at 127.0.0.1:9"),
        ("java.util.concurrent.TimeoutException", ServerUnavailableError, "no broker answers at 127.0.0.1:9"),
    ],
)
def test_only_a_broker_that_does_not_answer_may_come_back(sentence: str, kind: type[Exception], says: str) -> None:
    broker, _, _ = asked(Py4JError(sentence))
    with pytest.raises(SourceUnavailableError, match=f'^kafka "packets": {says}') as refused:
        broker.require_topics(["packets"])
    assert refused.type is kind
    assert "hush" not in str(refused.value)


def test_it_is_let_go_at_once() -> None:
    """Kafka's client would wait for a minute for what a cluster that is away has not answered."""
    broker, java, client = asked()
    broker.require_topics(["packets"])
    broker.close()
    client.close.assert_called_once_with(java.java.time.Duration.ZERO)
