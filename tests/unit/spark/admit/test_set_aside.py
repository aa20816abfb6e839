"""Rows that could not be read are there once, also where their micro-batch is run again in other partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.answering.table.answer_schema import UNREADABLE, arrow_schema
from streamshed.spark.admit.set_aside import SetAside, discard_unfinished
from streamshed.spark.checkpoint.storage import Storage


def unreadable(*texts: str) -> list[pa.RecordBatch]:
    rows = [
        {"kind": UNREADABLE, "query": "s", "reason": "no JSON", "key": [text], "value_text": text, "rows_used": 1}
        for text in texts
    ]
    return [pa.RecordBatch.from_pylist(rows, schema=arrow_schema())]


def checkpoint(folder: Path, *committed: int) -> Storage:
    (folder / "commits").mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": "a"}))
    for number in committed:
        (folder / "commits" / str(number)).write_text("v1\n{}")
    return Storage.at(str(folder))


def texts_in(folder: Path) -> list[str]:
    files = sorted(folder.rglob("*.parquet"))
    return sorted(text for file in files for text in parquet.ParquetFile(file).read()["text"].to_pylist())


def test_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    SetAside(str(tmp_path / "set_aside"), "a", 0).put(0, [])
    assert not (tmp_path / "set_aside").exists()


@pytest.mark.parametrize(("committed", "expected"), [((), ["again"]), ((0,), ["again", "first"])])
def test_what_runs_again_is_there_once(tmp_path: Path, committed: tuple[int, ...], expected: list[str]) -> None:
    location = str(tmp_path / "set_aside")
    SetAside(location, "a", 0).put(0, unreadable("first"))
    SetAside(location, "a", 1).put(3, unreadable("again"))
    SetAside(location, "b", 1).put(0, unreadable("of another query"))
    discard_unfinished(location, checkpoint(tmp_path / "spark", *committed))
    SetAside(location, "a", 1).put(0, unreadable("again"))
    assert texts_in(tmp_path / "set_aside" / "query_id=a") == expected
    assert texts_in(tmp_path / "set_aside" / "query_id=b") == ["of another query"]


def test_a_first_start_has_nothing_to_delete(tmp_path: Path) -> None:
    discard_unfinished(str(tmp_path / "set_aside"), Storage.at(str(tmp_path / "spark")))
