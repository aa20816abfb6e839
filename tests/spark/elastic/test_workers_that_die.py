"""Executors of a real cluster come, go, die and are killed with their worker, while a network runs on them.

What is asked of answers is known: every row of every window is counted once, or the answer says that it is an estimate.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from streamshed.spark.standalone_cluster import ClusterWorker, StandaloneCluster, standalone_cluster
from tests.spark.elastic.elastic_program import FILES_PER_TRIGGER as FILES
from tests.spark.elastic.elastic_program import MOST_WORKERS, SECONDS_PER_ROW, TRIGGER_SECONDS, WINDOW_SECONDS
from tests.spark.streaming.harness import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]
CALM, HIGH, IDLE = 0.3, 1.2, 0.02
"""Loads, in one worker's time; what a slow machine takes for next to no rows leaves room for the release of workers."""

Status = dict[str, Any]


@dataclass(frozen=True)
class Course:
    """What became of the run.

    Attributes:
        journal: Its rows.
        answers: Of the sink, those of the network's query.
        fed: The rows that were fed, as DuckDB counts them: by window and group, number and sum.
        scaled: What the run had told when it had grown.
        healed: What it had told when the executor that was killed was replaced, and then the worker.
        released: What it had told when load had been low for long.
        grown: What it had told when it had grown again.
        degraded: What it had told when an executor was killed and there was no master to replace it.
    """

    journal: pd.DataFrame
    answers: list[dict[str, Any]]
    fed: dict[tuple[Any, str], tuple[int, int]]
    scaled: Status
    healed: tuple[Status, Status]
    released: Status
    grown: Status
    degraded: Status


class Program:
    """The program in a process of its own, on a cluster."""

    def __init__(self, path: Path, cluster: StandaloneCluster) -> None:
        self._path = path
        self.feed(CALM)
        command = [sys.executable, "-m", "tests.spark.elastic.elastic_program", str(path), cluster.url]
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        with (path / "output").open("w") as output:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=output, cwd=ROOT, env=environment, start_new_session=True
            )

    def feed(self, load: float) -> None:
        """Let a load be fed from now on; 0: feed no more, and end."""
        rows = round(load * TRIGGER_SECONDS / FILES / SECONDS_PER_ROW)
        draft = self._path / ".rows"
        draft.write_text(str(rows) if rows else "")
        draft.rename(self._path / "rows")

    def wait(self, condition: Callable[[Status], bool], what: str) -> Status:
        """Wait until it tells of something, and return what it tells."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        file = self._path / "status.json"
        while not (file.exists() and condition(json.loads(file.read_text()))):
            self._wait_briefly()
            assert self.process.poll() is None, f"ended before {what}: {self._output()}"
            assert time.monotonic() < deadline, f"no sign of {what}: {file.exists() and file.read_text()}"
        told: Status = json.loads(file.read_text())
        return told

    def end(self) -> None:
        """Let it answer all windows, and wait for its end."""
        self.feed(0.0)
        assert self.process.wait(PATIENCE_SECONDS) == 0, self._output()

    def _wait_briefly(self) -> None:
        try:
            self.process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            return

    def _output(self) -> str:
        return (self._path / "output").read_text()[-3000:]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    path = tmp_path_factory.mktemp("elastic")
    with standalone_cluster(path / "cluster", workers=MOST_WORKERS + 1) as cluster:
        program = Program(path, cluster)
        try:
            yield _course(path, program, cluster)
        finally:
            if program.process.poll() is None:
                os.killpg(program.process.pid, signal.SIGKILL)
                program.process.wait()


def _course(path: Path, program: Program, cluster: StandaloneCluster) -> Course:
    program.wait(lambda told: told["micro_batch_id"] >= 3, "a calm run")
    program.feed(HIGH)
    scaled = program.wait(lambda told: told["running"] >= 2 and not told["starting"], "workers that carry load")
    _kill_executor(cluster, scaled)
    first = _healed(program, scaled["running"], 1)
    _busy(cluster, first)[0][0].kill()
    second = _healed(program, scaled["running"], 2)
    program.feed(IDLE)
    released = program.wait(lambda told: told["running"] == 1 == len(told["executors"]), "a release")
    program.feed(HIGH)
    grown = program.wait(lambda told: told["running"] >= 2 and not told["starting"], "workers that carry load again")
    cluster.kill_master()
    _kill_executor(cluster, grown)
    # The loss is told at once, who runs as the next micro-batch begins.
    degraded = program.wait(
        lambda told: told["replaced"] >= 3 and not told["starting"] and told["running"] < grown["running"],
        "doing without a master",
    )
    program.end()
    return Course(
        pd.DataFrame(json.loads((path / "journal.json").read_text())),
        _answers(path / "answers"),
        _fed(path / "in"),
        scaled,
        (first, second),
        released,
        grown,
        degraded,
    )


def _busy(cluster: StandaloneCluster, told: Status) -> list[tuple[ClusterWorker, int]]:
    """The workers that live, each with an executor of its own that counts: one that was released may linger."""
    living = [worker for worker in cluster.workers if worker.process.poll() is None]
    pids = [(worker, worker.executor_pids()) for worker in living]
    return [(worker, own[executor]) for worker, own in pids for executor in told["executors"] if executor in own]


def _kill_executor(cluster: StandaloneCluster, told: Status) -> None:
    os.kill(_busy(cluster, told)[0][1], signal.SIGKILL)


def _healed(program: Program, running: int, replaced: int) -> Status:
    """Wait until a loss was noticed, and until a micro-batch has begun later on as many workers as before."""
    noticed = program.wait(lambda told: told["replaced"] >= replaced, f"loss {replaced}")
    return program.wait(
        lambda told: told["micro_batch_id"] >= noticed["micro_batch_id"] + 2 and told["running"] >= running,
        f"a replacement of loss {replaced}",
    )


def _answers(folder: Path) -> list[dict[str, Any]]:
    pattern = f"{folder}/query_id=*/micro_batch_id=*/*.parquet"
    with duckdb.connect() as database:
        found = database.sql(f"SELECT * FROM read_parquet('{pattern}', union_by_name = true) WHERE kind = 'answer'")
        rows: list[dict[str, Any]] = found.df().to_dict("records")
    return rows


def _fed(folder: Path) -> dict[tuple[Any, str], tuple[int, int]]:
    start = f"time_bucket(INTERVAL '{WINDOW_SECONDS} seconds', ts AT TIME ZONE 'UTC')"
    with duckdb.connect() as database:
        counted = database.sql(
            f"SELECT {start} AS opened, id % 3 AS g, count(*) AS n, sum(v)::BIGINT AS total"
            f" FROM read_parquet('{folder}/*.parquet') GROUP BY ALL"
        ).fetchall()
    return {(row[0], str(row[1])): (row[2], row[3]) for row in counted}


def test_it_grows_when_load_lasts_and_sheds_until_then(course: Course) -> None:
    journal = course.journal
    asked = journal[journal.scaling_reason.isin(["overload", "rising"])]
    assert len(asked) >= 1
    assert (asked.workers_wanted > asked.workers_running + asked.workers_starting).all()
    assert journal[journal.micro_batch_id <= asked.micro_batch_id.min()].workers_running.max() == 1
    assert 2 <= course.scaled["running"] <= MOST_WORKERS
    assert journal.shedding.any()


def test_what_died_is_replaced_and_counted(course: Course) -> None:
    assert [healed["replaced"] for healed in course.healed] == [1, 2]
    assert course.journal.workers_replaced.max() == 3


def test_it_begins_with_the_fewest_workers_and_never_has_more_than_the_most(course: Course) -> None:
    assert course.journal.workers_running.iloc[0] == 1
    assert course.journal.workers_running.max() <= MOST_WORKERS
    assert (course.journal["skew"] >= 1).all()


def test_without_a_master_it_goes_on_with_what_there_is_and_says_so(course: Course) -> None:
    assert course.degraded["running"] == course.grown["running"] - 1
    assert "did not take the request" in course.degraded["explanation"]


def test_a_death_is_no_reason_to_rescale(course: Course) -> None:
    journal = course.journal
    afterwards = journal[journal.micro_batch_id > course.scaled["micro_batch_id"]]
    with_master = afterwards[afterwards.micro_batch_id <= course.healed[1]["micro_batch_id"]]
    assert set(with_master.workers_wanted) == {course.scaled["running"]}
    assert not set(with_master.scaling_reason) & {"overload", "rising", "idle"}


def test_idle_workers_are_released_which_is_no_loss_and_come_back(course: Course) -> None:
    assert course.released["replaced"] == 2
    assert 2 <= course.grown["running"] <= MOST_WORKERS
    journal = course.journal[course.journal.micro_batch_id > course.healed[1]["micro_batch_id"]]
    assert "idle" in set(journal.scaling_reason)
    begun = journal[journal.micro_batch_id >= course.released["micro_batch_id"]].workers_running
    assert 1 in set(begun)


def test_no_answer_is_lost_or_given_twice(course: Course) -> None:
    places = Counter((row["window_start"].tz_localize(None), row["key"][0], row["aggregate"]) for row in course.answers)
    wanted = {(pd.Timestamp(opened), group, name) for opened, group in course.fed for name in ("n", "total")}
    assert set(places.values()) == {1}
    assert set(places) <= wanted
    # Of a group no row of which is in a sample there is no answer: that can be only where others are sampled, too.
    sampled = {row["window_start"].tz_localize(None) for row in course.answers if not row["exact"]}
    assert {place[0] for place in wanted - set(places)} <= sampled


def test_answers_are_exact_or_say_that_they_are_not(course: Course) -> None:
    exact = [row for row in course.answers if row["exact"]]
    assert exact
    for row in exact:
        count, total = course.fed[row["window_start"].tz_localize(None).to_pydatetime(), row["key"][0]]
        assert row["value"] == (count if row["aggregate"] == "n" else total)
    # Where none of the rows that were sampled is in the sample, those that were not are all that an answer is from.
    shed = [row for row in course.answers if not row["exact"]]
    assert {row["reason"] for row in shed} == {"sampled"}
    assert any(row["sampling_rate"] < 1 for row in shed)
