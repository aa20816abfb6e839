"""What a cluster says of its topics, and what is said of one, and of a topic, that is not there."""

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


OFFSETS = {"t-1": {"0": 5}, "u": {"0": 9, "1": 9}}


def listing(text: str) -> tuple[Broker, Any]:
    """A broker that answers what Java writes of places; with Java."""
    broker, java, client = asked()
    client.listOffsets.return_value.all.return_value.get.return_value.toString.return_value = text
    return broker, java


def told(**places: tuple[int, int]) -> str:
    """Offset and timestamp by topic and partition, as Java writes them."""
    entries = [
        f"{name.replace('_', '-')}=ListOffsetsResultInfo(offset={offset}, timestamp={at}, leaderEpoch=Optional[0])"
        for name, (offset, at) in places.items()
    ]
    return "{" + ", ".join(entries) + "}"


def test_the_earliest_offsets_are_read_by_partition() -> None:
    broker, _ = listing(told(t_1_0=(3, -1), u_0=(0, -1), u_1=(7, -1)))
    assert broker.earliest(OFFSETS) == {"t-1": {"0": 3}, "u": {"0": 0, "1": 7}}


def test_the_newest_record_is_that_of_the_partition_that_has_it() -> None:
    broker, java = listing(told(t_1_0=(-1, -1), u_0=(4, 1_700_000_000_123), u_1=(7, 1_699_999_999_000)))
    assert broker.newest(OFFSETS) == 1_700_000_000_123_000
    assert java.org.apache.kafka.clients.admin.OffsetSpec.maxTimestamp.call_count == 3


def test_without_records_there_is_no_newest() -> None:
    broker, _ = listing(told(t_1_0=(-1, -1), u_0=(-1, -1)))
    assert broker.newest(OFFSETS) is None


def test_a_cluster_that_does_not_answer_or_is_too_old_tells_no_newest() -> None:
    broker, _, client = asked()
    client.listOffsets.return_value.all.return_value.get.side_effect = Py4JError(
        f"{_ERRORS}.UnsupportedVersionException: no"
    )
    assert broker.newest(OFFSETS) is None
    assert broker.earliest(OFFSETS) is None


def test_requests_are_made_once_for_the_same_partitions() -> None:
    broker, java = listing(told(u_0=(4, 9)))
    for _ in range(3):
        broker.earliest(OFFSETS)
        broker.newest(OFFSETS)
    assert java.java.util.HashMap.call_count == 2
    broker.newest({"u": {"0": 1}})
    assert java.java.util.HashMap.call_count == 3
