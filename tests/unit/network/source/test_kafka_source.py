from __future__ import annotations

from typing import Any

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json

SERVERS = "127.0.0.1:9092"


def over(topics: str = "packets", schema: str = "ts timestamp, size int", **settings: Any) -> Rows:
    return stream("packets", kafka(topics, SERVERS, **settings), time="ts", parse=parse_json("value", schema))


def test_records_are_told_apart_by_their_place() -> None:
    assert over().stream.identity == Identity(IdentityKind.COLUMNS, ("topic", "partition", "offset"))
    assert over(prefix="k_").stream.identity.columns == ("k_topic", "k_partition", "k_offset")


def test_they_can_be_shed_before_their_text_is_parsed() -> None:
    assert over().stream.is_identified_before_parsing


def test_columns_are_those_of_the_broker_and_what_records_say() -> None:
    assert [*over(headers=True).columns] == [
        *("key", "topic", "partition", "offset", "timestamp", "headers", "ts", "size")
    ]


def test_a_prefix_makes_room_for_what_records_say() -> None:
    with pytest.raises(InvalidNetworkError, match='"timestamp" is parsed out of "value" but is a column of the source'):
        over(schema="timestamp bigint, ts timestamp")
    columns = over(schema="timestamp bigint, ts timestamp", prefix="k_").columns
    assert (columns["timestamp"], columns["k_timestamp"]) == ("bigint", "timestamp")


def test_all_problems_at_once() -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        kafka(
            ["packets", "packets", "a.*"],
            " ",
            start="earlyest",
            prefix="k-",
            max_rows_per_micro_batch=0,
            options={"startingOffsets": "earliest", "failOnDataLoss": "true", "kafka.client.id": "x"},
        )
    problems = {problem.element: problem for problem in raised.value.problems if problem.element}
    assert problems.keys() == {"kafka", "servers", "start", "prefix", "options", "max_rows_per_micro_batch"}
    assert len(raised.value.problems) == 8
    assert problems["start"].near_miss == "earliest"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"start": {"packets": {0: -3}}}, "start is"),
        ({"start": {}}, "start is"),
        ({"start": {"packets": 5}}, "start is"),
        ({"pattern": True, "topics": ["a", "b"]}, "a pattern is one regular expression"),
        ({"topics": []}, "a topic is a name"),
        ({"options": {"subscribe": "a"}}, "is said by `topics`"),
        ({"options": {"minOffsetsPerTrigger": "5"}}, "a micro-batch comes at each trigger"),
    ],
)
def test_what_cannot_be(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidNetworkError, match=says):
        kafka(settings.pop("topics", "packets"), SERVERS, **settings)


def test_offsets_by_partition_may_have_numbers_for_partitions() -> None:
    assert kafka("packets", SERVERS, start={"packets": {0: 17, 1: -1}}).start == '{"packets": {"0": 17, "1": -1}}'
