"""Two networks on a topic of a real broker: bursts are shed in one, what is too old is skipped in the other."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.spark.kafka.broker import PASSWORD, Broker
from tests.spark.kafka.shared_course import (
    AGE_SECONDS,
    BEGINS_BEFORE_SECONDS,
    CALM,
    FACTOR,
    HISTORY_ROWS,
    HISTORY_SECONDS,
    LATE_PIECE,
    LATE_WINDOW_SECONDS,
    LIVE_SECONDS,
    STEP_SECONDS,
    STEPS,
    TOPIC,
    WINDOW_SECONDS,
    history,
    rows_of,
)

_ROOT = Path(__file__).parents[3]
_BURST_ROWS = {"in the first micro-batch": HISTORY_ROWS, "after calm ones": FACTOR * CALM}
_BUSY = [step for step, rows in enumerate(STEPS) if rows > CALM]

Truth = Mapping[tuple[float, str], float]
"""By start of a window and aggregate."""


@dataclass(frozen=True)
class Outcome:
    """What came of both networks.

    Attributes:
        told: What the process says.
        truth: What DuckDB says of the windows of the overloaded network.
        late_truth: The same of the other one's.
        folder: Where it has left its log and the checkpoints.
    """

    told: Mapping[str, Any]
    truth: Truth
    late_truth: Truth
    folder: Path

    def bursts(self, rows: int) -> list[Mapping[str, Any]]:
        """The journal's rows of the micro-batches of so many rows."""
        return [row for row in self.told["journal"] if row["offered_rows"] == rows]

    def answers(self, rows: str) -> dict[tuple[float, str], Mapping[str, Any]]:
        """The answers of a network, by window and aggregate; none is there twice."""
        answers = [row for row in self.told[rows] if row["kind"] == "answer"]
        by_place = {(row["start"], row["aggregate"]): row for row in answers}
        assert len(by_place) == len(answers)
        return by_place

    def windows(self, steps: Sequence[int]) -> set[float]:
        """The starts of the windows of steps that follow one another."""
        live = self.told["ends"] - LIVE_SECONDS
        since, until = live + STEP_SECONDS * steps[0], live + STEP_SECONDS * (steps[-1] + 1)
        return {start for start, _ in self.truth if since <= start and start + WINDOW_SECONDS <= until}


@pytest.fixture(scope="module")
def outcome(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("shared")
    command = [sys.executable, "-m", "tests.spark.kafka.shared_course", str(folder), json.dumps(asdict(broker))]
    with (folder / "log").open("w") as log:
        done = subprocess.run(command, stdout=log, stderr=log, check=False, cwd=_ROOT, env=os.environ)
    assert done.returncode == 0, (folder / "log").read_text()[-3000:]
    told = json.loads((folder / "outcome.json").read_text())
    ends = told["ends"]
    rows = [*history(ends), *(row for step in range(len(STEPS)) for row in rows_of(step, ends))]
    table = pa.table({"second": [second for second, _ in rows], "v": [value for _, value in rows]})
    return Outcome(told, _exact(table, WINDOW_SECONDS), _exact(table, LATE_WINDOW_SECONDS), folder)


def _exact(rows: pa.Table, size: int) -> Truth:
    sql = f"SELECT floor(second / {size}) * {size}, count(*), sum(v) FROM flows GROUP BY 1"
    with duckdb.connect() as database:
        database.register("flows", rows)
        answers = database.execute(sql).fetchall()
    return {(start, name): float(value) for start, *values in answers for name, value in zip("nt", values, strict=True)}


def test_both_have_read_all_rows(outcome: Outcome) -> None:
    assert outcome.told["drained"] == [True, True]
    assert sum(row["offered_rows"] for row in outcome.told["journal"]) == HISTORY_ROWS + sum(STEPS)


@pytest.mark.parametrize("burst", _BURST_ROWS)
def test_a_burst_is_planned_for_the_rows_that_offsets_tell(outcome: Outcome, burst: str) -> None:
    decisions = outcome.bursts(_BURST_ROWS[burst])
    assert len(decisions) == (1 if burst == "in the first micro-batch" else len(_BUSY))
    for decision in decisions:
        assert decision["sizes_known"]
        assert decision["expected_offered_rows"] == _BURST_ROWS[burst]
        assert decision["unshed_seconds"] > 2 * decision["budget_seconds"]


@pytest.mark.parametrize("burst", _BURST_ROWS)
def test_it_is_shed_by_as_much_as_it_is_too_big(outcome: Outcome, burst: str) -> None:
    for decision in outcome.bursts(_BURST_ROWS[burst]):
        assert decision["reason"] in {"overload", "saturated"}
        assert decision["sampling_rate"] < 1 / 3
        admitted = decision["admitted_rows"] / decision["offered_rows"]
        assert admitted == pytest.approx(decision["sampling_rate"], rel=0.15)


def test_before_and_behind_the_burst_nothing_is_shed(outcome: Outcome) -> None:
    calm = outcome.bursts(CALM)
    assert len(calm) == STEPS.count(CALM)
    assert {row["sampling_rate"] for row in calm} == {1.0}


def test_what_is_called_exact_is_what_duckdb_says(outcome: Outcome) -> None:
    answers = outcome.answers("rows")
    # A stream begins with the first row that was not shed.
    begins = min(start for start, _ in answers)
    assert begins < min(start for start, _ in outcome.truth) + LATE_WINDOW_SECONDS
    assert answers.keys() >= {place for place in outcome.truth if place[0] >= begins}
    for place, row in answers.items():
        if row["exact"]:
            assert (row["value"] or 0) == outcome.truth.get(place, 0)


def test_answers_of_the_burst_are_estimates(outcome: Outcome) -> None:
    answers, starts = outcome.answers("rows"), outcome.windows(_BUSY)
    assert len(starts) == len(_BUSY) * STEP_SECONDS // WINDOW_SECONDS
    for start in starts:
        for name in "nt":
            row = answers[start, name]
            assert not row["exact"]
            assert abs(row["value"] - outcome.truth[start, name]) < 4.5 * row["standard_error"]


def test_tasks_read_for_who_has_password_and_certificate(outcome: Outcome) -> None:
    assert "records of flows are read by tasks" in outcome.told["explained"]
    overloaded, late = sorted(outcome.told["plans"], key=lambda plan: "headers" in plan)
    assert TOPIC in late
    assert "mapInArrow" in overloaded or "MapInArrow" in overloaded


def test_the_password_is_shown_nowhere(outcome: Outcome) -> None:
    files = [path for path in outcome.folder.rglob("*") if path.is_file()]
    assert {"log", "network.json", "outcome.json"} <= {path.name for path in files}
    assert [path for path in files if PASSWORD.encode() in path.read_bytes()] == []


def test_windows_of_the_late_network_are_gaps_or_exact(outcome: Outcome) -> None:
    answers, gaps = outcome.answers("late_rows"), _gaps(outcome)
    for place, value in outcome.late_truth.items():
        assert (place in answers) is (place[0] not in gaps)
        if place in answers:
            assert (answers[place]["value"], answers[place]["exact"]) == (value, True)
    assert all(row["exact"] for row in answers.values())


def test_gaps_are_where_rows_were_too_old(outcome: Outcome) -> None:
    """From where the first piece ends, until so long before the newest record that waited."""
    starts, size, ends = sorted(_gaps(outcome)), LATE_WINDOW_SECONDS, outcome.told["ends"]
    assert {row["reason"] for row in outcome.told["late_rows"] if row["kind"] == "gap"} == {"too old"}
    assert starts == [starts[0] + size * number for number in range(len(starts))]
    read_until = ends - BEGINS_BEFORE_SECONDS + LATE_PIECE * HISTORY_SECONDS / HISTORY_ROWS
    # The watermark is a minute behind what was read, and carried from one micro-batch to the next.
    assert read_until - 4 * size < starts[0] <= read_until
    assert ends - AGE_SECONDS <= starts[-1] + size
    assert starts[-1] < outcome.told["done"] - AGE_SECONDS
    skipped_seconds = ends - AGE_SECONDS - read_until
    skipped_rows = skipped_seconds * HISTORY_ROWS / HISTORY_SECONDS
    assert math.isclose(outcome.told["skipped_rows"], skipped_rows, rel_tol=0.5)


def _gaps(outcome: Outcome) -> set[float]:
    gaps = [row["start"] for row in outcome.told["late_rows"] if row["kind"] == "gap"]
    assert len(set(gaps)) == len(gaps) > 0
    return set(gaps)
