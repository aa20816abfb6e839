"""A network that misses windows over a join of answers, killed at the worst moments: what was decided stays so."""

from __future__ import annotations

import random
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession

from streamshed.spark.plan_row import PlanRow
from streamshed.spark.sinks import parquet_sink
from tests.spark.streaming.files import at, seconds_of, write_parquet
from tests.spark.streaming.harness import finish
from tests.spark.streaming.killed_program import MOST_PAIRS, run_missing_pairs
from tests.spark.streaming.killing import kill, rows_of
from tests.thoroughness import thorough

FILES, FILE_SECONDS, ROWS_PER_SECOND = 9, 5, 12
SECONDS = FILES * FILE_SECONDS
SIDES = {"events": "in", "others": "other"}


def _rows(name: str, file: int) -> pa.Table:
    """Rows up to a second off their place."""
    draws = random.Random(f"{name} {file}")
    seconds = [
        max(0.0, round(file * FILE_SECONDS + index / ROWS_PER_SECOND - draws.random(), 2))
        for index in range(FILE_SECONDS * ROWS_PER_SECOND)
    ]
    return pa.table(
        {
            "ts": pa.array([at(second) for second in seconds], pa.timestamp("us", "UTC")),
            "v": pa.array([draws.randrange(10) for _ in seconds], pa.int64()),
        }
    )


def _plans(path: Path) -> dict[int, PlanRow]:
    (folder,) = path.glob("checkpoint/*/plans")
    return {int(file.stem): PlanRow.from_json(file.read_text()) for file in folder.glob("*.json")}


@thorough
def test_what_is_delivered_is_exact_and_what_was_decided_is_never_taken_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    written = {name: [_rows(name, file) for file in range(FILES)] for name in SIDES}
    for name, folder in SIDES.items():
        for file, rows in enumerate(written[name]):
            write_parquet(tmp_path / folder / f"{file}.parquet", rows)
    before: dict[int, PlanRow] = {}
    for micro_batch_id, when in ((2, "unwritten"), (4, "written")):
        kill(tmp_path, "missing_pairs", micro_batch_id, when)
        before |= _plans(tmp_path)
    finish(run_missing_pairs(spark, tmp_path, tmp_path / "checkpoint", parquet_sink(str(tmp_path / "answers"))), FILES)
    plans = _plans(tmp_path)
    assert all(plans[number].drops == told.drops for number, told in before.items() if number in plans)
    answers = rows_of(tmp_path / "answers")
    gaps = sorted(_number(row) for row in answers if row["kind"] == "gap")
    told = {_number(row): row["value_text"] for row in answers if row["aggregate"] == "rows" and row["rows_used"]}
    assert len(gaps) == len(set(gaps)) > 6
    assert all(row["exact"] for row in answers if row["kind"] == "answer")
    runs = [len(list(run)) for _, run in groupby(enumerate(gaps), key=lambda pair: pair[1] - pair[0])]
    assert max(runs) <= MOST_PAIRS
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, files in written.items():
            database.register(name, pa.concat_tables(files))
        counted = (
            "(SELECT time_bucket(INTERVAL 2 SECOND, ts, TIMESTAMPTZ '2024-01-01') AS t, v, count(*) AS n"
            " FROM events GROUP BY ALL)"
        )
        expected = database.execute(
            "SELECT time_bucket(INTERVAL 2 SECOND, greatest(a.t, b.ts), TIMESTAMPTZ '2024-01-01') AS w,"
            f" sum(a.n)::BIGINT FROM {counted} a JOIN others b ON a.v = b.v"
            " AND b.ts >= a.t - INTERVAL 1 SECOND AND b.ts <= a.t + INTERVAL 3 SECOND GROUP BY w"
        ).fetchall()
    whole = {_number({"window_start": start}): str(rows) for start, rows in expected}
    assert told == {number: rows for number, rows in whole.items() if number not in set(gaps)}
    assert len(told) > 3


def _number(row: dict[str, Any]) -> int:
    return round(seconds_of(row["window_start"])) // 2
