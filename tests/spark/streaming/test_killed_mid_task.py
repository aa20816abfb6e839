"""Killed in the middle of a task, and gone on with by a process that would drop other windows: the same are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamshed.planning.window_drop.open_windows import QueryDrops
from streamshed.spark.plan_row import PlanRow
from streamshed.spark.sinks import parquet_sink
from tests.spark.streaming.files import EPOCH_MICROSECONDS, at, write_parquet
from tests.spark.streaming.harness import finish
from tests.spark.streaming.killed_program import (
    LETHAL_FILE,
    LETHAL_ROW,
    MISSING,
    ROWS_AT_A_TIME,
    ROWS_PER_FILE,
    SHARES_AFTER,
    build_mid_task,
    run_mid_task,
)
from tests.spark.streaming.killing import kill, rows_of
from tests.thoroughness import thorough

pytestmark = thorough

FILES, FILE_SECONDS = 7, 10
NEVER = 10**6
WINDOWS = {"whole": (5, 5), "missing": (2, 2), "missing_by_v": (1, 1), "missing_nested": (4, 2)}
"""Size and slide, seconds."""

Totals = Mapping[tuple[Any, tuple[str, ...]], float]
"""By start of window and group."""


@dataclass(frozen=True)
class Killed:
    """What was there when the process had been killed, and what there was in the end.

    Attributes:
        plan: Of the micro-batch in which it was killed, as it was written then.
        plan_in_the_end: As it was written in the end.
        before: The plan of the micro-batch before that.
        begun: Numbers of the micro-batches that had begun.
        done: And of those that were done.
        written: And of those that the sink had.
        handed: The rows that the function was handed in all.
        answers: All rows of the sink.
        totals: By query, what DuckDB says.
    """

    plan: PlanRow
    plan_in_the_end: PlanRow
    before: PlanRow
    begun: set[int]
    done: set[int]
    written: set[int]
    handed: Counter[int]
    answers: list[dict[str, Any]]
    totals: Mapping[str, Totals]

    def of(self, query: str, kind: str) -> list[dict[str, Any]]:
        return [row for row in self.answers if (row["query"], row["kind"]) == (query, kind)]


def _rows() -> pa.Table:
    ids = np.arange(FILES * ROWS_PER_FILE)
    instants = EPOCH_MICROSECONDS + ids * FILE_SECONDS * 1_000_000 // ROWS_PER_FILE
    return pa.table({"ts": pa.array(instants, pa.timestamp("us", "UTC")), "id": ids, "v": ids * 13 % 3})


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    path = tmp_path_factory.mktemp("killed_mid_task")
    rows, sink, checkpoint = _rows(), path / "answers", path / "checkpoint"
    for number in range(FILES):
        write_parquet(path / "in" / f"{number}.parquet", rows.slice(number * ROWS_PER_FILE, ROWS_PER_FILE))
    kill(path, "mid_task", NEVER, "unwritten")
    before, plan = (_plan(checkpoint, number) for number in (LETHAL_FILE - 1, LETHAL_FILE))
    begun, done = (_numbers(checkpoint / "time" / "spark" / kind) for kind in ("offsets", "commits"))
    written = {row["micro_batch_id"] for row in rows_of(sink)}
    size = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    try:
        finish(run_mid_task(spark, path, checkpoint, parquet_sink(str(sink)), SHARES_AFTER), FILES)
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", size or "10000")
    return Killed(
        plan=plan,
        plan_in_the_end=_plan(checkpoint, LETHAL_FILE),
        before=before,
        begun=begun,
        done=done,
        written=written,
        handed=Counter(map(int, (path / "handed").read_text().split())),
        answers=rows_of(sink),
        totals={query: _totals(rows, query) for query in WINDOWS},
    )


def _plan(checkpoint: Path, micro_batch_id: int) -> PlanRow:
    return PlanRow.from_json((checkpoint / "time" / "plans" / f"{micro_batch_id:012d}.json").read_text())


def _numbers(folder: Path) -> set[int]:
    return {int(file.name) for file in folder.iterdir() if file.name.isdigit()}


def _totals(rows: pa.Table, query: str) -> Totals:
    """Sums of whole windows, those over answers that rest on one sum of the rows."""
    size, slide = (seconds * 1_000_000 for seconds in WINDOWS[query])
    numbers = f"generate_series((epoch_us(ts) - {size}) // {slide} + 1, epoch_us(ts) // {slide})"
    key = "v" if query == "missing_by_v" else "NULL"
    with duckdb.connect() as database:
        database.register("fed", rows)
        found = database.execute(
            f"SELECT (number * {slide} - {EPOCH_MICROSECONDS}) / 1e6, {key}, sum(id)"
            f" FROM (SELECT *, unnest({numbers}) AS number FROM fed) GROUP BY ALL"
        ).fetchall()
    return {(at(start), () if group is None else (str(group),)): float(total) for start, group, total in found}


def test_it_was_killed_in_the_middle_of_a_task(killed: Killed) -> None:
    assert killed.begun >= {LETHAL_FILE}
    assert LETHAL_FILE not in killed.done | killed.written
    assert killed.written
    first = LETHAL_FILE * ROWS_PER_FILE
    worked_on = LETHAL_ROW // ROWS_AT_A_TIME * ROWS_AT_A_TIME
    twice = {row for row, times in killed.handed.items() if times == 2}
    assert set(range(first, first + worked_on)) <= twice
    assert max(killed.handed.values()) == 2


def _newly_dropped(killed: Killed, query: str) -> set[int]:
    """Windows that were dropped by the plan of the micro-batch in which it was killed, seconds."""
    before, now = ({*_drops(plan, query).numbers()} for plan in (killed.before, killed.plan))
    return {number - EPOCH_MICROSECONDS // _slide(query) for number in now - before}


def _slide(query: str) -> int:
    return WINDOWS[query][1] * 1_000_000


def _drops(plan: PlanRow, query: str) -> QueryDrops:
    return plan.drops.queries[str(build_mid_task(Path("anywhere")).query(query).definition_id)]


@pytest.mark.parametrize("query", MISSING)
def test_the_windows_are_dropped_that_the_killed_process_had_decided_on(killed: Killed, query: str) -> None:
    """The other one keeps all windows of that micro-batch: had it decided anew, they would be answered."""
    assert SHARES_AFTER.get(LETHAL_FILE, 1.0) == 1
    assert killed.plan_in_the_end.drops == killed.plan.drops
    dropped = {at(number * WINDOWS[query][1]) for number in _newly_dropped(killed, query)}
    assert dropped
    assert dropped <= {row["window_start"] for row in killed.of(query, "gap")}


@pytest.mark.parametrize("query", WINDOWS)
def test_no_answer_or_gap_is_lost_or_there_twice(killed: Killed, query: str) -> None:
    gaps = Counter(row["window_start"] for row in killed.of(query, "gap"))
    assert max(gaps.values(), default=1) == 1
    assert bool(gaps) == (query in MISSING)
    answers = [row for row in killed.of(query, "answer") if row["aggregate"] == "total"]
    told = {(row["window_start"], tuple(row["key"] or ())): row["value"] for row in answers}
    assert len(told) == len(answers)
    assert told == {place: total for place, total in killed.totals[query].items() if place[0] not in gaps}
    assert all(row["exact"] for row in answers)


def test_both_processes_dropped_windows(killed: Killed) -> None:
    for query in MISSING:
        files = {int((row["window_start"] - at(0)).total_seconds()) // FILE_SECONDS for row in killed.of(query, "gap")}
        assert files & set(range(1, LETHAL_FILE))
        assert files & set(SHARES_AFTER)
