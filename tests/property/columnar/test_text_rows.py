"""Lines of text files in stretches: each line is in the stretch in which it begins, however a file is cut and read."""

from __future__ import annotations

import bz2
import gzip
import re
import tempfile
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.columnar import text_rows
from streamshed.columnar.text_rows import TextRows
from streamshed.errors import SourceMismatchError

LETTERS = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"\xff", b"\xc3\xa9"]), max_size=40).map(
    b"".join
)


@pytest.fixture(autouse=True, scope="module")
def small_chunks() -> Iterator[None]:
    """A few bytes are looked at at once, so that lines lie across."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "CHUNK_BYTES", 4)
        patch.setattr(text_rows, "BEYOND_BYTES", 2)
        yield


def _lines(letters: bytes) -> list[tuple[int, bytes]]:
    """The place of each line, and its bytes; by Python's regular expressions."""
    lines, place = [], 0
    while place < len(letters):
        end = re.compile(rb"\r\n|\r|\n").search(letters, place)
        stop, after = (len(letters), len(letters)) if end is None else end.span()
        lines.append((place, letters[place:stop]))
        place = after
    return lines


def _read(path: Path, start: int, stop: int, keep_one_in: int = 1) -> list[tuple[int, bytes]]:
    file = TextRows.of(str(path), {"value": pa.string()})
    rows: list[tuple[int, bytes]] = []
    for run in file.runs(start, stop):
        kept = None if keep_one_in == 1 else np.arange(0, len(run.numbers), keep_one_in)
        for part in file.parts(run, ["value"], kept):
            texts = part.columns["value"].cast(pa.binary()).to_pylist()
            rows += zip((run.numbers if kept is None else run.numbers[kept]).tolist(), texts, strict=True)
    return rows


@given(letters=LETTERS, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_each_line_is_in_the_stretch_in_which_it_begins(letters: bytes, cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        path.write_bytes(letters)
        places = sorted({0, *cuts, 1000})
        stretches = [_read(path, start, stop) for start, stop in pairwise(places)]
    assert [line for stretch in stretches for line in stretch] == _lines(letters)
    for stretch, (start, stop) in zip(stretches, pairwise(places), strict=True):
        assert all(start <= place < stop for place, _ in stretch)


@given(letters=LETTERS)
def test_packed_files_are_unpacked(letters: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".deflate", zlib.compress)):
            path = Path(folder) / f"rows.json{ending}"
            path.write_bytes(pack(letters))
            assert _read(path, 0, 1) == _lines(letters)
            assert _read(path, 1, 100) == []


def test_some_lines_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    lines = [b"line %d" % number for number in range(1000)]
    path.write_bytes(b"\n".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "CHUNK_BYTES", 1 << 20)
        assert [text for _, text in _read(path, 0, 1 << 20, keep_one_in=7)] == lines[::7]


def test_little_is_looked_at_behind_a_stretch(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(b"".join(b"line %04d\n" % number for number in range(1000)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_rows, "CHUNK_BYTES", 1 << 20)
        patch.setattr(text_rows, "BEYOND_BYTES", 100)
        [run] = TextRows.of(str(path), {"value": pa.string()}).runs(1000, 2000)
    assert run.numbers.tolist() == list(range(1000, 2000, 10))
    assert len(run.letters) <= 1000 + 1 + 100


def test_what_says_that_a_file_is_utf8_is_no_part_of_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb")
    assert _read(tmp_path / "rows.json", 0, 100) == [(0, b"a"), (5, b"\xef\xbb\xbfb")]


def test_other_packed_files_are_refused() -> None:
    with pytest.raises(SourceMismatchError, match=r"rows.json.lz4.*gzip or bzip2.*lineSep"):
        TextRows.of("rows.json.lz4", {"value": pa.string()})


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.json").write_bytes(b"a" * 100)
    monkeypatch.setattr(text_rows, "MOST_BYTES", 20)
    with pytest.raises(SourceMismatchError, match=r'rows.json": a line has more than 20 bytes'):
        _read(tmp_path / "rows.json", 0, 100)
