"""Records between two offsets are those that a log has there, whatever was deleted, compacted or is no record."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar.row_file import FileBlock
from streamshed.columnar.topics import topic_rows
from streamshed.columnar.topics.topic_rows import RecordReader, TopicRows
from streamshed.columnar.topics.topic_spans import BLOCK_OFFSETS, TopicSpan, share_of_task
from streamshed.errors import ServerUnavailableError, SourceUnavailableError

TOPIC, PARTITION = "packets", 3
Text = str
"""The client has a method of that name."""


@dataclass(frozen=True)
class Sign:
    """What a client says in the place of a record."""

    code: Text
    place: int = -1

    def error(self) -> Sign:
        """Itself."""
        return self

    def name(self) -> Text:
        """What it is."""
        return self.code

    def str(self) -> Text:
        """What it says."""
        return f"said {self.code}"

    def topic(self) -> Text:
        """Whose it is."""
        return TOPIC

    def partition(self) -> int:
        """Likewise."""
        return PARTITION

    def offset(self) -> int:
        """Where the client is."""
        return self.place


@dataclass(frozen=True)
class Record:
    """A record of the log."""

    place: int

    def error(self) -> None:
        """Nothing is wrong."""

    def offset(self) -> int:
        """Where it is."""
        return self.place

    def value(self) -> bytes:
        """What it says."""
        return str(self.place).encode()


@dataclass
class Log:
    """A partition, and a client of it.

    Attributes:
        there: The offsets that are records.
        earliest: The first offset that is not deleted.
        behind: The offset behind the last.
        pieces: How many records come at once.
        first_signs: What the client says before anything else.
    """

    there: set[int]
    earliest: int
    behind: int
    pieces: int = 3
    first_signs: list[Sign] = field(default_factory=list)
    position: int | None = None
    assigned: int = 0

    def assign(self, partitions: list[Any]) -> None:
        """Begin at an offset."""
        [one] = partitions
        assert (one.topic, one.partition) == (TOPIC, PARTITION)
        self.position, self.assigned = one.offset, self.assigned + 1

    def unassign(self) -> None:
        """Follow nothing."""
        self.position = None

    def get_watermark_offsets(self, _partition: Any, timeout: float) -> tuple[int, int]:
        """The earliest offset, and that behind the last."""
        assert timeout > 0
        return self.earliest, self.behind

    def consume(self, most: int, _seconds: float) -> list[Any]:
        """What comes next."""
        if self.position is None:
            return []
        if self.first_signs:
            return [self.first_signs.pop(0)]
        if not self.earliest <= self.position <= self.behind:
            self.position = None
            return [Sign("_AUTO_OFFSET_RESET")]
        records = sorted(place for place in self.there if self.position <= place < self.behind)
        records = records[: min(most, self.pieces)]
        self.position = records[-1] + 1 if records else self.behind
        end = [] if records and self.position < self.behind else [Sign("_PARTITION_EOF", self.behind)]
        return [*map(Record, records), *end]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Logs with gaps, of which something may be deleted."""
    behind = draw(st.integers(0, 40))
    earliest = draw(st.integers(0, behind))
    there = draw(st.sets(st.integers(0, 50)))
    signs = draw(
        st.lists(st.sampled_from(["_TRANSPORT", "_ALL_BROKERS_DOWN", "GROUP_AUTHORIZATION_FAILED"]), max_size=2)
    )
    there = {place for place in there if earliest <= place < behind}
    return Log(there, earliest, behind, draw(st.integers(1, 9)), [Sign(code) for code in signs])


def _read(reader: RecordReader, start: int, stop: int) -> list[int]:
    runs = list(reader.records(TOPIC, PARTITION, start, stop))
    assert all(run.numbers.tolist() == [record.offset() for record in run.records] for run in runs)
    return [number for run in runs for number in run.numbers.tolist()]


@given(log=logs(), bounds=st.lists(st.integers(0, 50), min_size=2, max_size=6))
def test_all_records_are_read_and_no_others(log: Log, bounds: list[int]) -> None:
    reader = RecordReader(log)  # type: ignore[arg-type]
    for start, stop in itertools.pairwise(bounds):
        assert _read(reader, start, stop) == sorted(place for place in log.there if start <= place < stop)


def test_neighboring_stretches_are_read_without_going_anywhere() -> None:
    log = Log(set(range(30)), 0, 30)
    reader = RecordReader(log)  # type: ignore[arg-type]
    assert [*_read(reader, 3, 9), *_read(reader, 9, 15)] == list(range(3, 15))
    assert log.assigned == 1
    reader.rest()
    assert _read(reader, 15, 16) == [15]
    assert log.assigned == 2


def test_a_broker_that_is_away_is_waited_for_but_not_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_rows, "_PATIENCE_SECONDS", 0.0)
    log = Log(set(range(9)), 0, 9, first_signs=[Sign("_TRANSPORT")] * 3)
    with pytest.raises(ServerUnavailableError, match=r'topic "packets": no broker .* partition 3 from offset 2 on'):
        _read(RecordReader(log), 2, 9)  # type: ignore[arg-type]


def test_a_reader_that_is_refused_says_so() -> None:
    log = Log(set(range(9)), 0, 9, first_signs=[Sign("TOPIC_AUTHORIZATION_FAILED")])
    with pytest.raises(SourceUnavailableError, match=r'topic "packets": said TOPIC_AUTHORIZATION_FAILED'):
        _read(RecordReader(log), 2, 9)  # type: ignore[arg-type]


@given(
    since=st.integers(0, 10**6),
    sizes=st.integers(1, 4 * BLOCK_OFFSETS),
    tasks=st.integers(1, 5),
)
def test_blocks_of_tasks_are_those_of_the_span(since: int, sizes: int, tasks: int) -> None:
    span = TopicSpan(TOPIC, PARTITION, since, since + sizes)
    rows = TopicRows(span, {}, {"bootstrap.servers": "127.0.0.1:1"})
    blocks: list[FileBlock] = []
    for task in range(tasks):
        for _, start, stop in share_of_task([span], task, tasks):
            blocks += rows.blocks(start, stop)
    assert [block.number for block in blocks] == list(range(span.block_count))
    assert tuple(block.stop - block.start for block in blocks) == span.block_sizes
    assert blocks[0].start == since
