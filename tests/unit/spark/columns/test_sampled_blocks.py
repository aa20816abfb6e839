"""What a task tells of the blocks that it reads first, held against the rows of the file."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.columnar import file_rows
from streamshed.columnar.block_spread import BlockRows, BlockSpread
from streamshed.columnar.column_work import column_work
from streamshed.columnar.expressions.dialect import Dialect
from streamshed.columnar.file_rows import BLOCK_ROWS
from streamshed.columnar.spark_hash import block_draws, first_draw, hash_of_row
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.rows import Rows
from streamshed.network.source.sources import folder
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.sharing.stream_work import stream_work
from streamshed.spark.columns import sampled_blocks
from streamshed.spark.columns.span_rows import SpanRows
from streamshed.spark.columns.taking import SUMS_STRUCT, Taking
from streamshed.spark.common.internal_names import (
    BLOCK,
    COHORT,
    FILE_PATH,
    FILE_ROW,
    PARTITION_VALUES,
    RAW_TEXT,
    READ_ROWS,
    SAMPLING_RATE,
    SPAN_START,
    SPAN_STOP,
    SUMS,
    TAKEN_ROWS,
    TAKEN_TIME,
)
from streamshed.spark.source.blocks import block_cut
from streamshed.statistics.task_report import TaskReport
from tests.unit.spark.columns.given_cut import GivenCut

BLOCKS = 24

ROWS = BLOCKS * BLOCK_ROWS
CHANCE = np.random.default_rng(6)
LEVELS = np.repeat(CHANCE.normal(20.0, 8.0, BLOCKS), BLOCK_ROWS)
VALUES = (LEVELS + CHANCE.normal(0.0, 5.0, ROWS)).astype(np.int64)
TIMES = np.arange(ROWS)


class Told:
    """Stands for Spark's accumulator: tests without a JVM have none."""

    def __init__(self) -> None:
        self.reports: list[dict[str, TaskReport]] = []

    def add(self, reports: dict[str, TaskReport]) -> None:
        self.reports.append(reports)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "0.parquet"
    table = pa.table({"at": pa.array(TIMES, pa.timestamp("us", "UTC")), "v": VALUES})
    pq.write_table(table, path, row_group_size=ROWS)
    return path


def _told(
    declared: Rows, path: Path, types: dict[str, pa.DataType], told: dict[str, object], cut: BlockCut | None = None
) -> BlockSpread:
    """What a task tells that reads the file."""
    rows = declared.filter("v > 25")
    queries = [
        declared.window("1 second").agg(n="count(*)", total="sum(v)").query("all"),
        rows.window("1 second").agg(n="count(*)").query("few"),
    ]
    columns = column_work(stream_work(declared.stream, queries), {}, Dialect(ansi=True, time_zone="UTC"))
    taken = pa.schema(
        [
            *types.items(),
            *((name, pa.string()) for name in (FILE_PATH,)),
            (FILE_ROW, pa.int64()),
            (SUMS, SUMS_STRUCT),
            *((name, pa.int64()) for name in (TAKEN_TIME, TAKEN_ROWS, READ_ROWS, COHORT)),
        ]
    )
    names = [*types, FILE_PATH, FILE_ROW, COHORT, BLOCK]
    schema = pa.schema([taken.field(name) if name != BLOCK else pa.field(BLOCK, pa.int64()) for name in names])
    accumulator = Told()
    reads = SpanRows(
        taking=Taking(work=pickle.dumps(columns), lookups={}, schema=taken, furthest_ahead=None),
        is_text=RAW_TEXT in types,
        schema=schema,
        types=types,
        salt="rows",
        client=GivenCut(cut=cut),
        reports=accumulator,  # type: ignore[arg-type] # it is all that is asked of it
    )
    of_all = {FILE_PATH: f"file://{path}", PARTITION_VALUES: {"id": {"is_told": False, "value": None}}, **told}
    span = {SPAN_START: 0, SPAN_STOP: path.stat().st_size, **of_all}
    assert len(list(reads.rows([pa.RecordBatch.from_pylist([span])]))) > 1
    [reports] = accumulator.reports
    assert min(reports["rows"].read_seconds, reports["rows"].work_seconds) > 0
    assert reports["rows"].left_rows == 0
    return reports["rows"].spread


PACKETS = stream("rows", folder("in", "parquet", schema="at timestamp, v bigint"), time="at")
TYPES = {"at": pa.timestamp("us", "UTC"), "v": pa.int64()}


def _expected(
    blocks: Iterable[int], rows_each: int = BLOCK_ROWS, is_kept: np.ndarray | None = None, sampling_rate: float = 1.0
) -> BlockSpread:
    """What the three totals tell over the kept rows of some blocks."""
    numbers, of_rows = np.array(list(blocks)), TIMES // rows_each
    there = np.isin(of_rows, numbers) & (np.ones(ROWS, np.bool_) if is_kept is None else is_kept)
    values = VALUES[there]
    totals = [np.ones(len(values)), values.astype(np.float64), (values > 25).astype(np.float64)]
    places = np.searchsorted(numbers, of_rows[there])
    return BlockRows(places, np.full(len(numbers), rows_each), sampling_rate).spread(totals)


def _near(spread: BlockSpread, rel: float = 1e-9) -> tuple[object, object]:
    return pytest.approx(spread.of_blocks, rel=rel), pytest.approx(spread.of_rows, rel=rel)


def test_it_looks_at_the_first_blocks_that_it_reads(path: Path) -> None:
    """Of 16 blocks that are summed up at once the last may go on, so that it does not count."""
    told = _told(PACKETS, path, TYPES, {})
    assert (told.of_blocks, told.of_rows) == _near(_expected(range(15)))


def test_it_looks_on_until_it_has_seen_enough_and_never_at_a_part_of_a_block(path: Path) -> None:
    """Sums are made of 131,072 rows: the 27th block of 5,000 rows is in two of them."""
    with mock.patch.object(sampled_blocks, "ENOUGH_ROWS", ROWS), mock.patch.object(file_rows, "BLOCK_ROWS", 5000):
        told = _told(PACKETS, path, TYPES, {})
    expected = _expected(range(26), 5000) + _expected(range(27, ROWS // 5000), 5000)
    assert (told.of_blocks, told.of_rows) == _near(expected)


def test_a_sample_of_blocks_and_rows_tells_of_all(path: Path) -> None:
    drawn = block_draws(first_draw("rows", 3), range(BLOCKS))
    cut = block_cut("rows", {str(path): (BLOCK_ROWS,) * BLOCKS}, 0.7, 3)
    assert cut is not None
    rate = 0.2
    told = _told(PACKETS, path, TYPES, {SAMPLING_RATE: rate}, cut)
    identity = [pa.scalar("rows"), pa.scalar(f"file://{path}"), pa.array(TIMES)]
    hashes = hash_of_row(identity, ROWS).view(np.uint64) >> np.uint64(11)
    read = np.flatnonzero(cut.cohorts(drawn) != UNREAD)[:-1]
    sampled = _expected(read, is_kept=hashes * cut.share < rate * 2**53, sampling_rate=rate / cut.share)
    assert (told.of_blocks, told.of_rows) == _near(sampled)
    assert (told.of_blocks, told.of_rows) == _near(_expected(read), rel=0.1)


def test_of_lines_it_looks_at_stretches(tmp_path: Path) -> None:
    """Blocks of lines are shorter, and so the rows of each are fewer that are alike."""
    lines = tmp_path / "0.json"
    lines.write_text(
        "".join(json.dumps({"at": int(at), "v": int(v)}) + "\n" for at, v in zip(TIMES, VALUES, strict=True))
    )
    declared = stream("rows", folder("in", "json", schema="at bigint, v bigint"), time="timestamp_micros(at)")
    rows_each = ROWS * 65_536 / lines.stat().st_size
    of_rows = np.floor(np.arange(ROWS) / rows_each).astype(np.int64)[: 1 << 17]
    told = _told(declared, lines, {RAW_TEXT: pa.string()}, {})
    values = VALUES[: len(of_rows)]
    totals = [np.ones(len(values)), values.astype(np.float64), (values > 25).astype(np.float64)]
    sizes = np.full(int(of_rows.max()) + 1, 65_536)
    spread = BlockRows(of_rows, sizes, 1.0).spread(totals)
    assert told.of_blocks / told.of_rows == pytest.approx(spread.of_blocks / spread.of_rows, rel=0.1)
