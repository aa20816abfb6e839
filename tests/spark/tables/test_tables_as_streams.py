"""Tables of Delta Lake and Iceberg as streams, as a whole and as relations: answers are DuckDB's, each there once."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import feather

from tests.programs import script
from tests.spark.tables.stored_labels import KINDS, LABELS, TABLES
from tests.spark.tables.tables_program import COMMITS, rows_of
from tests.spark.trunks.windows_of_duckdb import Answers, ExactWindows

_ROOT = Path(__file__).parents[3]
_N, _TOTAL = (
    ExactWindows(aggregate=name, call=call, size=20, slide=5, by="zone", where="ts IS NOT NULL")
    for name, call in (("n", "count(*)"), ("total", "sum(fare)"))
)
EXACT: dict[tuple[str, str], ExactWindows] = {
    ("by_zone", "n"): _N,
    ("by_zone", "total"): _TOTAL,
    ("rides_by_zone", "n"): _N,
    ("rides_by_zone", "total"): _TOTAL,
    ("nested", "most"): ExactWindows(aggregate="most", call="max(value)", size=20, below=_TOTAL),
}


def _lookups(kinds: Iterable[str]) -> dict[tuple[str, str], ExactWindows]:
    """What lookups in the labels give, wherever they are stored."""
    there, absent = (f"ts IS NOT NULL AND label IS {word} NULL" for word in ("NOT", ""))
    labeled = ExactWindows(aggregate="n", call="count(*)", size=20, by="label", where=there)
    unknown = ExactWindows(aggregate="n", call="count(*)", size=20, where=absent)
    return {
        (f"{query}_{kind}", "n"): exact
        for kind in kinds
        for query, exact in (("labeled", labeled), ("unknown", unknown))
    }


def _rows(*, are_replaced: bool) -> pa.Table:
    """All rows with their labels, which are replaced after the first commit or never."""
    rows = [
        commit_rows.append_column("label", pa.array(map(LABELS[are_replaced and number > 0].get, zones), pa.string()))
        for number, commit_rows in enumerate(map(rows_of, range(COMMITS)))
        for zones in [commit_rows["zone"].to_pylist()]
    ]
    return pa.concat_tables(rows)


def _answers(table: pa.Table, query: str, aggregate: str) -> Answers:
    """The answers of an aggregate where there are rows; none is there twice, and all are exact."""
    rows = [row for row in table.to_pylist() if (row["query"], row["aggregate"]) == (query, aggregate) and row["value"]]
    by_place = {(row["window_start"], tuple(row["key"] or ())): row["value"] for row in rows}
    assert len(by_place) == len(rows)
    assert all(row["exact"] for row in rows)
    return by_place


def _run(folder: Path, part: str) -> subprocess.CompletedProcess[str]:
    jars = ",".join(script("jars.sh", name) for name in ("delta", "avro"))
    command = [sys.executable, "-m", "tests.spark.tables.tables_program", jars, str(folder), part]
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


WHOLE, STREAMED = EXACT | _lookups(KINDS), EXACT | _lookups(TABLES)


@pytest.mark.parametrize(("query", "aggregate"), WHOLE)
def test_a_table_is_read_as_a_whole(whole: Path, query: str, aggregate: str) -> None:
    answers = feather.read_table(whole / "answers.arrow")
    assert _answers(answers, query, aggregate) == WHOLE[query, aggregate].answers(_rows(are_replaced=False))


def test_a_table_that_is_not_there_and_other_columns_are_refused(whole: Path) -> None:
    gone, other, *of_relations = json.loads((whole / "refused.json").read_text())
    assert "/gone" in gone
    assert 'the column "zone" is int in the table, and string in the schema' in other
    gone, other, repeated, broken = of_relations
    assert re.match(r'relation "prices": delta ".*/gone" cannot be read: ', gone)
    assert re.match(r'relation "prices": delta ".*/table": the column "fare" is double in the table, and int', other)
    assert re.match(r'relation "prices": \d+ rows of delta ".*/table" have the key zone = [012]; a lookup', repeated)
    assert re.match(r'relation "prices": delta ".*/broken": .*\.parquet does not exist', broken)


@pytest.mark.parametrize(("query", "aggregate"), STREAMED)
def test_a_stream_answers_each_window_once_and_exactly(streamed: Path, query: str, aggregate: str) -> None:
    """Rows of a micro-batch have the labels that were there when it began, also when it is run again."""
    answers = ds.dataset(streamed / "answers", partitioning="hive").to_table()
    assert _answers(answers, query, aggregate) == STREAMED[query, aggregate].answers(_rows(are_replaced=True))


def test_what_delta_refuses_is_told_with_the_way_on(streamed: Path) -> None:
    """Rows without an event time, one in each commit, were set aside, and rows that are deleted end the next run."""
    outcome = json.loads((streamed / "outcome.json").read_text())
    assert "were changed or deleted: with the option `skipChangeCommits: true`" in outcome["changed"]
    assert outcome["unreadable"] == 2 * COMMITS
