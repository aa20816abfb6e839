"""Recorded files in pieces: every row once, in order, as it was."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.network.source.sources import FileFormat
from streamshed.traces.file_pieces import PIECES, cut, recorded_files


def test_tables_keep_rows_order_and_types(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array(range(1000), pa.int32()), "ts": pa.array(range(1000), pa.timestamp("us", "UTC"))})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=150)
    assert cut([tmp_path / "a.parquet"], FileFormat.PARQUET, has_header=False, target=tmp_path / "pieces")
    pieces = recorded_files(tmp_path / "pieces")
    assert PIECES <= len(pieces) <= 2 * PIECES
    assert pa.concat_tables([parquet.read_table(piece) for piece in pieces]).equals(table)


def test_neighbors_are_of_different_sizes(tmp_path: Path) -> None:
    """What of a micro-batch is fixed, and what a row's, cannot be told from micro-batches that are alike."""
    parquet.write_table(pa.table({"n": range(1200)}), tmp_path / "a.parquet")
    (tmp_path / "b.json").write_text('{"n": 1}\n' * 1200, encoding="utf-8")
    assert cut([tmp_path / "a.parquet"], FileFormat.PARQUET, has_header=False, target=tmp_path / "tables")
    assert cut([tmp_path / "b.json"], FileFormat.JSON, has_header=False, target=tmp_path / "lines")
    rows = [parquet.read_metadata(piece).num_rows for piece in recorded_files(tmp_path / "tables")]
    assert rows == [50, 150] * 6
    sizes = [piece.stat().st_size for piece in recorded_files(tmp_path / "lines")]
    assert [round(size / 450) for size in sizes[:-1]] == [1, 3] * 5 + [1]


@pytest.mark.parametrize("ending", ["\n", ""])
def test_lines_stay_whole(tmp_path: Path, ending: str) -> None:
    lines = [f'{{"n": {number}, "text": "{"x" * (number % 7)}ä"}}' for number in range(500)]
    for name, part in (("b", lines[:100]), ("a", lines[100:])):
        (tmp_path / name).write_text("\n".join(part) + ending, encoding="utf-8")
    os.utime(tmp_path / "b", (1, 1))
    files = recorded_files(tmp_path)
    assert [file.name for file in files] == ["b", "a"], "the oldest first"
    assert cut(files, FileFormat.JSON, has_header=False, target=tmp_path / "pieces")
    pieces = recorded_files(tmp_path / "pieces")
    assert PIECES <= len(pieces) <= PIECES + 2
    found = [line for piece in pieces for line in piece.read_text(encoding="utf-8").splitlines()]
    assert found == lines


def test_what_cannot_be_cut_is_left_alone(tmp_path: Path) -> None:
    packed = tmp_path / "rows.json.gz"
    packed.write_bytes(gzip.compress(b'{"n": 1}\n'))
    target = tmp_path / "pieces"
    assert not cut([packed], FileFormat.JSON, has_header=False, target=target)
    assert not cut([tmp_path / "rows.csv"], FileFormat.CSV, has_header=True, target=target)
    for whole in (FileFormat.ORC, FileFormat.AVRO):
        assert not cut([packed.with_suffix("")], whole, has_header=False, target=target)
    assert not cut([], FileFormat.PARQUET, has_header=False, target=target)
    assert not target.exists()


def test_files_that_spark_skips_are_no_rows(tmp_path: Path) -> None:
    for name in ("_SUCCESS", ".draft", "rows"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    assert [file.name for file in recorded_files(tmp_path)] == ["rows"]
    assert recorded_files(tmp_path / "missing") == []
