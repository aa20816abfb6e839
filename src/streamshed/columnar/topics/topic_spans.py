"""Neighboring records of a partition of a topic, told by their offsets, and how they are shared among tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

BLOCK_OFFSETS = 1 << 13
"""So many offsets are a block: about as many records are fetched at once."""

_Offsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, order=True)
class TopicSpan:
    """What is read of a partition in a micro-batch.

    Attributes:
        topic: Its topic.
        partition: Its number.
        since: The offset of the first record.
        until: The offset behind the last one.
    """

    topic: str
    partition: int
    since: int
    until: int

    @property
    def place(self) -> str:
        """A text that tells it from all others.

        Example:
            >>> TopicSpan("packets", 3, 1200, 1900).place
            'packets/3/1200/1900'
        """
        return f"{self.topic}/{self.partition}/{self.since}/{self.until}"

    @classmethod
    def at(cls, place: str) -> Self:
        """Return the span that a text tells of.

        Example:
            >>> TopicSpan.at("packets/3/1200/1900")
            TopicSpan(topic='packets', partition=3, since=1200, until=1900)
        """
        topic, partition, since, until = place.rsplit("/", 3)
        return cls(topic, int(partition), int(since), int(until))

    @property
    def block_count(self) -> int:
        """How many blocks it has."""
        return -(-(self.until - self.since) // BLOCK_OFFSETS)

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """How many offsets its blocks have, in order: the first begins with it.

        Example:
            >>> TopicSpan("packets", 3, 100, 100 + 2 * BLOCK_OFFSETS + 5).block_sizes
            (8192, 8192, 5)
        """
        whole, rest = divmod(self.until - self.since, BLOCK_OFFSETS)
        return (*[BLOCK_OFFSETS] * whole, *[rest] * (rest > 0))

    def block_start(self, number: int) -> int:
        """Return where a block begins; that behind the last one begins where the span ends.

        Args:
            number: Its place among the blocks, from 0.
        """
        return min(self.since + number * BLOCK_OFFSETS, self.until)


def spans_between(before: _Offsets, after: _Offsets) -> tuple[TopicSpan, ...]:
    """Return what is read from some offsets up to others; a partition that was not there before begins at 0.

    Of a topic that was deleted and made again, offsets may be smaller than before: nothing is between them.

    Args:
        before: By topic and partition.
        after: Likewise.

    Example:
        >>> spans_between({"packets": {"0": 5, "2": 8}}, {"packets": {"0": 9, "1": 2, "2": 1}})
        (TopicSpan(topic='packets', partition=0, since=5, until=9),
         TopicSpan(topic='packets', partition=1, since=0, until=2))
    """
    spans = (
        TopicSpan(topic, int(partition), before.get(topic, {}).get(partition, 0), until)
        for topic, partitions in after.items()
        for partition, until in partitions.items()
    )
    return tuple(sorted(span for span in spans if span.since < span.until))


def share_of_task(spans: Sequence[TopicSpan], task: int, tasks: int) -> Iterator[tuple[TopicSpan, int, int]]:
    """Yield what a task reads: spans, and from where to where in each. Each task gets as many whole blocks.

    Args:
        spans: What all tasks read.
        task: The number of this one, from 0.
        tasks: How many there are.

    Example:
        >>> spans = [TopicSpan("a", 0, 0, 3 * BLOCK_OFFSETS), TopicSpan("b", 0, 10, 15)]
        >>> [(span.topic, start, stop) for span, start, stop in share_of_task(spans, 1, 2)]
        [('a', 16384, 24576), ('b', 10, 15)]
    """
    blocks = sum(span.block_count for span in spans)
    first, behind = task * blocks // tasks, (task + 1) * blocks // tasks
    for span in spans:
        start, stop = max(first, 0), min(behind, span.block_count)
        if start < stop:
            yield span, span.block_start(start), span.block_start(stop)
        first, behind = first - span.block_count, behind - span.block_count
