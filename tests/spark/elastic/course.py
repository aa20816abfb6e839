"""One course on one cluster: it is empty, has a worker that is too small, workers that come, go and die, no master."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.spark.cluster.standalone_cluster import ClusterWorker, StandaloneCluster
from tests.spark.elastic.pace import MOST_WORKERS, WINDOW_SECONDS
from tests.spark.elastic.programs import FedProgram, Status

CALM, HIGH, IDLE = 0.3, 1.2, 0.02
"""Loads, in one worker's time; what a slow machine takes for next to no rows leaves room for the release of workers."""


@dataclass(frozen=True)
class Ended:
    """How `streamshed run` ended.

    Attributes:
        code: What it said by its exit code.
        errors: What it wrote.
    """

    code: ExitCode
    errors: str


@dataclass(frozen=True)
class Course:
    """What became of the runs.

    Attributes:
        url: The cluster's.
        without_a_worker: How `streamshed run` ended when there was no worker.
        refusals: Why nothing could run when there was one that is too small, and before.
        journal: The rows of the run that was fed.
        answers: Of the sink, those of its query.
        fed: The rows that were fed, as DuckDB counts them: by window and group, number and sum.
        scaled: What it had told when it had grown.
        healed: What it had told when the executor that was killed was replaced, and then the worker.
        released: What it had told when load had been low for long.
        grown: What it had told when it had grown again.
        degraded: What it had told when an executor was killed and there was no master to replace it.
        without_a_master: How `streamshed run` ended when its only worker was killed, and there was no master.
    """

    url: str
    without_a_worker: Ended
    refusals: list[str]
    journal: pd.DataFrame
    answers: list[dict[str, Any]]
    fed: dict[tuple[Any, str], tuple[int, int]]
    scaled: Status
    healed: tuple[Status, Status]
    released: Status
    grown: Status
    degraded: Status
    without_a_master: Ended


def taken(path: Path, cluster: StandaloneCluster, pace: str) -> Course:
    """Take the course at some pace, on a cluster that has no worker; nothing of it lives afterwards."""
    fed = path / "fed"
    with FedProgram(fed, cluster.url, pace, CALM) as program:
        without_a_worker = _without_a_worker(program, cluster)
        _with_workers(program, cluster)
        program.feed(HIGH)
        scaled = program.until(_carries_load, "workers that carry load")
        healed = _killed(program, cluster, scaled)
        program.feed(IDLE)
        released = program.until(lambda told: told["running"] == 1 == len(told["executors"]), "a release")
        program.feed(HIGH)
        grown = program.until(_carries_load, "workers that carry load again")
        degraded = _without_master(program, cluster, grown)
        program.feed(None)
        without_a_master = _without_anything(program, cluster)
        return Course(
            url=cluster.url,
            without_a_worker=without_a_worker,
            refusals=program.written("refusals").splitlines(),
            journal=pd.DataFrame(json.loads(program.written("journal.json"))),
            answers=_answers(fed / "answers"),
            fed=_fed(fed / "in"),
            scaled=scaled,
            healed=healed,
            released=released,
            grown=grown,
            degraded=degraded,
            without_a_master=without_a_master,
        )


def _without_a_worker(program: FedProgram, cluster: StandaloneCluster) -> Ended:
    """Let `streamshed run` find no worker, and what comes after it one that is too small."""
    program.wait(lambda: bool(program.written("refused code")), "a cluster without a worker")
    cluster.add_worker(memory="300m")
    program.wait(lambda: "300 MiB" in program.written("refusals"), "a worker that is too small")
    return Ended(ExitCode(int(program.written("refused code"))), program.written("refused errors"))


def _with_workers(program: FedProgram, cluster: StandaloneCluster) -> None:
    """Let it run: there is a worker more than it needs, and later one in the place of that which is going to die."""
    for _ in range(MOST_WORKERS):
        cluster.add_worker()
    program.until(lambda told: told["micro_batch_id"] >= 2, "a calm run")
    cluster.add_worker()


def _carries_load(told: Status) -> bool:
    """Whether there are several workers, and each has had tasks."""
    return told["running"] >= 2 and not told["starting"] and set(told["executors"]) <= set(told["busy"])


def _killed(program: FedProgram, cluster: StandaloneCluster, scaled: Status) -> tuple[Status, Status]:
    """Kill an executor, and then a worker with its executor."""
    _kill_executor(cluster, scaled)
    first = _healed(program, scaled["running"], 1)
    _busy(cluster, first)[0][0].kill()
    return first, _healed(program, scaled["running"], 2)


def _without_master(program: FedProgram, cluster: StandaloneCluster, grown: Status) -> Status:
    """Kill the master, and an executor that nobody can replace."""
    cluster.kill_master()
    _kill_executor(cluster, grown)
    # The loss is told at once, who runs as the next micro-batch begins.
    return program.until(
        lambda told: told["replaced"] >= 3 and not told["starting"] and told["running"] < grown["running"],
        "doing without a master",
    )


def _without_anything(program: FedProgram, cluster: StandaloneCluster) -> Ended:
    """Let `streamshed run` run where there is no master, and kill the workers that there are."""
    program.wait(lambda: program.written("last output").count("\n") >= 2, "another run without a master")
    for worker in cluster.workers:
        worker.kill()
    return Ended(program.ended(), program.written("last errors"))


def _busy(cluster: StandaloneCluster, told: Status) -> list[tuple[ClusterWorker, int]]:
    """The workers that live, each with an executor of its own that counts: one that was released may linger."""
    living = [worker for worker in cluster.workers if worker.daemon.poll() is None]
    pids = [(worker, worker.executor_pids()) for worker in living]
    return [(worker, own[executor]) for worker, own in pids for executor in told["executors"] if executor in own]


def _kill_executor(cluster: StandaloneCluster, told: Status) -> None:
    os.kill(_busy(cluster, told)[0][1], signal.SIGKILL)


def _healed(program: FedProgram, running: int, replaced: int) -> Status:
    """Wait until a loss was noticed, and until a micro-batch has begun later on as many workers as before."""
    noticed = program.until(lambda told: told["replaced"] >= replaced, f"loss {replaced}")

    def is_replaced(told: Status) -> bool:
        is_later = told["micro_batch_id"] >= noticed["micro_batch_id"] + 2
        return is_later and told["running"] >= running and _carries_load(told)

    return program.until(is_replaced, f"a replacement of loss {replaced}")


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
