"""Records of a topic as rows, read by a client of Kafka that goes past those which nobody asks for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streamshed.columnar.row_file import FileBlock, FileStretches, RowPart
from streamshed.columnar.topics.topic_spans import BLOCK_OFFSETS, TopicSpan
from streamshed.errors import ServerUnavailableError, SourceUnavailableError
from streamshed.joins.model.arrays import Ints

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

_MOST_RECORDS = 1 << 14
"""So many records are taken over at once, at most."""
_WAIT_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0
"""How long a partition may bring nothing that is said to be there."""
_ASK_SECONDS = 10.0
_CLIENT: Mapping[str, str | int | bool] = {
    "group.id": "streamshed",
    "auto.offset.reset": "error",
    "check.crcs": True,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "log_level": 2,
    # As little as possible is fetched beyond a block, and no time is spent in waiting.
    "fetch.message.max.bytes": 500_000,
    "fetch.queue.backoff.ms": 1,
    "fetch.wait.max.ms": 50,
    "queued.min.messages": 1,
}
"""Settings of the client, beside those that a network has. It joins no group, and writes down no offsets."""

_END, _NOT_THERE = "_PARTITION_EOF", "_AUTO_OFFSET_RESET"
"""What the client calls it when a partition has no more records, and when it has none of an offset."""
_REFUSED = frozenset({"TOPIC_AUTHORIZATION_FAILED", "_AUTHENTICATION", "_FATAL"})


@dataclass(frozen=True, eq=False)
class RecordRun:
    """Records of a partition, one behind the other.

    Attributes:
        numbers: The offset of each.
        records: As the client has them.
    """

    numbers: Ints
    records: Sequence[Message]


class TopicRows:
    """The records of a span as rows.

    Args:
        span: The span.
        columns: What the columns of a record are called in the stream; to each, its name to the broker.
        settings: Of the client.
    """

    def __init__(self, span: TopicSpan, columns: Mapping[str, str], settings: Mapping[str, str]) -> None:
        self._span, self._columns = span, columns
        self._reader = record_reader(tuple(sorted(settings.items())))

    def rows_between(self, start: int, stop: int) -> range:
        """Return the offsets between two, as far as they are in the span."""
        return range(max(start, self._span.since), min(stop, self._span.until))

    def blocks(self, start: int, stop: int) -> Sequence[FileBlock]:
        """Return the blocks between two offsets."""
        since, stop = self._span.since, min(stop, self._span.until)
        numbers = range((start - since) // BLOCK_OFFSETS, -((since - stop) // BLOCK_OFFSETS))
        return [
            FileBlock(number, max(start, self._span.block_start(number)), min(stop, self._span.block_start(number + 1)))
            for number in numbers
        ]

    def only(self, blocks: Sequence[FileBlock]) -> FileStretches[RecordRun]:
        """Return what reads these blocks: little else is read."""
        return FileStretches(self, [block.rows for block in blocks])

    def runs(self, start: int, stop: int) -> Iterator[RecordRun]:
        """Yield the records between two offsets; there may be fewer than offsets.

        Raises:
            SourceUnavailableError: They cannot be read; see `RecordReader.records`.
        """
        yield from self._reader.records(self._span.topic, self._span.partition, start, min(stop, self._span.until))

    def parts(self, run: RecordRun, names: Sequence[str], rows: Ints | None = None) -> Iterator[RowPart]:
        """Yield columns of records, in one part."""
        records = run.records if rows is None else [run.records[row] for row in rows.tolist()]
        numbers = run.numbers if rows is None else run.numbers[rows]
        columns = {name: self._column(self._columns[name], records, numbers) for name in names}
        yield RowPart(0, len(run.numbers), columns)

    def _column(self, name: str, records: Sequence[Message], numbers: Ints) -> pa.Array:
        match name:
            case "value":
                return pa.array([record.value() for record in records], pa.binary())
            case "key":
                return pa.array([record.key() for record in records], pa.binary())
            case "topic":
                return pa.repeat(pa.scalar(self._span.topic), len(records))
            case "partition":
                return pa.repeat(pa.scalar(self._span.partition, pa.int32()), len(records))
            case "offset":
                return pa.array(numbers)
            case "timestamp":
                milliseconds = np.array([record.timestamp()[1] for record in records], np.int64)
                return pa.array(milliseconds * 1000).cast(pa.timestamp("us", tz="UTC"))
        raise KeyError(name)


@lru_cache(maxsize=8)
def record_reader(settings: tuple[tuple[str, str], ...]) -> RecordReader:
    """Return the reader of this process with such settings: to connect takes longer than to read a block.

    Args:
        settings: Of the client, sorted.

    Raises:
        SourceUnavailableError: It cannot begin, such as for want of certificates.
    """
    from confluent_kafka import Consumer, KafkaException

    complaints = deque[str](maxlen=1)
    heard = {"error_cb": lambda error: complaints.append(error.str())}
    try:
        client = Consumer({**_CLIENT, **dict(settings), **heard}, logger=None)
    except KafkaException as error:
        raise SourceUnavailableError(
            f"a task's client of Kafka cannot begin: {error.args[0].str()}: are certificates on each machine that runs"
            " tasks, and readable there?"
        ) from error
    return RecordReader(client, complaints)


@dataclass
class RecordReader:
    """Reads records of partitions, one stretch after the other.

    Attributes:
        client: The client, which is read by nobody else.
        complaints: What it said last, if it could not reach a broker.
        place: The topic, the partition and the offset that the client would bring next; None: nothing.
    """

    client: Consumer
    complaints: deque[str] = field(default_factory=lambda: deque(maxlen=1))
    place: tuple[str, int, int] | None = field(default=None, init=False)

    def records(self, topic: str, partition: int, start: int, stop: int) -> Iterator[RecordRun]:
        """Yield the records of a partition between two offsets.

        Where records were deleted, or are markers of transactions, there are fewer than offsets.

        Args:
            topic: The topic.
            partition: The partition.
            start: The first offset.
            stop: The offset behind the last.

        Raises:
            ServerUnavailableError: The broker brings nothing for a minute.
            SourceUnavailableError: The records may not be read.
        """
        at, heard, is_there = start, time.monotonic(), False
        self._go_to(topic, partition, at)
        while at < stop:
            messages = self.client.consume(min(_MOST_RECORDS, stop - at), _WAIT_SECONDS)
            self.place = None
            records = [message for message in messages if message.error() is None]
            signs = [message for message in messages if message.error() is not None]
            if records:
                numbers, heard = _numbers(records), time.monotonic()
                within = int(np.searchsorted(numbers, stop))
                if within:
                    yield RecordRun(numbers[:within], records[:within])
                at = int(numbers[-1]) + 1
            is_there = bool(records) and not signs
            for sign in signs:
                at = max(at, self._behind(sign, topic, partition, at, stop))
            if time.monotonic() - heard > _PATIENCE_SECONDS:
                raise ServerUnavailableError(
                    f'topic "{topic}": no broker brings the records of partition {partition} from offset {at} on, for'
                    f" {_PATIENCE_SECONDS:.0f} seconds: can tasks reach the brokers by the addresses that they give?"
                    f" {' '.join(self.complaints)}".rstrip()
                )
        if at == stop and is_there:
            self.place = (topic, partition, at)

    def rest(self) -> None:
        """Fetch nothing until records are asked for again."""
        self.client.unassign()
        self.place = None

    def _go_to(self, topic: str, partition: int, offset: int) -> None:
        from confluent_kafka import TopicPartition

        if self.place != (topic, partition, offset):
            self.client.assign([TopicPartition(topic, partition, offset)])
            self.place = None

    def _behind(self, sign: Message, topic: str, partition: int, at: int, stop: int) -> int:
        """The offset to go on from, as the client has given a sign and no record."""
        from confluent_kafka import KafkaException, TopicPartition

        error: Any = sign.error()
        if error.name() in _REFUSED:
            raise SourceUnavailableError(f'topic "{topic}": {error.str()}')
        is_end = error.name() == _END
        is_here = (sign.topic(), sign.partition()) == (topic, partition)
        if not is_here or not (is_end or error.name() == _NOT_THERE):
            return at
        at = max(at, sign.offset() or 0) if is_end else at
        if at >= stop:
            return stop
        try:
            earliest, behind = self.client.get_watermark_offsets(TopicPartition(topic, partition), timeout=_ASK_SECONDS)
        except KafkaException:
            earliest, behind = at, stop
        if behind < stop and behind <= at:
            # The topic was made anew, or a broker has lost its end: there are no such records.
            return stop
        after = min(max(at, earliest), stop)
        if after < stop:
            self._go_to(topic, partition, after)
        return after


def _numbers(records: Sequence[Message]) -> Ints:
    """The offsets of records of a partition, in order."""
    first, last = records[0].offset(), records[-1].offset()
    if first is not None and last is not None and last - first == len(records) - 1:
        return np.arange(first, last + 1)
    return np.array([record.offset() for record in records], np.int64)
