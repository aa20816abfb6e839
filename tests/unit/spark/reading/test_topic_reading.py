"""A run begins once it is settled where topics are read, and asks how new their records are."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.rows import Rows
from streamshed.network.source.kafka_source import kafka
from streamshed.spark.checkpoint.partition_offsets import PartitionOffsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.reading import topic_reading
from streamshed.spark.reading.topic_reading import TopicReading

PLACES = SourcePlaces(streams=(("packets",), ()), lines=(0, 1))
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


@dataclass
class Query:
    isActive: bool = True  # noqa: N815 - as Spark calls it


class Reading:
    """A stream over a topic, followed, and what is said of how much is to be read."""

    def __init__(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, control: Mapping[str, Any] = NO_SETTINGS, **settings: Any
    ) -> None:
        self.checkpoint = Storage.at(str(path))
        self.tells: int | None = 77
        self.asked = list[PartitionOffsets]()
        monkeypatch.setattr(topic_reading, "Broker", lambda *_: self)
        packets: Rows = stream("packets", kafka("packets", "a:1", **settings), time="timestamp")
        loop_settings = ControlSettings(trigger_interval_seconds=2.0, **control)
        loop = ControlLoop(network(packets.query("all")), loop_settings, clock=lambda: 0.0)
        self.topics = TopicReading(cast(Any, None), [packets.stream], self.checkpoint, loop)

    def newest(self, partitions: PartitionOffsets) -> int | None:
        """As a broker tells it."""
        self.asked.append(partitions)
        return self.tells

    def planned(self, micro_batch_id: int, until: int) -> None:
        lines = ["v1", "{}", json.dumps({"packets": {"0": until}}), '{"offset": 1}']
        self.checkpoint.write_text(f"offsets/{micro_batch_id}", "\n".join(lines))

    def begin(self) -> None:
        self.checkpoint.write_text("sources/0/0", '\0v1\n{"packets":{"0":0}}')
        self.topics.begin(cast(Any, Query()), PLACES)


def test_it_begins_once_it_is_written_down_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading(tmp_path, monkeypatch)
    thread = threading.Thread(target=lambda: reading.topics.begin(cast(Any, Query()), PLACES))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    reading.checkpoint.write_text("sources/0/0", '\0v1\n{"packets":{"0":0}}')
    thread.join(10.0)
    assert not thread.is_alive()


class Ending:
    """A query that has ended by the second time that somebody looks."""

    looks = 0

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark calls it
        self.looks += 1
        return self.looks == 1


def test_a_pattern_of_which_there_are_no_topics_yet_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, query = Reading(tmp_path, monkeypatch, pattern=True), Ending()
    reading.checkpoint.write_text("sources/0/0", "\0v1\n{}")
    reading.topics.begin(cast(Any, query), PLACES)
    assert query.looks == 1


def test_a_query_that_has_failed_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Reading(tmp_path, monkeypatch).topics.begin(cast(Any, Query(isActive=False)), PLACES)


@pytest.mark.parametrize(
    ("control", "left", "newest"),
    [
        ({"max_age_microseconds": 9}, {}, {"packets": 77}),  # the first of a run: nobody knows what waits
        ({"max_age_microseconds": 9}, {"packets": 5}, {"packets": 77}),
        ({"max_age_microseconds": 9}, {"packets": 0}, {}),
        ({"max_age_microseconds": 9, "advisory": True}, {"packets": 5}, {}),
        ({}, {"packets": 5}, {}),
    ],
)
def test_the_newest_record_is_asked_for_where_rows_may_be_too_old(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    control: Mapping[str, Any],
    left: Mapping[str, int],
    newest: Mapping[str, int],
) -> None:
    reading = Reading(tmp_path, monkeypatch, control)
    reading.begin()
    reading.planned(0, 700)
    assert reading.topics.newest_records(0, PLACES, left) == newest
    assert reading.asked == [{"packets": {"0": 700}}] * len(newest)


def test_a_broker_that_does_not_tell_the_newest_record_leaves_it_to_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Reading(tmp_path, monkeypatch, {"max_age_microseconds": 9})
    reading.begin()
    reading.planned(0, 700)
    reading.tells = None
    assert reading.topics.newest_records(0, PLACES, {}) == {}
