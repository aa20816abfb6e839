"""A table of Delta Lake as a stream, and as a whole: each answer is there once, and is what DuckDB says."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import feather

from tests.programs import script
from tests.spark.tables.delta_program import COMMITS, rows_of
from tests.spark.trunks.windows_of_duckdb import Answers, ExactWindows

_ROOT = Path(__file__).parents[3]
_N, _TOTAL = (
    ExactWindows(aggregate=name, call=call, size=20, slide=5, by="zone", where="ts IS NOT NULL")
    for name, call in (("n", "count(*)"), ("total", "sum(fare)"))
)
EXACT = {
    ("by_zone", "n"): _N,
    ("by_zone", "total"): _TOTAL,
    ("nested", "most"): ExactWindows(aggregate="most", call="max(value)", size=20, below=_TOTAL),
}


def _answers(table: pa.Table, query: str, aggregate: str) -> Answers:
    """The answers of an aggregate where there are rows; none is there twice, and all are exact."""
    rows = [row for row in table.to_pylist() if (row["query"], row["aggregate"]) == (query, aggregate) and row["value"]]
    by_place = {(row["window_start"], tuple(row["key"] or ())): row["value"] for row in rows}
    assert len(by_place) == len(rows)
    assert all(row["exact"] for row in rows)
    return by_place


def _run(folder: Path, part: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.spark.tables.delta_program", script("jars.sh", "delta"), str(folder), part]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a program that reads the table as a whole."""
    folder = tmp_path_factory.mktemp("whole")
    done = _run(folder, "whole")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a program that was killed after it had written answers, and that of its successor."""
    folder = tmp_path_factory.mktemp("streamed")
    died = _run(folder, "dies")
    assert died.returncode == -signal.SIGKILL, died.stderr[-3000:]
    done = _run(folder, "goes on")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


ROWS = pa.concat_tables([rows_of(number) for number in range(COMMITS)])


@pytest.mark.parametrize(("query", "aggregate"), EXACT)
def test_a_table_is_read_as_a_whole(whole: Path, query: str, aggregate: str) -> None:
    answers = feather.read_table(whole / "answers.arrow")
    assert _answers(answers, query, aggregate) == EXACT[query, aggregate].answers(ROWS)


def test_a_table_that_is_not_there_and_other_columns_are_refused(whole: Path) -> None:
    gone, other = json.loads((whole / "refused.json").read_text())
    assert "/gone" in gone
    assert 'the column "zone" is int in the table, and string in the schema' in other


@pytest.mark.parametrize(("query", "aggregate"), EXACT)
def test_a_stream_answers_each_window_once_and_exactly(streamed: Path, query: str, aggregate: str) -> None:
    answers = ds.dataset(streamed / "answers", partitioning="hive").to_table()
    assert _answers(answers, query, aggregate) == EXACT[query, aggregate].answers(ROWS)


def test_what_delta_refuses_is_told_with_the_way_on(streamed: Path) -> None:
    """Rows without an event time, one in each commit, were set aside, and rows that are deleted end the next run."""
    outcome = json.loads((streamed / "outcome.json").read_text())
    assert "were changed or deleted: with the option `skipChangeCommits: true`" in outcome["changed"]
    assert outcome["unreadable"] == COMMITS
