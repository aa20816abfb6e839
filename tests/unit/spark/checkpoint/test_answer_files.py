"""The leading answers of micro-batches lie beside the journal."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.answering.table.leading_answers import leading_answers, leading_of
from streamshed.spark.checkpoint.answer_files import KEPT_FILES, MOST_ANSWERS, AnswerFiles
from streamshed.spark.checkpoint.storage import Storage

START = datetime(2025, 1, 1, tzinfo=UTC)
ROW = {
    "kind": "answer",
    "query": "q",
    "window_start": START,
    "window_end": START.replace(minute=1),
    "key": ["a", None],
    "aggregate": "n",
    "value": 7.0,
    "lower": 5.0,
    "upper": float("inf"),
    "rows_estimated": 8.0,
    "exact": False,
}


def answers(*rows: dict[str, object]) -> pa.Table:
    return leading_answers(pa.RecordBatch.from_pylist(list(rows), schema=arrow_schema()))


def test_they_are_read_as_they_were_written(tmp_path: Path) -> None:
    files = AnswerFiles(Storage.at(str(tmp_path)))
    files.write(3, {"q": {"answers": 9}}, answers(ROW))
    [document] = files.since(-1)
    seconds = START.timestamp()
    expected = ROW | {"window_start": seconds, "window_end": seconds + 60, "upper": "inf"}
    assert document == {
        "micro_batch_id": 3,
        "confidence": 0.95,
        "queries": {"q": {"answers": 9}},
        "answers": [expected],
    }
    assert list(files.since(3)) == []


def test_a_micro_batch_that_runs_again_replaces_its_file_and_one_without_answers_has_none(tmp_path: Path) -> None:
    files = AnswerFiles(Storage.at(str(tmp_path)))
    files.write(0, {"q": {"answers": 1}}, leading_of([]))
    files.write(0, {"q": {"answers": 2}}, leading_of([]))
    files.write(1, {}, leading_of([]))
    assert [document["queries"] for document in files.since(-1)] == [{"q": {"answers": 2}}]


def test_files_and_answers_are_of_bounded_number(tmp_path: Path) -> None:
    files = AnswerFiles(Storage.at(str(tmp_path)))
    many = pa.concat_tables([answers(ROW | {"query": f"q{number}"}) for number in range(MOST_ANSWERS + 5)])
    files.write(0, {"q": {}}, many)
    assert [len(document["answers"]) for document in files.since(-1)] == [MOST_ANSWERS]
    for number in range(1, KEPT_FILES + 3):
        files.write(number, {"q": {}}, leading_of([]))
    assert [document["micro_batch_id"] for document in files.since(-1)] == list(range(3, KEPT_FILES + 3))


def test_a_damaged_file_is_passed_over(tmp_path: Path) -> None:
    files = AnswerFiles(Storage.at(str(tmp_path)))
    for number in range(3):
        files.write(number, {"q": {}}, leading_of([]))
    (tmp_path / "000000000001.json").write_text('{"micro_b')
    assert [document["micro_batch_id"] for document in files.since(-1)] == [0, 2]
