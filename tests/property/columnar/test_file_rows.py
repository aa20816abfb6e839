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
from streamshed.columnar.texts.dictionaries import plain


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
    assert all(part.stop - part.start <= most_rows for _, part in parts)
    assert all(part.columns["n"].to_pylist()[0] == run.start + part.start for run, part in parts)
    lengths = [(part.stop - part.start, len(part.columns["none"])) for part in empty]
    assert [sum(of_parts) for of_parts in zip(*lengths, strict=True)] in ([len(expected)] * 2, [])
    assert bool(expected) == bool(lengths)


@given(
    st.lists(st.lists(st.none() | st.sampled_from(["", "a", "é", "long" * 9]), min_size=1), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([pa.string(), pa.binary()]),
)
def test_texts_are_the_same_however_a_file_has_them(
    groups: list[list[str | None]], is_encoded: bool, kind: pa.DataType
) -> None:
    written = pa.schema([("Host", kind), ("other", kind)])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "0.parquet"))
        with pq.ParquetWriter(path, written, use_dictionary=["Host"] if is_encoded else False) as writer:
            for texts in groups:
                writer.write_table(pa.table({"Host": texts * 50, "other": texts * 50}, written))
        file = FileRows.of(path, {"host": kind, "other": kind})
        parts = [part for run in file.runs(0, 10**6) for part in file.parts(run, ["host", "other"])]
    expected = pa.array([text for texts in groups for text in texts * 50], pa.string()).cast(kind).to_pylist()
    for name in ("host", "other"):
        assert [text for part in parts for text in plain(part.columns[name]).to_pylist()] == expected
    if is_encoded and any(expected):
        assert any(pa.types.is_dictionary(part.columns["host"].type) for part in parts)
    assert not any(pa.types.is_dictionary(part.columns["other"].type) for part in parts)


def _write(path: Path, groups: list[int]) -> None:
    buffer, first = io.BytesIO(), 0
    with pq.ParquetWriter(buffer, pa.schema([("n", pa.int64())])) as writer:
        for size in groups:
            writer.write_table(pa.table({"n": range(first, first + size)}))
            first += size
    path.write_bytes(buffer.getvalue())
