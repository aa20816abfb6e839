"""Rows of files come each once, in order, wherever blocks, row groups and parts end."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar import file_rows
from streamshed.columnar.file_rows import FileRows


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(1, 12),
)
def test_a_stretch_is_read_whole(groups: list[int], start: int, length: int, most_rows: int) -> None:
    rows = list(range(sum(groups)))
    expected = rows[start : start + length]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "0.parquet")
        _write(path, groups)
        patched, file_rows.MOST_ROWS = file_rows.MOST_ROWS, most_rows
        try:
            file = FileRows.of(str(path), {"n": pa.int64(), "none": pa.string()})
            parts = [(run, part) for run in file.runs(start, start + length) for part in file.parts(run, ["n", "none"])]
            empty = [part for run in file.runs(start, start + length) for part in file.parts(run, ["none"])]
        finally:
            file_rows.MOST_ROWS = patched
    assert [n for _, part in parts for n in part.columns["n"].to_pylist()] == expected
    assert all(part.rows <= most_rows for _, part in parts)
    assert all(part.columns["n"].to_pylist()[0] == part.start for _, part in parts)
    assert sum(part.rows for part in empty) == sum(len(part.columns["none"]) for part in empty) == len(expected)


def _write(path: Path, groups: list[int]) -> None:
    buffer, first = io.BytesIO(), 0
    with pq.ParquetWriter(buffer, pa.schema([("n", pa.int64())])) as writer:
        for size in groups:
            writer.write_table(pa.table({"n": range(first, first + size)}))
            first += size
    path.write_bytes(buffer.getvalue())
