"""Records of a real broker as rows: all that a plain client reads, none of what was deleted, aborted or is a marker."""

from __future__ import annotations

import time
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from streamshed.columnar.topics import topic_rows
from streamshed.columnar.topics.topic_client import client_settings
from streamshed.columnar.topics.topic_rows import TopicRows, record_reader
from streamshed.columnar.topics.topic_spans import BLOCK_OFFSETS, TopicSpan
from streamshed.errors import SourceUnavailableError
from streamshed.network.source.kafka_source import kafka
from tests.spark.kafka.broker import PASSWORD, Broker

_ROWS = 3 * BLOCK_OFFSETS + 100
_PATIENCE_SECONDS = 30
_FIRST_MILLISECONDS = (int(time.time()) - 100) * 1000
_COLUMNS = {"k_key": "key", "value": "value", "k_topic": "topic", "k_partition": "partition", "k_offset": "offset"}
_NAMES = ["k_key", "value", "k_topic", "k_partition", "k_offset", "k_timestamp"]


@pytest.fixture(scope="module")
def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers})


def _create(admin: AdminClient, topic: str, **settings: str) -> None:
    for made in admin.create_topics([NewTopic(topic, 2, 1, config=settings)]).values():
        made.result()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while topic not in admin.list_topics(timeout=_PATIENCE_SECONDS).topics and time.monotonic() < deadline:
        time.sleep(0.1)


def _value(number: int) -> bytes | None:
    return None if number % 7 == 0 else b"%d" % number


def _produce(servers: str, topic: str, rows: int, **settings: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 10**6, **settings})
    for number in range(rows):
        producer.produce(topic, _value(number), b"k", 1, timestamp=_FIRST_MILLISECONDS + number)
    producer.flush(_PATIENCE_SECONDS)


def _rows(servers: str, span: TopicSpan, start: int, stop: int, options: dict[str, str] | None = None) -> pa.Table:
    settings = client_settings(kafka(span.topic, servers, options=options))
    rows = TopicRows(span, {**_COLUMNS, "k_timestamp": "timestamp"}, settings)
    parts = [part for run in rows.runs(start, stop) for part in rows.parts(run, _NAMES)]
    record_reader(tuple(sorted(settings.items()))).rest()
    return pa.concat_tables([pa.table(dict(part.columns)) for part in parts]) if parts else pa.table({"value": []})


def _pairs(table: pa.Table) -> list[tuple[bytes | None, int]]:
    return list(zip(table["value"].to_pylist(), table["k_offset"].to_pylist(), strict=True)) if table.num_rows else []


def test_columns_are_those_of_the_records(servers: str, admin: AdminClient) -> None:
    _create(admin, "plain")
    _produce(servers, "plain", _ROWS, **{"compression.type": "zstd"})
    span = TopicSpan("plain", 1, 0, _ROWS)
    table = _rows(servers, span, 0, _ROWS)
    assert _pairs(table) == [(_value(number), number) for number in range(_ROWS)]
    assert set(zip(*[table[name].to_pylist() for name in ("k_key", "k_topic", "k_partition")], strict=True)) == {
        (b"k", "plain", 1)
    }
    milliseconds = np.asarray(table["k_timestamp"]).astype("M8[ms]").astype(np.int64)
    assert milliseconds.tolist() == list(range(_FIRST_MILLISECONDS, _FIRST_MILLISECONDS + _ROWS))


def test_blocks_that_are_not_asked_for_are_passed_over(servers: str) -> None:
    span = TopicSpan("plain", 1, 50, _ROWS)
    rows = TopicRows(span, _COLUMNS, client_settings(kafka("plain", servers)))
    wanted = [block for block in rows.blocks(50, _ROWS) if block.number in {0, 3}]
    offsets = [run.numbers for run in rows.only(wanted).runs()]
    assert np.concatenate(offsets).tolist() == [*range(50, 50 + BLOCK_OFFSETS), *range(50 + 3 * BLOCK_OFFSETS, _ROWS)]


def test_what_was_deleted_is_left_out(servers: str, admin: AdminClient) -> None:
    for deleted in admin.delete_records([TopicPartition("plain", 1, 1000)]).values():
        deleted.result()
    table = _rows(servers, TopicSpan("plain", 1, 0, 1100), 0, 1100)
    assert table["k_offset"].to_pylist() == list(range(1000, 1100))
    assert _rows(servers, TopicSpan("plain", 1, 0, 900), 0, 900).num_rows == 0
    # As if the topic had been made anew, with fewer records.
    assert _rows(servers, TopicSpan("plain", 1, _ROWS + 10, _ROWS + 20), _ROWS + 10, _ROWS + 20).num_rows == 0


def test_who_has_password_and_certificate_reads_the_same(broker: Broker) -> None:
    span = TopicSpan("plain", 1, 1000, 1100)
    table = _rows(broker.secure_servers, span, 1000, 1100, dict(broker.secure_options))
    assert _pairs(table) == [(_value(number), number) for number in range(1000, 1100)]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"kafka.ssl.truststore.location": "/nowhere.pem"}, "on each machine that runs tasks"),
        ({"kafka.ssl.truststore.location": "reader.pem"}, "certificate verify failed"),
        ({"kafka.sasl.jaas.config": "wrong"}, "Authentication failed"),
    ],
)
def test_who_may_not_read_is_told_why_and_no_secret(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], says: str
) -> None:
    monkeypatch.setattr(topic_rows, "_PATIENCE_SECONDS", 3.0)
    options = {**broker.secure_options, **changed}
    if changed.keys() == {"kafka.sasl.jaas.config"}:
        options |= {name: text.replace(PASSWORD, f"not-{PASSWORD}") for name, text in broker.secure_options.items()}
    folder = Path(broker.secure_options["kafka.ssl.truststore.location"]).parent
    options["kafka.ssl.truststore.location"] = str(folder / options["kafka.ssl.truststore.location"])
    with pytest.raises(SourceUnavailableError, match=says) as raised:
        _rows(broker.secure_servers, TopicSpan("plain", 1, 1000, 1100), 1000, 1100, options)
    assert PASSWORD not in "".join(traceback.format_exception(raised.value))


def test_markers_of_transactions_are_no_rows(servers: str, admin: AdminClient) -> None:
    _create(admin, "transactions")
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "t"})
    producer.init_transactions(_PATIENCE_SECONDS)
    for number in range(6):
        producer.begin_transaction()
        producer.produce("transactions", b"%d" % number, partition=1)
        producer.flush(_PATIENCE_SECONDS)
        if number % 3 == 2:
            producer.abort_transaction(_PATIENCE_SECONDS)
        else:
            producer.commit_transaction(_PATIENCE_SECONDS)
    _, behind = Consumer({"bootstrap.servers": servers, "group.id": "t"}).get_watermark_offsets(
        TopicPartition("transactions", 1), timeout=_PATIENCE_SECONDS
    )
    span = TopicSpan("transactions", 1, 0, behind)
    began = time.monotonic()
    every, committed = (
        _rows(servers, span, 0, behind),
        _rows(servers, span, 0, behind, {"kafka.isolation.level": "read_committed"}),
    )
    assert time.monotonic() - began < _PATIENCE_SECONDS
    assert every["value"].to_pylist() == [b"%d" % number for number in range(6)]
    assert committed["value"].to_pylist() == [b"0", b"1", b"3", b"4"]
    assert behind == 12
