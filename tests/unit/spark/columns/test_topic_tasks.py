"""What tasks read of topics: their shares, blocks that are in the cut, and what they tell of all others."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamshed.columnar.spark_hash import as_uniform, hash_of_row
from streamshed.columnar.topics import topic_rows
from streamshed.columnar.topics.topic_rows import RecordRun
from streamshed.columnar.topics.topic_spans import BLOCK_OFFSETS, TopicSpan
from streamshed.errors import MissingExtraError
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.columns import topic_tasks
from streamshed.spark.columns.sampled_blocks import SampledBlocks
from streamshed.spark.columns.topic_tasks import TopicTasks
from streamshed.spark.common.internal_names import (
    CARRIER_TIME,
    CARRIER_UNTIL,
    COHORT,
    FILE_ROW,
    NOW,
    SAMPLING_CODES,
    SAMPLING_RATE,
    TOPIC_SPANS,
)
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.blocks import block_cut
from streamshed.spark.source.upcoming_rows import StreamRows
from tests.unit.spark.columns.given_cut import GivenCut

TASKS = 3
SPANS = (TopicSpan("packets", 0, 100, 100 + 40 * BLOCK_OFFSETS + 7), TopicSpan("packets", 2, 0, 11 * BLOCK_OFFSETS))
OFFERED = sum(span.until - span.since for span in SPANS)
GAP = 5
"""Each offset that this divides is no record."""

SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        (NOW, pa.int64()),
        (SAMPLING_CODES, pa.string()),
        (COHORT, pa.int64()),
    ]
)


@dataclass
class Handed:
    """Takes no rows: they are handed on as they were read.

    Attributes:
        counts: How many rows were read, by task.
        carriers: The rows of the carrier.
    """

    counts: list[int] = field(default_factory=list)
    carriers: list[tuple[str, int, int | None]] = field(default_factory=list)

    def rows(self, record_batches: Iterable[pa.RecordBatch], _blocks: SampledBlocks) -> Iterator[pa.RecordBatch]:
        yield from record_batches

    def read_rows(self, count: int) -> pa.RecordBatch:
        self.counts.append(count)
        return pa.RecordBatch.from_pylist([], SCHEMA)

    def carrier_row(self, stream: str, instant: int, until: int | None) -> pa.RecordBatch:
        self.carriers.append((stream, instant, until))
        return pa.RecordBatch.from_pylist([], SCHEMA)


@dataclass
class Reader:
    """Reads records that are not there, and notes between which offsets."""

    asked: list[tuple[int, int, int]] = field(default_factory=list)
    rests: int = 0

    def records(self, topic: str, partition: int, start: int, stop: int) -> Iterator[RecordRun]:
        assert topic == "packets"
        self.asked.append((partition, start, stop))
        offsets = np.arange(start, stop)
        offsets = offsets[offsets % GAP != 0]
        yield RecordRun(offsets, [SimpleNamespace()] * len(offsets))  # type: ignore[list-item]

    def rest(self) -> None:
        self.rests += 1


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    reader = Reader()
    for module in (topic_rows, topic_tasks):
        monkeypatch.setattr(module, "record_reader", lambda _settings: reader)
    return reader


def _read(handed: Handed, told: Mapping[str, Any] = MappingProxyType({}), cut: BlockCut | None = None) -> pa.Table:
    """What all tasks read."""
    rows = TopicTasks(
        taking=handed,  # type: ignore[arg-type] # it is all that is asked of it
        is_text=True,
        schema=SCHEMA,
        types={name: SCHEMA.field(name).type for name in ("topic", "partition", "offset")},
        identity=("topic", "partition", "offset"),
        salt="rows",
        client=GivenCut(cut=cut),
        columns={name: name for name in ("topic", "partition", "offset")},
        settings={},
        tasks=TASKS,
    )
    of_all = {TOPIC_SPANS: [span.place for span in SPANS], CARRIER_TIME: None, CARRIER_UNTIL: None, **told}
    batches = [pa.RecordBatch.from_pylist([{FILE_ROW: task, **of_all}]) for task in range(TASKS)]
    return pa.Table.from_batches([row for batch in batches for row in rows.rows([batch])], SCHEMA)


def _records() -> list[tuple[int, int]]:
    return [(span.partition, offset) for span in SPANS for offset in range(span.since, span.until) if offset % GAP]


def _pairs(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


def test_tasks_read_all_records_once_and_count_them(reader: Reader) -> None:
    handed = Handed()
    assert _pairs(_read(handed)) == _records()
    assert sum(handed.counts) == len(_records())
    assert (len(handed.counts), reader.rests) == (TASKS, TASKS)


def test_one_task_brings_the_carrier(reader: Reader) -> None:
    handed = Handed()
    _read(handed, {CARRIER_TIME: 5, CARRIER_UNTIL: 3})
    assert handed.carriers == [("rows", 5, 3)]
    _read(handed)
    assert (len(handed.carriers), reader.rests) == (1, 2 * TASKS)


def test_a_worker_that_lacks_the_client_says_whose_topics_and_which_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    topic_rows.record_reader.cache_clear()
    with pytest.raises(MissingExtraError) as raised:
        _read(Handed())
    for part in ('stream "rows"', sys.executable, socket.gethostname(), "streamshed[kafka]"):
        assert part in str(raised.value)


def test_rows_are_sampled_by_what_identifies_them_as_spark_samples_them(reader: Reader) -> None:
    table = _read(Handed(), {SAMPLING_RATE: 0.25})
    partitions, offsets = (np.array(column) for column in zip(*_records(), strict=True))
    identity = [pa.scalar("packets"), pa.array(partitions.astype(np.int32)), pa.array(offsets)]
    drawn = as_uniform(hash_of_row([pa.scalar("rows"), *identity], len(offsets)))
    assert _pairs(table) == [pair for pair, u in zip(_records(), drawn, strict=True) if u < 0.25]
    assert len(reader.asked) >= TASKS


@pytest.mark.parametrize("width", [1, 4])
def test_blocks_that_are_not_in_the_cut_are_not_asked_for_but_counted(reader: Reader, width: int) -> None:
    cut = block_cut("rows", {span.place: span.block_sizes for span in SPANS}, 0.2, 0, width)
    assert cut is not None
    handed = Handed()
    table = _read(handed, cut=cut)
    asked = sum(stop - start for _, start, stop in reader.asked)
    assert asked == pytest.approx(cut.share * OFFERED)
    assert sum(handed.counts) == OFFERED - asked + table.num_rows
    assert {*table[COHORT].to_pylist()} <= {*range(16)}
    assert UNREAD not in {*table[COHORT].to_pylist()}


def test_the_plan_tells_what_is_read_of_topics() -> None:
    row = PlanRow(micro_batch_id=1, open=0, streams={}, topics={"rows": SPANS})
    assert PlanRow.from_json(row.to_json()).topics == {"rows": SPANS}
    assert StreamRows(OFFERED, blocks={span.place: span.block_sizes for span in SPANS}).block_count == 41 + 11
