"""A cluster that gives no executor, or none that lasts: `streamshed run` ends with one clear error."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from streamshed.cli.exit_code import ExitCode
from streamshed.spark.executor_losses import APART_SECONDS, FREQUENT_MOMENTS
from streamshed.spark.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.spark.streaming.harness import PATIENCE_SECONDS

SHORT = ("--worker-patience", "4 seconds")
"""Of runs for which no executor is to come."""

LONG = ("--worker-patience", "30 seconds")
"""Of one for which one comes at first."""

DOCUMENT = """
streamshed: 1
streams:
  ticks: {source: {rate: {rows_per_second: 10}}, time: timestamp}
queries:
  total: {from: ticks, window: {size: 4 seconds}, aggregates: {total: sum(value)}}
run: {trigger: 2 seconds}
"""

LARGE = "sum(length(repeat(cast(value AS string), 1500000000)))"
"""More than the memory of an executor, for one row."""


class Program:
    """`streamshed run` in a process of its own, since a process has one Spark."""

    def __init__(self, folder: Path, master: str, document_text: str, *options: str) -> None:
        document = folder / "network.yaml"
        document.write_text(document_text)
        self._told = {name: folder / name for name in ("output", "errors")}
        command = [sys.executable, "-m", "streamshed", "run", document.name, "--master", master]
        command += ["--sink", "memory:answers", "--json", "--memory", "1g", *options]
        own = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "TMPDIR": str(folder)}
        environment = {**os.environ, **own}
        with self._told["output"].open("w") as output, self._told["errors"].open("w") as errors:
            self.process = subprocess.Popen(
                command, stdout=output, stderr=errors, cwd=folder, env=environment, start_new_session=True
            )

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self.process.poll() is None, f"ended before {what}: {self.errors}"
            assert time.monotonic() < deadline, f"no sign of {what}: {self.errors}"
            time.sleep(0.1)

    def ended(self) -> ExitCode:
        return ExitCode(self.process.wait(PATIENCE_SECONDS))

    @property
    def micro_batches(self) -> int:
        return self._told["output"].read_text().count("\n")

    @property
    def scaling(self) -> dict[str, Any]:
        """What the last micro-batch told of workers."""
        whole, _, _ = self._told["output"].read_text().rpartition("\n")
        told: dict[str, Any] = json.loads(whole.splitlines()[-1])["scaling"]
        return told

    @property
    def errors(self) -> str:
        return self._told["errors"].read_text()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    with standalone_cluster(tmp_path / "cluster") as started:
        yield started


Begin = Callable[..., Program]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Begin]:
    programs: list[Program] = []

    def begun(cluster: StandaloneCluster, document_text: str = DOCUMENT, *options: str) -> Program:
        programs.append(Program(tmp_path, cluster.url, document_text, *options))
        return programs[-1]

    yield begun
    for program in programs:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
        program.process.wait()


def test_a_cluster_without_a_worker(cluster: StandaloneCluster, run: Begin) -> None:
    program = run(cluster, DOCUMENT, *SHORT)
    assert program.ended() == ExitCode.REFUSED
    assert f'error: the cluster "{cluster.url}" has given the application no worker (executor)' in program.errors
    assert f"it has no worker (start one: sbin/start-worker.sh {cluster.url})" in program.errors
    assert "Traceback" not in program.errors


def test_a_worker_that_is_too_small_for_an_executor(cluster: StandaloneCluster, run: Begin) -> None:
    """An executor takes a gibibyte where nobody says otherwise."""
    cluster.add_worker(memory="700m")
    program = run(cluster, DOCUMENT, *SHORT)
    assert program.ended() == ExitCode.REFUSED
    assert "an executor takes 1 GiB and 1 core, and its worker has 700 MiB and 1 core" in program.errors
    assert "Traceback" not in program.errors


def test_a_master_and_the_last_executor_that_go(cluster: StandaloneCluster, run: Begin) -> None:
    worker = cluster.add_worker(memory="1100m")
    program = run(cluster, DOCUMENT, *LONG)
    program.wait(lambda: program.micro_batches >= 2, "a run")
    cluster.kill_master()
    worker.kill()
    assert program.ended() == ExitCode.FAILED
    assert f'error: the run failed: the cluster "{cluster.url}" has given the application no worker' in program.errors
    assert "its master cannot be reached: 127.0.0.1:" in program.errors
    assert "Traceback" not in program.errors


def test_executors_whose_memory_is_too_small_for_their_work(cluster: StandaloneCluster, run: Begin) -> None:
    """Each that comes in the place of the last is lost again, which Spark lets a task do four times."""
    cluster.add_worker(memory="1100m")
    program = run(cluster, DOCUMENT.replace("sum(value)", f'"{LARGE}"'))
    assert program.ended() == ExitCode.FAILED
    # Whether the last word is of the task or of its executor is a race between them.
    assert "error: the run failed: a task failed 4 times, the last time by: " in program.errors
    assert "is its memory too small for the state of a partition? spark.executor.memory" in program.errors


def test_executors_that_are_lost_again_and_again_while_the_run_goes_on(cluster: StandaloneCluster, run: Begin) -> None:
    worker = cluster.add_worker(memory="1100m")
    program = run(cluster, DOCUMENT, "--workers", "1..1")
    for lost in range(FREQUENT_MOMENTS):
        done = program.micro_batches
        program.wait(lambda done=done: program.micro_batches >= done + 2, f"a run after loss {lost}")  # type: ignore[misc]
        assert program.scaling["workers_replaced"] == lost
        time.sleep(APART_SECONDS + 1.0)  # what is lost sooner is lost at once
        for pid in worker.executor_pids().values():
            os.kill(pid, signal.SIGKILL)
    program.wait(lambda: program.scaling["scaling_reason"] == "losing_workers", "a loop")
    told = program.scaling
    assert (told["workers_replaced"], told["workers_running"], told["workers_starting"]) == (FREQUENT_MOMENTS, 1, 0)
    assert "4 workers were lost within" in told["scaling_explanation"]
    assert "the last one: Command exited with code 137 (is its memory too small" in told["scaling_explanation"]
