"""Rows shaped like a Kafka topic: key and value as bytes, with topic, partition, offset and timestamp."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamshed.errors import near_miss
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.iso_time import iso_times
from streamshed.traces.json_text import joined, json_members, json_text, quoted
from streamshed.traces.repeat import repeated
from streamshed.traces.trace import TIME_TYPE, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaShape:
    """How rows become records of a topic.

    Args:
        topic: Name of the topic.
        key: Column whose text is the record's key; None leaves the key null.
        partitions: Number of partitions, at least 1. Equal keys go to one partition, chosen by CRC-32 as
            librdkafka does; records without key take turns.
        first_offsets: The first offset of each partition; empty starts all at 0.

    Raises:
        InvalidReplayError: The number of partitions is below 1, or does not match `first_offsets`.
    """

    topic: str
    key: str | None = None
    partitions: int = 4
    first_offsets: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.partitions < 1:
            raise InvalidReplayError(f"topic {self.topic!r} needs at least 1 partition, got {self.partitions}")
        if self.first_offsets and len(self.first_offsets) != self.partitions:
            raise InvalidReplayError(
                f"topic {self.topic!r} has {self.partitions} partitions, got {len(self.first_offsets)} first offsets"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KafkaTrace:
    """A trace encoded once, so that repeating it only has to write new times and offsets.

    The offset of row g, in pass k at row i of the trace, partition p: first_p + k · (rows of p in the trace)
    + (rows of p before i). It depends on g alone, so that parts can be encoded in any order.

    Args:
        shape: Topic, partitions, first offsets.
        time: Name of the member that holds the time.
        columns: Per row: `key`, `members` (the JSON text but for the time), `partition`, `rank` (its place
            within its partition), `timed` (whether it has a time).
        rows_per_pass: Rows of each partition in one pass.
    """

    shape: KafkaShape
    time: str
    columns: pa.Table
    rows_per_pass: tuple[int, ...]


def kafka_trace(trace: Trace, shape: KafkaShape) -> KafkaTrace:
    """Encode what stays the same in every pass of a trace.

    Args:
        trace: The rows.
        shape: Topic, key and partitions.

    Returns:
        The encoded rows.

    Raises:
        InvalidReplayError: The key is not a column of the trace.
    """
    keys = _keys(trace.table, shape.key)
    partitions = _partitions(keys, shape.partitions)
    others = trace.table.drop_columns([trace.time])
    members = json_members(others) if others.num_columns else pa.nulls(trace.rows, pa.large_string())
    columns = {
        "key": keys,
        "members": members,
        "partition": partitions,
        "rank": _ranks(partitions, shape.partitions),
        "timed": trace.table.column(trace.time).is_valid(),
    }
    rows_per_pass = np.bincount(partitions, minlength=shape.partitions)
    return KafkaTrace(
        shape=shape,
        time=trace.time,
        columns=pa.table(columns),
        rows_per_pass=tuple(int(rows) for rows in rows_per_pass),
    )


def kafka_rows(encoded: KafkaTrace, first: int, last: int, *, times: NDArray[np.int64]) -> pa.Table:
    """Encode rows [first, last) of the repeated trace.

    Args:
        encoded: From `kafka_trace`.
        first: The first row, counted through all passes.
        last: Behind the last row.
        times: Their shifted times, in microseconds since 1970; also the records' timestamps.

    Returns:
        A table with the columns of Spark's Kafka source; `value` is the row as a JSON object, the time first, in
        ISO-8601 UTC.

    Example:
        >>> rows = pa.table({"ts": pa.array([0, 1], TIME_TYPE), "host": ["a", "b"], "size": [40, -1]})
        >>> shape = KafkaShape(topic="packets", key="host", partitions=1)
        >>> encoded = kafka_trace(Trace(table=rows, time="ts"), shape)
        >>> table = kafka_rows(encoded, 1, 3, times=np.array([7_000_000, 8_000_000]))
        >>> table.column("value").to_pylist()[0]
        b'{"ts":"1970-01-01T00:00:07.000000Z","host":"b","size":-1}'
        >>> table.select(["key", "offset"]).to_pylist()
        [{'key': b'b', 'offset': 1}, {'key': b'a', 'offset': 2}]
    """
    rows = repeated(encoded.columns, first, last)
    partitions = np.asarray(rows.column("partition"))
    passes = np.arange(first, last) // encoded.columns.num_rows
    first_offsets = encoded.shape.first_offsets or (0,) * encoded.shape.partitions
    offsets = passes * np.array(encoded.rows_per_pass)[partitions]
    offsets += np.array(first_offsets)[partitions] + np.asarray(rows.column("rank"))
    topics = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(last - first, dtype=np.int8)), pa.array([encoded.shape.topic])
    )
    return pa.table(
        {
            "key": rows.column("key"),
            "value": _values(encoded.time, rows, times),
            "topic": topics,
            "partition": rows.column("partition"),
            "offset": offsets,
            "timestamp": pa.array(times, TIME_TYPE),
        }
    )


def next_offsets(encoded: KafkaTrace, rows: int) -> tuple[int, ...]:
    """Say which offsets come after the first rows of a repeated trace.

    Args:
        encoded: From `kafka_trace`.
        rows: How many rows were delivered.

    Returns:
        One offset per partition: the `first_offsets` of a replay that goes on.
    """
    passes, rest = divmod(rows, encoded.columns.num_rows)
    partitions = np.asarray(encoded.columns.column("partition").slice(0, rest))
    in_last_pass = np.bincount(partitions, minlength=encoded.shape.partitions)
    first_offsets = encoded.shape.first_offsets or (0,) * encoded.shape.partitions
    return tuple(
        begin + passes * per_pass + int(more)
        for begin, per_pass, more in zip(first_offsets, encoded.rows_per_pass, in_last_pass, strict=True)
    )


def _keys(table: pa.Table, key: str | None) -> pa.DictionaryArray | pa.ChunkedArray:
    if key is None:
        return pa.nulls(table.num_rows, pa.binary())
    if key not in table.column_names:
        raise InvalidReplayError(f"the key {key!r} is not a column of the trace{near_miss(key, table.column_names)}")
    column = table.column(key)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return column.cast(pa.string()).cast(pa.binary()).dictionary_encode()
    except pa.ArrowException as error:
        raise InvalidReplayError(f"the key {key!r} cannot be written as text: {error}") from error


def _partitions(keys: pa.Array | pa.ChunkedArray, partitions: int) -> NDArray[np.int32]:
    in_turn: NDArray[np.int32] = (np.arange(len(keys)) % partitions).astype(np.int32)
    if not pa.types.is_dictionary(keys.type):
        return in_turn
    whole = keys.combine_chunks()
    by_key = [zlib.crc32(key) % partitions for key in whole.dictionary.to_pylist()]
    if not by_key:
        return in_turn
    indices = np.asarray(pc.fill_null(whole.indices, 0))
    return np.where(np.asarray(whole.is_valid()), np.array(by_key, dtype=np.int32)[indices], in_turn)


def _ranks(partitions: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    ranks = np.empty(len(partitions), dtype=np.int64)
    order = np.argsort(partitions, kind="stable")
    sizes: Sequence[int] = np.bincount(partitions, minlength=count).tolist()
    ranks[order] = np.concatenate([np.arange(size) for size in sizes])
    return ranks


def _values(time: str, rows: pa.Table, times: NDArray[np.int64]) -> pa.ChunkedArray:
    values = []
    begin = 0
    for record_batch in rows.select(["members", "timed"]).to_batches():
        texts = iso_times(times[begin : begin + record_batch.num_rows])
        begin += record_batch.num_rows
        values.append(_value(time, texts, members=record_batch.column(0), timed=record_batch.column(1)))
    return pa.chunked_array(values, type=pa.large_binary())


def _value(time: str, texts: pa.Array, *, members: pa.Array, timed: pa.Array) -> pa.Array:
    if not pc.all(timed).as_py():
        texts = pc.if_else(timed, texts, pa.scalar(None, pa.large_string()))
    opening = f"{{{json_text(time)}:"
    if members.null_count:
        return joined(opening, quoted(texts), "}").cast(pa.large_binary())
    if texts.null_count:
        return joined(opening, quoted(texts), ",", members, "}").cast(pa.large_binary())
    return joined(f'{opening}"', texts, '",', members, "}").cast(pa.large_binary())
