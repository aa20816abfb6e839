import json
import zlib
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.kafka_shape import (
    KafkaShape,
    KafkaTrace,
    kafka_rows,
    kafka_trace,
    next_offsets,
)
from streamshed.traces.trace import TIME_TYPE, trace_of
from tests.oracles.kafka_schema import KAFKA_SCHEMA
from tests.unit.traces.small_trace import START, small_trace


def encode(encoded: KafkaTrace, first: int, last: int) -> pa.Table:
    return kafka_rows(encoded, first, last, times=np.arange(START + first, START + last))


def offsets_by_partition(table: pa.Table) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = {}
    for row in table.select(["partition", "offset"]).to_pylist():
        offsets.setdefault(row["partition"], []).append(row["offset"])
    return offsets


def test_columns_are_those_of_a_kafka_source() -> None:
    table = encode(kafka_trace(small_trace(), KafkaShape(topic="packets", key="host")), 0, 6)
    assert table.column_names == KAFKA_SCHEMA.names
    assert table.cast(KAFKA_SCHEMA).schema == KAFKA_SCHEMA
    assert set(table.column("topic").to_pylist()) == {"packets"}


def test_the_value_is_the_row_with_its_new_time() -> None:
    trace = small_trace()
    table = encode(kafka_trace(trace, KafkaShape(topic="packets", key="host")), 4, 8)
    for row, source in zip(table.to_pylist(), [4, 5, 0, 1], strict=True):
        value = json.loads(row["value"])
        expected = trace.table.slice(source, 1).to_pylist()[0]
        assert datetime.fromisoformat(value.pop("ts")) == row["timestamp"]
        assert value == {"number": expected["number"], "host": expected["host"]}
        assert row["key"] == expected["host"].encode()


def test_offsets_go_on_over_passes_and_files() -> None:
    encoded = kafka_trace(small_trace(), KafkaShape(topic="t", key="host", partitions=3))
    table = pa.concat_tables([encode(encoded, 0, 7), encode(encoded, 7, 8), encode(encoded, 8, 40)])
    for offsets in offsets_by_partition(table).values():
        assert offsets == list(range(len(offsets)))


def test_a_replay_goes_on_where_another_ended() -> None:
    shape = KafkaShape(topic="t", key="host", partitions=2, first_offsets=(100, 7))
    encoded = kafka_trace(small_trace(), shape)
    offsets = offsets_by_partition(encode(encoded, 0, 20))
    following = next_offsets(encoded, 20)
    assert following == tuple(
        offsets[partition][-1] + 1 if partition in offsets else shape.first_offsets[partition] for partition in range(2)
    )
    assert sum(following) == 107 + 20


def test_equal_keys_go_to_the_partition_of_their_checksum() -> None:
    table = encode(kafka_trace(small_trace(), KafkaShape(topic="t", key="host", partitions=5)), 0, 6)
    assert all(row["partition"] == zlib.crc32(row["key"]) % 5 for row in table.to_pylist())


def test_rows_without_key_take_turns() -> None:
    table = encode(kafka_trace(small_trace(), KafkaShape(topic="t", partitions=4)), 0, 6)
    assert table.column("partition").to_pylist() == [0, 1, 2, 3, 0, 1]
    assert table.column("key").null_count == 6


def test_a_null_key_stays_null_and_takes_its_turn() -> None:
    times = pa.array(range(4), TIME_TYPE)
    for keys in ([None, 80, None, 80], [None] * 4):
        trace = trace_of(pa.table({"ts": times, "port": pa.array(keys, pa.int32())}))
        table = encode(kafka_trace(trace, KafkaShape(topic="t", key="port", partitions=4)), 0, 4)
        assert table.column("key").to_pylist() == [None if key is None else b"80" for key in keys]
        turns = [row["partition"] for row in table.to_pylist() if row["key"] is None]
        assert turns == [number for number, key in enumerate(keys) if key is None]


def test_a_null_time_is_null_in_the_value_and_arrival_in_the_record() -> None:
    table = encode(kafka_trace(small_trace([0, None, 5]), KafkaShape(topic="t")), 0, 3)
    values = [json.loads(value)["ts"] for value in table.column("value").to_pylist()]
    assert [value is None for value in values] == [False, True, False]
    assert table.column("timestamp").to_pylist()[1] == datetime.fromtimestamp(START // 1_000_000, UTC).replace(
        microsecond=1
    )


@pytest.mark.parametrize("times", [[0, 1], [0, None]])
def test_a_trace_of_times_alone(times: list[int | None]) -> None:
    trace = trace_of(small_trace(times).table.select(["ts"]))
    values = encode(kafka_trace(trace, KafkaShape(topic="t")), 0, 2).column("value").to_pylist()
    assert json.loads(values[0]) == {"ts": "2004-11-09T11:33:20.000000Z"}
    assert list(json.loads(values[1])) == ["ts"]


def test_what_no_topic_can_have_is_refused() -> None:
    with pytest.raises(InvalidReplayError, match="at least 1 partition, got 0"):
        KafkaShape(topic="t", partitions=0)
    with pytest.raises(InvalidReplayError, match="has 4 partitions, got 1 first offsets"):
        KafkaShape(topic="t", first_offsets=(3,))
    with pytest.raises(InvalidReplayError, match=r"key 'hots' is not a column .*did you mean \"host\""):
        kafka_trace(small_trace(), KafkaShape(topic="t", key="hots"))
    nested = trace_of(pa.table({"ts": pa.array([0], TIME_TYPE), "ids": [[1]]}))
    with pytest.raises(InvalidReplayError, match="key 'ids' cannot be written as text"):
        kafka_trace(nested, KafkaShape(topic="t", key="ids"))
