"""What a task reads of a file: the spans it was told of, and of columns what it needs."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamshed.columnar.file_rows import BLOCK_ROWS, MOST_ROWS
from streamshed.columnar.spark_hash import block_draws, first_draw, hash_of_row
from streamshed.columnar.text_rows import BLOCK_BYTES, TextRows, block_sizes
from streamshed.errors import SourceMismatchError
from streamshed.planning.place.block_cut import UNREAD, BlockCut
from streamshed.spark.columns.sampled_blocks import SampledBlocks
from streamshed.spark.columns.span_rows import SpanRows
from streamshed.spark.common.internal_names import (
    COHORT,
    FILE_PATH,
    FILE_ROW,
    NOW,
    PARTITION_VALUES,
    SAMPLING_CODES,
    SAMPLING_RATE,
    SPAN_START,
    SPAN_STOP,
)
from streamshed.spark.source.blocks import block_cut
from streamshed.statistics.task_report import TaskReport
from tests.unit.spark.columns.given_cut import GivenCut

ROWS = 1 << 16

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("old", pa.timestamp("us", "UTC")),
        (FILE_PATH, pa.string()),
        (FILE_ROW, pa.int64()),
        (NOW, pa.int64()),
        (SAMPLING_CODES, pa.string()),
        (COHORT, pa.int64()),
    ]
)


class Told:
    """Stands for Spark's accumulator: tests without a JVM have none."""

    def __init__(self) -> None:
        self.told: list[dict[str, TaskReport]] = []

    def add(self, reports: dict[str, TaskReport]) -> None:
        self.told.append(reports)


@dataclass(frozen=True)
class Passed:
    """Takes no rows: they are handed on as they were read.

    Attributes:
        schema: Of the rows.
        counts: How many rows were read, each time.
    """

    schema: pa.Schema
    counts: list[int]

    def rows(self, record_batches: Iterable[pa.RecordBatch], _blocks: SampledBlocks) -> Iterator[pa.RecordBatch]:
        yield from record_batches

    def read_rows(self, count: int) -> pa.RecordBatch:
        self.counts.append(count)
        return pa.RecordBatch.from_pylist([], self.schema)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of which one column cannot be read."""
    path = tmp_path_factory.mktemp("rows") / "0.parquet"
    ids = range(ROWS + 10)
    old = pa.array([-(10**16)] * len(ids), pa.timestamp("us", "UTC"))
    table = pa.table({"id": pa.array(ids, pa.int64()), "old": old})
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.version": "2.4.0"}), path, row_group_size=ROWS)
    return path


def _read(
    path: Path,
    names: Iterable[str],
    told: Mapping[str, object],
    places: Iterable[int] = (),
    cut: BlockCut | None = None,
) -> pa.Table:
    """Read the file as a task that has it cut at some places, in spans from the last to the first."""
    schema = pa.schema([field for field in SCHEMA if field.name in {*names} or field.name.startswith("__")])
    passed, reports = Passed(schema, []), Told()
    rows = SpanRows(
        taking=passed,  # type: ignore[arg-type] # it is all that is asked of it
        reports=reports,  # type: ignore[arg-type] # likewise
        schema=schema,
        types={name: SCHEMA.field(name).type for name in names},
        identity=("id",),
        salt="rows",
        client=GivenCut(cut=cut),
    )
    of_all = {FILE_PATH: f"file://{path}", PARTITION_VALUES: {"id": {"is_told": False, "value": None}}, **told}
    ends = [0, *places, path.stat().st_size]
    spans = [{SPAN_START: start, SPAN_STOP: stop, **of_all} for start, stop in reversed([*pairwise(ends)])]
    table = pa.Table.from_batches(rows.rows([pa.RecordBatch.from_pylist(spans)]), rows.schema)
    assert passed.counts == [pq.read_metadata(path).num_rows]
    [report] = [told["rows"] for told in reports.told]
    assert report.left_rows == table.num_rows, "none of them is summed up"
    assert report.read_seconds > report.work_seconds > 0, "rows are handed on as they are"
    return table


def test_each_row_is_read_with_one_span(path: Path) -> None:
    for places, expected in (
        ([], range(ROWS + 10)),
        ([1], [*range(ROWS, ROWS + 10), *range(ROWS)]),
        ([1, 2, 700], [*range(ROWS, ROWS + 10), *range(ROWS)]),
        ([path.stat().st_size - 1], range(ROWS + 10)),
    ):
        table = _read(path, ["id"], {}, places)
        assert table["id"].to_pylist() == list(expected)
        assert table[FILE_ROW].to_pylist() == list(expected)


def test_where_no_row_is_kept_nothing_else_is_read(path: Path) -> None:
    assert _read(path, ["id", "old"], {SAMPLING_RATE: 0.0}).num_rows == 0
    with pytest.raises(SourceMismatchError, match="before 1900"):
        _read(path, ["id", "old"], {SAMPLING_RATE: 1e-3})


def test_a_sample_is_nested_in_a_larger_one(path: Path) -> None:
    sampled = [set(_read(path, ["id"], {SAMPLING_RATE: share})["id"].to_pylist()) for share in (0.1, 0.3, 1.0)]
    assert sampled[0] < sampled[1] < sampled[2] == set(range(ROWS + 10))
    assert len(sampled[0]) == pytest.approx(0.1 * ROWS, rel=0.05)
    assert len(sampled[1]) == pytest.approx(0.3 * ROWS, rel=0.03)


def test_a_block_that_is_read_in_parts_is_sampled_as_a_whole(tmp_path: Path) -> None:
    ids = np.arange(2 * MOST_ROWS + 1000)
    path = tmp_path / "0.parquet"
    pq.write_table(pa.table({"id": ids}), path, row_group_size=len(ids))
    table = _read(path, ["id"], {SAMPLING_RATE: 0.2}, [1])
    hashes = hash_of_row([pa.scalar("rows"), pa.array(ids)], len(ids)).view(np.uint64) >> np.uint64(11)
    expected = ids[hashes < 0.2 * 2**53]
    assert table["id"].to_pylist() == expected.tolist() == table[FILE_ROW].to_pylist()
    assert {*expected // MOST_ROWS} == {0, 1, 2}


@pytest.mark.parametrize(("width", "groups", "share"), [(1, 64, 0.3), (4, 64, 0.3), (4, 1, 0.8), (4, 1, 0.1)])
def test_of_blocks_that_are_read_so_many_more_rows_are_kept(
    tmp_path: Path, width: int, groups: int, share: float
) -> None:
    """Whatever stretches tasks are told of, a bundle is in one cohort; and at a rate, as many rows are kept."""
    size, count, rate = BLOCK_ROWS, 64, share / 1.5
    ids, path = np.arange(size * count), tmp_path / "0.parquet"
    pq.write_table(pa.table({"id": ids}), path, row_group_size=len(ids) // groups)
    before = {"/in/before": (size,) * 9}
    cut = block_cut("rows", {**before, str(path): (size,) * count}, share, 3, width)
    assert cut is not None
    drawn = block_draws(first_draw("rows", 3), -(-9 // width) + np.arange(count) // width)
    cohorts = cut.cohorts(drawn)
    assert 0 < (cohorts == UNREAD).sum() < count
    told = {SAMPLING_RATE: rate}
    together = _read(path, ["id"], told, cut=cut)
    apart = _read(path, ["id"], told, range(1000, path.stat().st_size, 100_000), cut)
    assert together.equals(apart.sort_by(FILE_ROW))
    identity = [pa.scalar("rows"), pa.scalar(f"file://{path}"), pa.array(ids)]
    hashes = hash_of_row(identity, len(ids)).view(np.uint64) >> np.uint64(11)
    is_kept = (hashes * cut.share < rate * 2**53) & (cohorts != UNREAD)[ids // size]
    assert together["id"].to_pylist() == ids[is_kept].tolist()
    assert together.num_rows == pytest.approx(rate / cut.share * size * (cohorts != UNREAD).sum(), rel=0.02)
    assert together[COHORT].to_pylist() == [cohorts[number // size] for number in together["id"].to_pylist()]


@pytest.mark.parametrize("packed", [False, True])
def test_blocks_of_text_are_stretches_of_the_file(tmp_path: Path, *, packed: bool) -> None:
    """Each line is in the block in which it begins; a packed file is one."""
    lines = [f"{number} {'x' * (number % 700)}" for number in range(5000)]
    text = "".join(f"{line}\n" for line in lines).encode()
    path = tmp_path / ("0.json.gz" if packed else "0.json")
    path.write_bytes(gzip.compress(text) if packed else text)
    sizes = block_sizes(str(path), path.stat().st_size)
    firsts = [0, *np.cumsum(sizes)[:-1].tolist()]
    assert len(sizes) == (1 if packed else -(-len(text) // BLOCK_BYTES))
    file = TextRows.of(str(path), {"value": pa.string()})
    stretches = [(start, start + 4 * BLOCK_BYTES) for start in range(0, len(text), 4 * BLOCK_BYTES)]
    blocks = [block for start, stop in stretches for block in file.blocks(start, stop)]
    assert [BLOCK_BYTES * block.number for block in blocks] == firsts
    read = [
        (BLOCK_BYTES * block.number, value)
        for block in blocks
        for run in file.only([block]).runs()
        for part in file.parts(run, ["value"])
        for value in part.columns["value"].to_pylist()
    ]
    assert [value for _, value in read] == lines
    begins = np.cumsum([0, *[len(line) + 1 for line in lines[:-1]]])
    expected = np.zeros(len(lines)) if packed else begins // BLOCK_BYTES * BLOCK_BYTES
    assert [first for first, _ in read] == expected.tolist()
