"""Offsets of sources that number their rows by partition, as brokers do: {topic: {partition: next offset}}.

Rests on Spark's internals: tests/spark/kafka/test_topics.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PartitionOffsets = dict[str, dict[str, int]]

PLACE = ":place"
"""Beside the partitions of an offset: what else a source of ours has to know; no name of a topic."""


def partition_offsets(offset: Any) -> PartitionOffsets | None:
    """Return an offset of Spark's, from its JSON, if it is one by partition; else None.

    It has no topics while there are none of a pattern.

    Example:
        >>> partition_offsets({"packets": {"0": 5}}), partition_offsets({})
        ({'packets': {'0': 5}}, {})
        >>> partition_offsets({"logOffset": 3}), partition_offsets(None)
        (None, None)
        >>> partition_offsets({"live.fares": {"0": 500}, ":place": {"snapshot": "7", "files": 2}})
        {'live.fares': {'0': 500}}
    """
    if not isinstance(offset, dict):
        return None
    by_topic = {topic: partitions for topic, partitions in offset.items() if topic != PLACE}
    is_by_partition = all(
        isinstance(partitions, dict) and all(isinstance(value, int) for value in partitions.values())
        for partitions in by_topic.values()
    )
    return by_topic if is_by_partition else None


def rows_by_partition(since: PartitionOffsets, until: PartitionOffsets) -> Iterator[int]:
    """Yield how many rows each partition has between two offsets; one that was not there before begins at 0.

    Of a topic that was deleted and made again, offsets may be smaller than before: there are no rows between them.

    Example:
        >>> list(rows_by_partition({"packets": {"0": 5, "2": 8}}, {"packets": {"0": 9, "1": 2, "2": 1}}))
        [4, 2, 0]
    """
    for topic, partitions in until.items():
        for partition, offset in partitions.items():
            yield max(0, offset - since.get(topic, {}).get(partition, 0))


def rows_before(earliest: PartitionOffsets, since: PartitionOffsets, until: PartitionOffsets) -> int:
    """Return how many rows between two offsets are no longer there, by the earliest offset that each partition has.

    Example:
        >>> rows_before({"packets": {"0": 7, "1": 99}}, {"packets": {"0": 5, "1": 4}}, {"packets": {"0": 9, "1": 6}})
        4
    """
    return sum(
        max(0, min(earliest[topic][partition], until.get(topic, {}).get(partition, 0)) - offset)
        for topic, partitions in since.items()
        for partition, offset in partitions.items()
        if partition in earliest.get(topic, {})
    )
