"""Draining begins when all has been read that had come by then, and not much later."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.kafka_source import kafka
from streamshed.network.source.sources import folder
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.source.catching_up import Beginning, CatchingUp, beginning_of
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


@dataclass
class Source:
    """What a source has, a row at a time, and what a micro-batch takes of it.

    Attributes:
        known: The stream over it.
        comes: How many rows come at each second.
        most: So many a micro-batch takes; None: all.
        is_broker: Whether it tells what it has left.
    """

    known: Stream
    comes: list[int]
    most: int | None
    is_broker: bool = False
    read: int = 0
    before: int = field(default=0)

    def take(self, second: int) -> int:
        """Read what a micro-batch reads that begins in a second."""
        there = sum(self.comes[: second + 1]) - self.read
        taken = there if self.most is None else min(there, self.most)
        self.before, self.read = self.read, self.read + taken
        return taken

    def left(self, second: int) -> int:
        return sum(self.comes[: second + 1]) - self.read


@st.composite
def sources(draw: st.DrawFn) -> list[Source]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        most = draw(st.none() | st.integers(1, 3))
        comes = draw(st.lists(st.integers(0, 4), max_size=6))
        kind = draw(st.sampled_from(["folder", "broker", "topic", "frame over files"]))
        name = f"s{number}"
        known = _folder(name, most) if kind == "folder" else _topic(name) if kind == "topic" else _frame(name)
        found.append(Source(known.stream, comes, most, is_broker=kind in {"broker", "topic"}))
    return found


@given(having=sources(), asked_at=st.integers(0, 8))
def test_all_that_had_come_is_read_before_or_nothing_of_it_is_left(having: list[Source], asked_at: int) -> None:
    catching_up = CatchingUp([source.known for source in having], asked_at)
    had_come = [sum(source.comes[: asked_at + 1]) for source in having]
    for second in range(LAST):
        taken = {source.known.name: source.take(second) for source in having}
        beginning = Beginning(
            second,
            idle={name for name, rows in taken.items() if not rows},
            may_leave={source.known.name for source in having},
            rows=taken,
        )
        if catching_up.begins(beginning):
            break
        catching_up.finished(second, {s.known.name: s.left(second) for s in having if s.is_broker})
    else:
        raise AssertionError("it never begins")
    for source, came in zip(having, had_come, strict=True):
        assert source.before >= came
    assert second > asked_at
    rows = max((sum(source.comes) for source in having), default=0)
    assert second <= asked_at + rows + 2


def test_a_micro_batch_that_had_begun_before_says_nothing() -> None:
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


def test_of_a_topic_something_may_be_left(tmp_path: Path) -> None:
    checkpoint = Storage.at(str(tmp_path))
    for number, offset in enumerate((5, 9)):
        lines = ["v1", '{"batchTimestampMs": 7000}', json.dumps({"s": {"0": offset}}), '{"offset": 1}']
        checkpoint.write_text(f"offsets/{number}", "\n".join(lines))
    places = SourcePlaces(streams=(("s",), ()), lines=(0, 1))
    beginning = beginning_of(checkpoint, 1, [_topic("s").stream], places, {"s": 4})
    assert beginning == Beginning(7.0, idle=set(), may_leave={"s"}, rows={"s": 4})
