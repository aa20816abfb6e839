"""Draining begins when all has been read that had come by then, and not much later."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import kafka
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.reading.catching_up import Beginning, CatchingUp, beginning_of
from tests.unit.network.examples import FakeFrame

COLUMNS = [("ts", "timestamp"), ("v", "int")]
SCHEMA = ", ".join(map(" ".join, COLUMNS))
LAST = 60


def _folder(name: str, most: int | None) -> Rows:
    return stream(name, folder(f"/in/{name}", "json", schema=SCHEMA, max_files_per_micro_batch=most), time="ts")


def _topic(name: str) -> Rows:
    return stream(name, kafka(name, "a:1"), time="timestamp")


def _frame(name: str) -> Rows:
    return stream(name, FakeFrame(COLUMNS), time="ts")


PERIOD = 3
"""So many instants a micro-batch takes. At the first Spark looks for rows, at the last it notes the time."""


@dataclass
class Source:
    """What a source has, a row at a time, and what a micro-batch takes of it.

    Attributes:
        known: The stream over it.
        comes: How many rows come at each instant.
        most: So many a micro-batch takes; None: all.
        tells: Whether it tells what it has left.
    """

    known: Stream
    comes: list[int]
    most: int | None
    tells: bool = False
    read: int = 0
    before: int = field(default=0)

    def take(self, instant: int) -> int:
        """Read what a micro-batch reads for which Spark looks at an instant."""
        there = self.left(instant)
        taken = there if self.most is None else min(there, self.most)
        self.before, self.read = self.read, self.read + taken
        return taken

    def left(self, instant: int) -> int:
        return sum(self.comes[: instant + 1]) - self.read

    @property
    def offset(self) -> str:
        """Up to where it is read, as Spark writes it down."""
        return json.dumps({"t": {"0": self.read}} if self.tells else {"logOffset": self.read})


@st.composite
def sources(draw: st.DrawFn) -> list[Source]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        most = draw(st.none() | st.integers(1, 3))
        comes = draw(st.lists(st.integers(0, 4), max_size=6 * PERIOD))
        kind = draw(st.sampled_from(["folder", "broker", "topic", "frame over files"]))
        name = f"s{number}"
        known = _folder(name, most) if kind == "folder" else _topic(name) if kind == "topic" else _frame(name)
        found.append(Source(known.stream, comes, most, tells=kind in {"broker", "topic"}))
    return found


@given(having=sources(), asked_at=st.integers(0, 8 * PERIOD))
def test_all_that_had_come_is_read_before_or_nothing_of_it_is_left(
    tmp_path_factory: pytest.TempPathFactory, having: list[Source], asked_at: int
) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    (folder / "offsets").mkdir()
    streams = [source.known for source in having]
    places = SourcePlaces(tuple((one.name,) for one in streams), lines=tuple(range(len(streams))))
    catching_up = CatchingUp(streams, asked_at)
    had_come = [sum(source.comes[: asked_at + 1]) for source in having]
    for number in range(LAST):
        looks_at = number * PERIOD
        rows = {source.known.name: source.take(looks_at) for source in having}
        header = json.dumps({"batchTimestampMs": (looks_at + PERIOD - 1) * 1000})
        offsets = [source.offset for source in having]
        (folder / "offsets" / str(number)).write_text("\n".join(["v1", header, *offsets]))
        if catching_up.begins(beginning_of(Storage.at(str(folder)), number, streams, places, rows)):
            break
        catching_up.finished(looks_at, {s.known.name: s.left(looks_at) for s in having if s.tells})
    else:
        raise AssertionError("it never begins")
    for source, came in zip(having, had_come, strict=True):
        assert source.before >= came
    most = max((sum(source.comes) for source in having), default=0)
    assert number <= asked_at // PERIOD + most + 3


def test_a_micro_batch_that_may_have_been_looked_for_before_says_nothing() -> None:
    catching_up = CatchingUp([_folder("s", 1).stream], 10.0)
    assert not catching_up.begins(Beginning(9.9, idle={"s"}, may_leave=set(), rows={}))
    assert catching_up.begins(Beginning(10.1, idle={"s"}, may_leave=set(), rows={}))


def test_a_broker_that_always_has_more_is_drained_of_what_waited() -> None:
    catching_up = CatchingUp([_frame("s").stream], 10.0)

    def begins(second: int) -> bool:
        return catching_up.begins(Beginning(second, idle=set(), may_leave={"s"}, rows={"s": 5}))

    assert not begins(11)
    catching_up.finished(11.0, {"s": 8})
    catching_up.finished(12.0, {"s": 100})
    assert [begins(12 + number) for number in range(3)] == [False, False, True]


def test_rows_that_come_between_the_look_and_the_time_that_spark_notes_are_waited_for(tmp_path: Path) -> None:
    """Spark looks at 10.02 s, a file comes, somebody drains at 10.06 s, and Spark notes 10.08 s."""
    checkpoint, streams = Storage.at(str(tmp_path)), [_folder("s", None).stream]
    for number, (milliseconds, entry) in enumerate([(5080, 0), (10080, 0), (15080, 1), (20080, 1)]):
        header = json.dumps({"batchTimestampMs": milliseconds})
        checkpoint.write_text(f"offsets/{number}", "\n".join(["v1", header, json.dumps({"logOffset": entry})]))
    catching_up, places = CatchingUp(streams, 10.06), SourcePlaces(streams=(("s",),), lines=(0,))
    begins = [catching_up.begins(beginning_of(checkpoint, number, streams, places, {})) for number in range(4)]
    assert begins == [False, False, False, True]


def test_of_a_topic_something_may_be_left(tmp_path: Path) -> None:
    checkpoint = Storage.at(str(tmp_path))
    for number, offset in enumerate((5, 9)):
        lines = [
            "v1",
            json.dumps({"batchTimestampMs": 7000 + number}),
            json.dumps({"s": {"0": offset}}),
            '{"offset": 1}',
        ]
        checkpoint.write_text(f"offsets/{number}", "\n".join(lines))
    places = SourcePlaces(streams=(("s",), ()), lines=(0, 1))
    beginning = beginning_of(checkpoint, 1, [_topic("s").stream], places, {"s": 4})
    assert beginning == Beginning(7.0, idle=set(), may_leave={"s"}, rows={"s": 4})
