"""When tasks read topics, and when Spark does."""

from __future__ import annotations

from typing import Any

import pytest

from streamshed.columnar.row_ways import record_ways
from streamshed.columnar.topics import topic_way
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.kafka_source import kafka
from streamshed.network.terms.parsing import parse_json


def _network(time: str = "timestamp", identity: Any = None, **settings: Any) -> QueryNetwork:
    source = kafka("packets", "host:9092", **settings)
    rows = stream("packets", source, time=time, parse=parse_json("value", "size int"), identity=identity)
    return network(rows.window("1 minute").agg(bytes="sum(size)").query("bytes"))


def test_explain_says_who_reads() -> None:
    assert record_ways(_network()) == {"packets": None}
    assert record_ways(_network(options={"kafka.max.poll.records": "9", "minPartitions": "8"})) == {"packets": None}
    by_time = record_ways(_network(identity=["timestamp"]))
    assert by_time == {"packets": 'the column "timestamp", which identifies a row, is hashed by Spark'}


def test_without_the_extra_spark_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_way, "find_spec", lambda _name: None)
    assert record_ways(_network()) == {"packets": "the extra streamshed[kafka] is not installed"}
