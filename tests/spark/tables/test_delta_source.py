"""A table of Delta Lake as a stream, and as a whole: each answer is there once, and is what DuckDB says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import feather

from tests.spark.kafka.broker import script
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


@dataclass(frozen=True)
class TableCourse:
    """What came of the program.

    Attributes:
        tables: The answers of the stream, and those of the table read as a whole.
        outcome: What the program says.
    """

    tables: Mapping[str, pa.Table]
    outcome: Mapping[str, Any]

    def answers(self, way: str, query: str, aggregate: str) -> Answers:
        """The answers of an aggregate where there are rows; none is there twice, and all are exact."""
        rows = [
            row
            for row in self.tables[way].to_pylist()
            if (row["query"], row["aggregate"]) == (query, aggregate) and row["value"]
        ]
        by_place = {(row["window_start"], tuple(row["key"] or ())): row["value"] for row in rows}
        assert len(by_place) == len(rows)
        assert all(row["exact"] for row in rows)
        return by_place


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> TableCourse:
    folder = tmp_path_factory.mktemp("delta")
    command = [sys.executable, "-m", "tests.spark.tables.delta_program", script("jars.sh", "delta"), str(folder)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return TableCourse(
        tables={
            "stream": ds.dataset(folder / "answers", partitioning="hive").to_table(),
            "whole": feather.read_table(folder / "whole.arrow"),
        },
        outcome=json.loads((folder / "outcome.json").read_text()),
    )


@pytest.mark.parametrize("way", ["stream", "whole"])
@pytest.mark.parametrize(("query", "aggregate"), EXACT)
def test_each_window_is_answered_once_and_exactly(course: TableCourse, way: str, query: str, aggregate: str) -> None:
    rows = pa.concat_tables([rows_of(number) for number in range(COMMITS)])
    assert course.answers(way, query, aggregate) == EXACT[query, aggregate].answers(rows)


def test_rows_without_an_event_time_are_set_aside(course: TableCourse) -> None:
    assert course.outcome["unreadable"] == COMMITS


def test_a_table_that_is_not_there_and_other_columns_are_refused(course: TableCourse) -> None:
    gone, other = course.outcome["refused"]
    assert "/gone" in gone
    assert 'the column "zone" is int in the table, and string in the schema' in other
