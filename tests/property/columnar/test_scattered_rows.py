"""Rows of stretches of files are those that Arrow reads there, bit for bit, or none are returned."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar import file_rows
from streamshed.columnar.file_rows import FileRows, ScatteredRows, block_rows
from streamshed.columnar.row_file import FileBlock, FileStretches
from streamshed.columnar.scattered_rows import scattered_rows
from streamshed.columnar.texts.dictionaries import plain

TYPES = {
    "flag": pa.bool_(),
    "small": pa.int16(),
    "size": pa.int32(),
    "long": pa.int64(),
    "unsigned": pa.uint32(),
    "ratio": pa.float32(),
    "price": pa.float64(),
    "host": pa.string(),
    "raw": pa.binary(),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
}
SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-310]
WORDS = ["", "a", "é", "\0", "long" * 50, "NULL"]


def _column(kind: pa.DataType, size: int, chance: np.random.Generator, *, extreme: bool) -> pa.Array:
    """Values of a type, with nulls; `extreme` ones are any that it has."""
    if pa.types.is_floating(kind):
        values = pa.array(chance.choice(SPECIAL, size), kind)
    elif kind == pa.bool_():
        values = pa.array(chance.random(size) < 0.5)
    elif kind == pa.string():
        values = pa.array([WORDS[word] for word in chance.integers(0, len(WORDS), size)], kind)
    elif kind == pa.binary():
        values = pa.array([bytes(chance.integers(0, 256, 3).tolist()) for _ in range(size)], kind)
    else:
        whole = np.dtype(f"i{kind.bit_width // 8}")
        ends = np.iinfo(whole)
        numbers = chance.choice([ends.min, -1, 0, 1, ends.max] if extreme else [-1, 0, 1, 17_000], size)
        values = pa.array(numbers.astype(whole)).view(kind)
    return pc.if_else(pa.array(chance.random(size) < 0.2), pa.scalar(None, kind), values)


def _table(size: int, seed: int, *, extreme: bool) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table({name: _column(kind, size, chance, extreme=extreme) for name, kind in TYPES.items()})


def _bits(column: pa.Array) -> list[object]:
    """Values by which NaN is like NaN, and −0.0 is not like 0.0."""
    column = plain(column)
    if pa.types.is_floating(column.type):
        whole = pa.int32() if column.type == pa.float32() else pa.int64()
        return list(column.view(whole).to_pylist())
    if pa.types.is_temporal(column.type):
        return list(column.view(pa.int32() if column.type == pa.date32() else pa.int64()).to_pylist())
    return list(column.to_pylist())


@given(
    groups=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    ends=st.lists(st.integers(0, 12_000), min_size=2, max_size=30, unique=True),
    seed=st.integers(0, 10**6),
    extreme=st.booleans(),
    compression=st.sampled_from(["none", "snappy", "zstd"]),
    encoded=st.booleans(),
    page_rows=st.sampled_from([50, 20_000]),
)
def test_stretches_are_read_as_arrow_reads_them(
    groups: list[int],
    ends: list[int],
    seed: int,
    *,
    extreme: bool,
    compression: str,
    encoded: bool,
    page_rows: int,
) -> None:
    table = _table(sum(groups), seed, extreme=extreme)
    cut = sorted({min(end, table.num_rows) for end in ends})
    stretches = [range(first, behind) for first, behind in itertools.pairwise(cut)][::2]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "day=3", "0.parquet"))
        Path(path).parent.mkdir()
        settings = {"compression": compression, "use_dictionary": encoded, "max_rows_per_page": page_rows}
        with pq.ParquetWriter(path, table.schema, **settings) as writer:
            first = 0
            for size in groups:
                writer.write_table(table.slice(first, size), row_group_size=size)
                first += size
        rows = scattered_rows(path, TYPES, stretches)
    if not stretches:
        assert rows is None
        return
    expected = table.take(pa.array([row for stretch in stretches for row in stretch])).combine_chunks()
    if rows is None:
        assert extreme
        return
    for name in TYPES:
        assert _bits(rows.column(name)) == _bits(expected[name].combine_chunks())


@pytest.mark.parametrize(
    "kind", [pa.decimal128(9, 2), pa.timestamp("ns", "UTC"), pa.timestamp("us"), pa.time64("us"), pa.list_(pa.int32())]
)
def test_other_types_are_left_to_arrow(kind: pa.DataType) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "0.parquet"))
        pq.write_table(pa.table({"v": pa.nulls(9, kind)}), path)
        assert scattered_rows(path, {"v": kind}, [range(3)]) is None


def test_texts_come_in_the_type_that_is_asked_for(tmp_path: Path) -> None:
    path, encoded = str(tmp_path / "0.parquet"), pa.dictionary(pa.int32(), pa.string())
    pq.write_table(pa.table({"host": ["a", "b", "a", None]}), path)
    for kind in (pa.string(), encoded):
        rows = scattered_rows(path, {"host": kind}, [range(1, 4)])
        assert rows is not None
        assert rows.schema.types == [kind]
        assert rows.column("host").to_pylist() == ["b", "a", None]


@pytest.mark.parametrize("name", ["[a].parquet", "*.parquet", "a?.parquet"])
def test_a_path_is_no_pattern(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"size": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"size": [3, 4]}), tmp_path / name)
    assert scattered_rows(str(tmp_path / name), {"size": pa.int64()}, [range(1)]) is None


def test_a_file_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    read = []
    for value in (1, 2):
        pq.write_table(pa.table({"size": [value] * 9}), path)
        rows = scattered_rows(str(path), {"size": pa.int64()}, [range(4, 6)])
        assert rows is not None
        read += rows.column("size").to_pylist()
    assert read == [1, 1, 2, 2]


@given(
    groups=st.lists(st.integers(1, 70), min_size=1, max_size=6),
    most=st.integers(1, 20),
    start=st.integers(0, 200),
    length=st.integers(1, 200),
    seed=st.integers(0, 99),
    is_left_to_arrow=st.booleans(),
)
def test_each_row_is_in_a_block_and_of_those_that_are_read_all_rows_are(
    groups: list[int], most: int, start: int, length: int, seed: int, *, is_left_to_arrow: bool
) -> None:
    reader = (lambda *_: None) if is_left_to_arrow else scattered_rows
    with (
        mock.patch.object(file_rows, "scattered_rows", reader),
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(file_rows, "BLOCK_ROWS", most),
    ):
        path = str(Path(folder, "0.parquet"))
        with pq.ParquetWriter(path, pa.schema([("N", pa.int64()), ("text", pa.string())])) as writer:
            first = 0
            for size in groups:
                numbers = range(first, first + size)
                writer.write_table(pa.table({"N": numbers, "text": [f"{n % 3}" for n in numbers]}))
                first += size
        file = FileRows.of(path, {"n": pa.int64(), "text": pa.string(), "none": pa.int32()})
        sizes = block_rows(groups)
        assert sum(sizes) == sum(groups)
        blocks = file.blocks(start, start + length)
        within = [row for block in blocks for row in range(block.start, block.stop)]
        assert within == list(range(sum(groups)))[start : start + length]
        starts = np.cumsum([0, *sizes])
        for block in blocks:
            assert starts[block.number] <= block.start < block.stop <= starts[block.number + 1]
        read = [block for block in blocks if np.random.default_rng([seed, block.number]).random() < 0.5]
        assert _rows_of(file, read) == [row for block in read for row in range(block.start, block.stop)]


def _rows_of(file: FileRows, blocks: list[FileBlock]) -> list[int]:
    if not blocks:
        return []
    rows, numbers = file.only(blocks), list[int]()
    for run in rows.runs():
        for part in rows.parts(run, ["n", "text", "none"]):
            n = part.columns["n"].to_pylist()
            assert run.numbers[part.start : part.stop].tolist() == n
            assert plain(part.columns["text"]).to_pylist() == [f"{one % 3}" for one in n]
            assert part.columns["none"].null_count == len(n)
            numbers += n
        odd = np.flatnonzero(run.numbers % 2)
        chosen = [n for part in rows.parts(run, ["n"], odd) for n in part.columns["n"].to_pylist()]
        assert chosen == run.numbers[odd].tolist()
    return numbers


def test_of_row_groups_that_have_other_blocks_no_more_than_the_blocks_is_read(tmp_path: Path) -> None:
    path = str(tmp_path / "0.parquet")
    pq.write_table(pa.table({"n": range(30_000)}), path, row_group_size=20_000)
    file = FileRows.of(path, {"n": pa.int64()})
    blocks = file.blocks(0, 30_000)
    assert isinstance(file.only(blocks[:1]), ScatteredRows)
    whole = FileRows.of(path, {"n": pa.int64()})
    with mock.patch.object(file_rows, "BLOCK_ROWS", 20_000):
        assert isinstance(whole.only(whole.blocks(0, 20_000)), FileStretches)


def test_pages_are_passed_over_only_where_few_blocks_are_read(tmp_path: Path) -> None:
    path = str(tmp_path / "0.parquet")
    pq.write_table(pa.table({"n": range(40 * 8192)}), path, row_group_size=20 * 8192)
    file = FileRows.of(path, {"n": pa.int64()})
    blocks = [*file.blocks(0, 40 * 8192)]
    with mock.patch.object(file_rows, "scattered_rows", wraps=scattered_rows) as reader:
        for read, is_scattered in ((blocks[:5], True), (blocks[:6], False), (blocks[15:25], True), (blocks[8:], False)):
            reader.reset_mock()
            assert _rows_only(file, read) == [row for block in read for row in range(block.start, block.stop)]
            assert reader.called == is_scattered


def _rows_only(file: FileRows, blocks: list[FileBlock]) -> list[int]:
    rows = file.only(blocks)
    return [n for run in rows.runs() for part in rows.parts(run, ["n"]) for n in part.columns["n"].to_pylist()]
