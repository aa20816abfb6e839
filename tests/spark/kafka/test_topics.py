"""A network over a topic of a real broker: read in pieces, killed, partitions added, rows deleted, another reader."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from streamshed.answering.table.answer_schema import ANSWER_SCHEMA
from streamshed.spark.checkpoint.checkpoint_reader import offset_ranges, rows_by_offsets
from streamshed.spark.checkpoint.source_places import SourcePlaces
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.common.connector import DELTA
from streamshed.spark.inspection.checks import flaws
from tests.iceberg_lake import IcebergLake
from tests.postgres_server import PostgresServer, postgres_binaries, running_postgres
from tests.spark.kafka.course import (
    BAD_VALUES,
    DELETED_OF_LOST_STEP,
    EPOCH,
    GROWN_IN,
    KILLED_IN,
    LAST_IN,
    ROWS,
    STEP_SECONDS,
    TABLE,
    TOPIC,
    partitions_in,
    rows_of,
)

_ROOT = Path(__file__).parents[3]
_PLACES = SourcePlaces(streams=(("packets",), ()), lines=(0, 1))
_FIRST_ROWS = 10_000
_COLUMNS = frozenset(name for name, _ in ANSWER_SCHEMA)


@dataclass(frozen=True)
class Course:
    """What came of both processes, of which the second starts the network twice.

    Attributes:
        answers: Rows of the sink.
        checkpoint: Spark's.
        records: Keys and values of the topic that answers were sent to, from JSON.
        outcome: What the second process says.
        reads: By start, of each micro-batch that had finished whether offsets went on, and what Spark had read.
        in_table: Rows of the table of Delta Lake that answers were written to; None: this release of Spark has none.
        in_iceberg: Likewise of Iceberg.
        in_postgres: Likewise of Postgres; None: there is no server.
    """

    answers: list[dict[str, Any]]
    records: list[tuple[str, dict[str, Any]]]
    checkpoint: Storage
    outcome: Mapping[str, Any]
    reads: Mapping[str, list[tuple[bool, int]]]
    in_table: list[dict[str, Any]] | None
    in_iceberg: list[dict[str, Any]]
    in_postgres: list[dict[str, Any]] | None

    def of(self, query: str, aggregate: str) -> dict[tuple[datetime, tuple[str, ...]], dict[str, Any]]:
        """The answers of an aggregate, by window and key; none is there twice."""
        rows = [row for row in self.answers if (row["query"], row["aggregate"]) == (query, aggregate)]
        by_place = {(row["window_start"], tuple(row["key"] or ())): row for row in rows}
        assert len(by_place) == len(rows)
        return by_place


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer | None]:
    """A server; None: its programs are not there, and only the test that asks for its table is skipped."""
    try:
        postgres_binaries()
    except pytest.skip.Exception:
        yield None
        return
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def course(servers: str, postgres: PostgresServer | None, tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("course")
    connection = "" if postgres is None else postgres.connection
    for which, code in (("first", -signal.SIGKILL), ("second", 0)):
        assert _run(which, folder, servers, connection) == code, (folder / f"{which}.log").read_text()[-3000:]
    answers = ds.dataset(sorted(map(str, (folder / "answers").glob("*/*.parquet")))).to_table().to_pylist()
    outcome = json.loads((folder / "outcome.json").read_text())
    first = json.loads((folder / "read_by_spark.json").read_text())
    records = ds.dataset(str(folder / "records")).to_table().to_pylist()
    return Course(
        answers,
        [(record["key"], json.loads(record["value"])) for record in records],
        Storage.at(str(folder / "checkpoint" / "time" / "spark")),
        outcome,
        {"first": first, "second": outcome["read_by_spark"], "third": outcome["last"]["read_by_spark"]},
        ds.dataset(str(folder / "in_table")).to_table().to_pylist() if DELTA.fits() else None,
        IcebergLake(folder).rows(TABLE),
        None if postgres is None else postgres.rows("answers"),
    )


def _run(which: str, folder: Path, servers: str, connection: str) -> int:
    command = [sys.executable, "-m", "tests.spark.kafka.course", which, str(folder), servers, connection]
    environment = os.environ | IcebergLake(folder).environment
    with (folder / f"{which}.log").open("w") as log:
        return subprocess.run(command, stdout=log, stderr=log, check=False, cwd=_ROOT, env=environment).returncode


def _exact(sql: str) -> dict[tuple[datetime, tuple[str, ...]], float]:
    """What DuckDB says of all rows: the start of a window in seconds, key, value."""
    rows = [row | {"second": (row["ts"] - EPOCH).total_seconds()} for step in range(len(ROWS)) for row in rows_of(step)]
    with duckdb.connect() as database:
        database.register("packets", pa.Table.from_pylist(rows))
        return {
            (EPOCH + timedelta(seconds=start), tuple(map(str, key))): float(value)
            for start, *key, value in database.execute(sql).fetchall()
        }


def _second(start: datetime) -> float:
    return (start - EPOCH).total_seconds()


_ALL = {
    "n": "SELECT floor(second / 10) * 10, count(*) FROM packets GROUP BY 1",
    "total": "SELECT floor(second / 10) * 10, sum(size) FROM packets GROUP BY 1",
}
_BY_KEY = {
    "n": "SELECT floor(second / 20) * 20, key, partition, count(*) FROM packets GROUP BY ALL",
    "mean": "SELECT floor(second / 20) * 20, key, partition, avg(size) FROM packets GROUP BY ALL",
}
_LARGEST = {
    "largest": "SELECT floor(second / 10) * 10, max(size) FROM packets GROUP BY 1",
    "least": "SELECT floor(second / 10) * 10, -1 FROM packets GROUP BY 1",
}
_QUERIES = {"all": _ALL, "by_key": _BY_KEY, "largest": _LARGEST}
_TOUCHED_FROM = STEP_SECONDS * KILLED_IN - 21
"""No window that ends before this may lack rows: the watermark had passed it when the process was killed."""


@pytest.mark.parametrize("query", _QUERIES)
def test_what_is_called_exact_is_what_duckdb_says(course: Course, query: str) -> None:
    for aggregate, sql in _QUERIES[query].items():
        exact, answers = _exact(sql), course.of(query, aggregate)
        assert answers.keys() <= exact.keys()
        for place, row in answers.items():
            if row["exact"]:
                assert row["value"] == pytest.approx(exact[place], rel=1e-9)
        assert {place for place in exact if _second(place[0]) < _TOUCHED_FROM} <= {
            place for place, row in answers.items() if row["exact"]
        }


def test_windows_that_lack_rows_say_so(course: Course) -> None:
    exact, answers = _exact(_ALL["n"]), course.of("all", "n")
    assert answers.keys() == exact.keys()
    lacking = {place for place in exact if answers[place]["value"] < exact[place]}
    assert lacking
    for place in lacking:
        row = answers[place]
        assert (row["exact"], row["reason"], row["lower"], row["upper"]) == (False, "rows lost", row["value"], None)
    lost = sum(exact.values()) - sum(row["value"] for row in answers.values())
    assert lost == course.outcome["lost_rows"] == _in_first_partition(KILLED_IN) + DELETED_OF_LOST_STEP


def _in_first_partition(step: int) -> int:
    return sum(row["partition"] == 0 for row in rows_of(step))


def test_drained_right_after_the_start_it_has_read_what_waited(course: Course) -> None:
    assert [outcome["exception"] for outcome in (course.outcome, course.outcome["last"])] == ["", ""]
    assert course.outcome["last"]["drained"]
    assert max(_second(start) for start, _ in course.of("all", "n")) == STEP_SECONDS * (LAST_IN + 1) - 10


def test_the_first_read_is_taken_in_pieces_whose_sizes_are_known(course: Course) -> None:
    reads = [rows_by_offsets(course.checkpoint, number, _PLACES).get(0) for number in range(2)]
    first, second = (rows or 0 for rows in reads)
    # Spark rounds what it takes of each partition down.
    assert _FIRST_ROWS - partitions_in(0) <= first <= _FIRST_ROWS
    assert first + second == ROWS[0] + len(BAD_VALUES)


def test_partitions_that_are_added_are_read_from_their_first_row(course: Course) -> None:
    ranges = (offset_ranges(course.checkpoint, number, _PLACES)[0] for number in range(2, 4))
    (before, after), _ = ranges
    assert (len(before[TOPIC]), len(after[TOPIC])) == (partitions_in(0), partitions_in(GROWN_IN))


@pytest.mark.parametrize("start", ["first", "third"])
def test_spark_keeps_offsets_and_reads_no_row_that_tasks_read(course: Course, start: str) -> None:
    reads = course.reads[start]
    assert any(went_on for went_on, _ in reads)
    assert [rows for _, rows in reads if rows] == []


def test_spark_goes_on_where_tasks_have_read_and_tasks_where_spark_has(course: Course) -> None:
    """That no row before is lost or counted twice is what the other answers show."""
    assert sum(rows for _, rows in course.reads["second"]) > 0
    begins, counts = EPOCH + timedelta(seconds=STEP_SECONDS * LAST_IN), course.of("all", "n")
    in_last_step = {start: row for (start, _), row in counts.items() if start >= begins}
    assert sum(row["value"] for row in in_last_step.values()) == ROWS[LAST_IN]
    # Rows that were lost before may be as late as the watermark allows.
    assert {start for start, row in in_last_step.items() if not row["exact"]} <= {begins}


def test_what_cannot_be_read_is_set_aside_once(course: Course) -> None:
    folder = Path(course.checkpoint.root).parent / "set_aside"
    rows = ds.dataset(sorted(map(str, folder.rglob("*.parquet")))).to_table().to_pylist()
    assert len(rows) == len(BAD_VALUES)


def test_answers_sent_to_a_topic_are_there_once_for_each_key(course: Course) -> None:
    """Those of the micro-batch in which the process was killed were sent twice."""
    by_key = dict(course.records)
    assert len(by_key) == len(course.answers) < len(course.records)
    assert all(value == by_key[key] for key, value in course.records)
    assert sorted(map(repr, map(_as_json, course.answers))) == sorted(map(repr, by_key.values()))


def test_answers_in_a_table_are_there_once_though_the_process_was_killed_behind_it(course: Course) -> None:
    if not DELTA.fits():
        pytest.skip(f"no build of Delta Lake runs on PySpark after {DELTA.last_release}")
    assert course.in_table is not None
    assert sorted(map(_as_text, course.in_table)) == sorted(map(_as_text, course.answers))
    assert {row["query_id"] for row in course.in_table} == {"a"}


def test_answers_in_iceberg_are_there_once_though_the_process_was_killed_behind_it(course: Course) -> None:
    assert sorted(map(_as_text, course.in_iceberg)) == sorted(map(_as_text, course.answers))
    assert {row["query_id"] for row in course.in_iceberg} == {"a"}


def test_answers_in_postgres_are_there_once_though_the_process_was_killed_behind_it(course: Course) -> None:
    if course.in_postgres is None:
        postgres_binaries()
    assert sorted(map(_as_text, course.in_postgres or ())) == sorted(map(_as_text, course.answers))


def test_what_the_run_has_left_is_whole(course: Course) -> None:
    assert flaws(Storage.reached(str(Path(course.checkpoint.root).parents[1])), "time") == []


def _as_text(answer: Mapping[str, Any]) -> str:
    """An answer without the columns that a table adds, its times as UTC."""
    values = {name: value for name, value in answer.items() if name in _COLUMNS}
    times = {name: value for name, value in values.items() if isinstance(value, datetime)}
    return str(sorted((values | {name: time.isoformat()[:19] for name, time in times.items()}).items()))


def _as_json(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if isinstance(value, datetime) else value
        for name, value in answer.items()
    }
