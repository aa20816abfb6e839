"""Merged answers are there once, whenever somebody reads them and wherever a merge dies."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from streamshed.answering.table.answer_schema import arrow_schema
from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.errors import SinkUnavailableError, SourceUnavailableError
from streamshed.spark.checkpoint.hold import FolderHold
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.sinks.merged_answers import Merged, merge_answers
from streamshed.spark.sinks.sink_answers import SinkAnswers
from tests.unit.answering.sink_rows import row, table
from tests.unit.cli.command_line import streamshed
from tests.unit.deadly import Deadly, DiedError
from tests.unit.documentation import ROOT

(BOTH,) = re.findall(r"```text\n(WITH .+?)```", (ROOT / "docs/tables.md").read_text(), re.DOTALL)
"""The query of both folders in the documentation."""

QUERIES = ("many", "few")
MICRO_BATCHES = (0, 1, 2, 5, 6, 9)
"""Others had no answers."""

Answer = tuple[str, int, str, float]
"""Spark's id of the query, micro-batch, query and value."""


class Folders:
    """Answers of a run, as the Parquet sink leaves them, and merged ones."""

    def __init__(self, path: Path) -> None:
        self.answers, self.merged = path / "answers", path / "merged"

    def write(
        self, number: int, rows: Iterable[Mapping[str, Any]], *, query_id: str = "a", partition: str = ""
    ) -> None:
        folder = self.answers / f"query_id={query_id}" / f"micro_batch_id={number}" / partition
        folder.mkdir(parents=True, exist_ok=True)
        written = table(rows)
        if partition:
            written = written.drop_columns(partition.partition("=")[0])
        for place in range(2):
            part = written.slice(place, 1 if place == 0 else None)
            parquet.write_table(part, folder / f"part-0000{place}.parquet", use_deprecated_int96_timestamps=True)
        (folder / "_SUCCESS").touch()
        (folder / ".part-00000.parquet.crc").touch()

    def write_all(self, numbers: Sequence[int] = MICRO_BATCHES, query_id: str = "a") -> None:
        for number in numbers:
            self.write(number, rows_of(number), query_id=query_id)

    def merge(self, **settings: Any) -> Merged:
        return merge_answers(str(self.answers), str(self.merged), **settings)

    @property
    def files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.merged)): path.read_bytes() for path in self.merged.rglob("*.parquet")}

    @property
    def left(self) -> list[int]:
        return sorted(int(path.name.partition("=")[2]) for path in self.answers.glob("query_id=a/*"))

    def merged_answers(self) -> Counter[Answer]:
        return read(f"SELECT * FROM read_parquet('{self.merged}/*/*.parquet')") if self.files else Counter()

    def all_answers(self) -> Counter[Answer]:
        """Of both folders, as docs/tables.md reads them."""
        if not self.files:
            return read(f"SELECT * FROM read_parquet('{self.answers}/*/*/part-*.parquet')")
        return read(BOTH.replace("out/merged", str(self.merged)).replace("out/answers", str(self.answers)))


def read(sql: str) -> Counter[Answer]:
    with duckdb.connect() as database:
        rows = database.execute(f"SELECT query_id, micro_batch_id::INT, query, value FROM ({sql})").fetchall()
    return Counter(rows)


def rows_of(number: int) -> list[dict[str, Any]]:
    return [
        row("answer", query, number, key=["k", None], aggregate="n", value=float(100 * number + place), exact=True)
        for place, query in enumerate(QUERIES)
    ]


def answers_of(*numbers: int, query_id: str = "a") -> Counter[Answer]:
    return Counter(
        (query_id, number, query, 100.0 * number + place) for number in numbers for place, query in enumerate(QUERIES)
    )


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_all_but_the_latest_micro_batch_go_into_one_file(folders: Folders) -> None:
    folders.write_all()
    assert folders.merge() == Merged(micro_batches=5, answers=10, files=1, deleted=0)
    assert [*folders.files] == ["query_id=a/000000000000-000000000006.parquet"]
    assert folders.merged_answers() == answers_of(0, 1, 2, 5, 6)
    assert folders.left == [*MICRO_BATCHES]


def test_the_next_call_deletes_what_was_merged_and_merges_what_has_come(folders: Folders) -> None:
    folders.write_all()
    folders.merge()
    before = folders.files
    folders.write_all([12, 13])
    assert folders.merge() == Merged(micro_batches=2, answers=4, files=1, deleted=5)
    assert folders.left == [9, 12, 13]
    assert folders.merged_answers() == answers_of(*MICRO_BATCHES, 12)
    assert before.items() <= folders.files.items(), "a file has changed"
    assert folders.merge() == Merged(deleted=2)


def test_of_a_run_that_is_over_nothing_stays(folders: Folders) -> None:
    folders.write_all()
    folders.merge(is_over=True)
    assert folders.merged_answers() == answers_of(*MICRO_BATCHES)
    assert folders.merge(is_over=True) == Merged(deleted=6)
    assert folders.left == []


def test_what_is_being_written_is_left_alone(folders: Folders) -> None:
    folders.write_all([0, 1])
    unfinished = folders.answers / "query_id=a/micro_batch_id=2/_temporary/0/task/part-00000.parquet"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"PAR1")
    assert folders.merge().micro_batches == 2
    assert unfinished.exists()


def test_files_are_no_larger_than_they_may_be(folders: Folders) -> None:
    folders.write_all()
    size = table(rows_of(0)).nbytes
    assert folders.merge(is_over=True, most_bytes=3 * size).files > 1
    assert folders.merged_answers() == answers_of(*MICRO_BATCHES)


def test_queries_of_spark_are_told_apart(folders: Folders) -> None:
    for query_id in ("a", "b"):
        folders.write_all([0, 1], query_id)
    assert folders.merge(is_over=True) == Merged(micro_batches=4, answers=8, files=2)
    assert folders.merged_answers() == answers_of(0, 1) + answers_of(0, 1, query_id="b")


def test_no_answers_are_no_file(folders: Folders) -> None:
    folders.write(0, [])
    assert folders.merge(is_over=True) == Merged(micro_batches=1)
    assert folders.files == {}


@pytest.mark.parametrize(
    ("partition", "column", "value"),
    [
        ("query=a%2Fb%3Dc", "query", "a/b=c"),
        ("query=007", "query", "007"),
        ("reason=__HIVE_DEFAULT_PARTITION__", "reason", None),
        ("exact=true", "exact", True),
        ("window_start=2025-01-01 00%3A00%3A10", "window_start", row("answer", "q", 1)["window_start"]),
    ],
)
def test_columns_in_the_names_of_folders_are_columns_again(
    folders: Folders, partition: str, column: str, value: object
) -> None:
    rows = [{**rows_of(1)[0], column: value}, {**rows_of(1)[1], column: value}]
    folders.write(1, rows, partition=partition)
    folders.merge(is_over=True)
    (name,) = folders.files
    merged = parquet.ParquetFile(folders.merged / name).read()
    assert merged.schema.equals(arrow_schema().append(pa.field("micro_batch_id", pa.int64())))
    assert merged.sort_by("value").drop_columns("micro_batch_id").to_pylist() == table(rows).to_pylist()


def test_rows_of_a_query_lie_together(folders: Folders) -> None:
    folders.write_all()
    folders.merge()
    (name,) = folders.files
    merged = parquet.ParquetFile(folders.merged / name).read(["query", "window_start"]).to_pylist()
    assert merged == sorted(merged, key=lambda one: (one["query"], one["window_start"]))


def test_predictions_are_made_from_merged_answers(folders: Folders) -> None:
    folders.write_all()
    folders.merge(is_over=True)
    assert SinkAnswers.at(str(folders.merged)).rows_of("many").num_rows == len(MICRO_BATCHES)


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("fatal", range(13))
def test_wherever_a_merge_dies_each_answer_is_there_once(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, fatal: int, *, done: bool
) -> None:
    expected = answers_of(*MICRO_BATCHES, 12, 13)
    folders.write_all()
    folders.merge()
    folders.write_all([12, 13])
    before = folders.files
    with monkeypatch.context() as patch:
        deadly = Deadly(fatal, done=done)
        patch.setattr(Storage, "_create", deadly(Storage._create))  # noqa: SLF001 - the last step but one of a write
        patch.setattr(Storage, "delete_folder", deadly(Storage.delete_folder))
        try:
            folders.merge(most_bytes=1)
        except DiedError:
            pass
        else:
            assert fatal > 7, "it should have died"
    assert folders.all_answers() == expected
    assert set(folders.merged_answers().values()) == {1}
    assert before.items() <= folders.files.items(), "a file has changed"
    folders.merge(is_over=True)
    assert folders.merged_answers() == expected
    assert folders.all_answers() == expected
    assert not list(folders.merged.rglob("*.tmp"))


def test_nobody_merges_beside_another(folders: Folders) -> None:
    folders.write_all()
    folders.merged.mkdir()
    with (
        FolderHold(Storage.at(str(folders.merged)), SinkUnavailableError("held")),
        pytest.raises(SinkUnavailableError, match="others are being merged there right now"),
    ):
        folders.merge()


def test_they_are_not_to_lie_in_each_other(folders: Folders) -> None:
    folders.write_all()
    for target in (folders.answers, folders.answers / "merged", folders.answers.parent):
        with pytest.raises(SinkUnavailableError, match="are not to lie with the answers"):
            merge_answers(str(folders.answers), str(target))


def test_what_is_no_folder_of_answers_is_told(folders: Folders, tmp_path: Path) -> None:
    for source in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(SourceUnavailableError, match=r"no folder query_id=\.\.\. in it"):
            merge_answers(str(source), str(folders.merged))
    folders.write_all([0, 1])
    (folders.answers / "query_id=a/micro_batch_id=0/part-00000.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceUnavailableError, match=r"micro_batch_id=0/part-00000.parquet: cannot be read"):
        folders.merge()


def test_the_command_says_what_it_did(folders: Folders) -> None:
    folders.write_all()
    told = streamshed("compact", folders.answers, folders.merged)
    assert (told.code, told.errors) == (ExitCode.DONE, "")
    assert told.output == (
        f"{folders.merged}: 10 answers of 5 micro-batches in 1 new file; 0 folders deleted from {folders.answers}\n"
    )
    done = json.loads(streamshed("compact", folders.answers, folders.merged, "--all", "--json").output)
    assert done == {"micro_batches": 1, "answers": 2, "files": 1, "deleted": 5}
