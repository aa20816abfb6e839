"""Rows of CSV files in stretches: each is in the stretch in which it begins, and a header is no row of any."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar import csv_rows, text_rows
from streamshed.columnar.csv_rows import CsvFiles, CsvRows
from streamshed.columnar.texts.csv_form import CsvForm
from streamshed.errors import SourceMismatchError

LINES = st.lists(st.sampled_from([b"", b" ", b"\t\x00", b"#", b"# no", b" # row", b"a,b", b"1,2", b",", b"\xff"]))
BLANKS = bytes(range(0x21))


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    """A few bytes are looked at at once, so that headers are not in the first block, and lines lie across."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "CHUNK_BYTES", 4)
        patch.setattr(text_rows, "BEYOND_BYTES", 2)
        patch.setattr(csv_rows, "BLOCK_BYTES", 3)
        yield


def _rows(path: Path, files: CsvFiles, start: int, stop: int) -> list[bytes]:
    runs = CsvRows(str(path), "value", files).runs(start, stop)
    return [bytes(run.letters[begin:end]) for run in runs for begin, end in zip(run.starts, run.stops, strict=True)]


@given(
    lines=LINES, cuts=st.lists(st.integers(0, 60), max_size=4), has_header=st.booleans(), comment=st.sampled_from("#~")
)
def test_rows_are_neither_blank_nor_comments_nor_the_header(
    lines: list[bytes], cuts: list[int], *, has_header: bool, comment: str
) -> None:
    files = CsvFiles(CsvForm(comment=comment), has_header=has_header)
    expected = [line for line in lines if line.strip(BLANKS) and not line.startswith(comment.encode())]
    with tempfile.TemporaryDirectory() as folder:
        path, packed = Path(folder) / "rows.csv", Path(folder) / "rows.csv.gz"
        path.write_bytes(b"\n".join(lines))
        packed.write_bytes(gzip.compress(path.read_bytes()))
        stretches = [_rows(path, files, *stretch) for stretch in pairwise(sorted({0, *cuts, 1000}))]
        assert _rows(packed, files, 0, 1) == expected[has_header:]
    assert [row for stretch in stretches for row in stretch] == expected[has_header:]


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("ts,Host", CsvForm()),
        ('"ts","host"', CsvForm()),
        ("TS;HOST", CsvForm(separator=";")),
        (" ts , host", CsvForm(trims=True)),
        ("# first\n\n ts\thost".replace(" ts", "ts"), CsvForm(separator="\t", comment="#")),
    ],
)
def test_a_header_that_names_the_columns_is_one(tmp_path: Path, header: str, form: CsvForm) -> None:
    (tmp_path / "rows.csv").write_text(f"{header}\n1,2\n")
    files = CsvFiles(form, has_header=True, names=("ts", "host"))
    assert _rows(tmp_path / "rows.csv", files, 0, 100) == [b"1,2"]


@pytest.mark.parametrize("header", ["host,ts", "ts", "ts,host,size", " ts,host", "1,2", "ts;host"])
def test_others_are_refused_wherever_a_task_begins(tmp_path: Path, header: str) -> None:
    (tmp_path / "rows.csv").write_text(f"{header}\n1,2\n")
    files = CsvFiles(CsvForm(), has_header=True, names=("ts", "host"))
    for start in (0, 10):
        with pytest.raises(SourceMismatchError, match="CSV header does not conform to the schema"):
            _rows(tmp_path / "rows.csv", files, start, 100)
