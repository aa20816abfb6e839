"""A cluster whose executors are lost again and again, in earnest.

Each takes as long to start as all of a course. What is done and said of such losses, `tests/unit/spark` tries on
executors in memory (`test_executor_pool`, `test_domain_scaling`), and what a run says at its end
`tests/unit/cli/test_failure`; that Spark tells losses in these words, the course does. Here is all of it at once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamshed.cli.terminal.exit_code import ExitCode
from streamshed.spark.cluster.executor_losses import APART_SECONDS, FREQUENT_MOMENTS
from streamshed.spark.cluster.standalone_cluster import StandaloneCluster, standalone_cluster
from tests.spark.elastic.programs import DOCUMENT, Command
from tests.thoroughness import thorough

pytestmark = thorough

LARGE = "sum(length(repeat(cast(value AS string), 1500000000)))"
"""More than the memory of an executor, for one row."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A cluster of one worker, which has room for one executor."""
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as started:
        started.add_worker(memory="1100m")
        yield started


def test_executors_whose_memory_is_too_small_for_their_work(cluster: StandaloneCluster, tmp_path: Path) -> None:
    """Each that comes in the place of the last is lost again, which Spark lets a task do four times."""
    document = DOCUMENT.replace("sum(value)", f'"{LARGE}"')
    with Command(tmp_path, cluster.url, document_text=document) as command:
        assert command.ended() == ExitCode.FAILED
        errors = command.written("errors")
    # Whether the last word is of the task or of its executor is a race between them.
    assert "error: the run failed: a task failed 4 times, the last time by: " in errors
    assert "is its memory too small for the state of a partition? spark.executor.memory" in errors


def test_executors_that_are_lost_again_and_again_while_the_run_goes_on(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    [worker] = cluster.workers
    with Command(tmp_path, cluster.url, "--workers", "1..1") as command:
        for lost in range(FREQUENT_MOMENTS):
            done = command.micro_batches
            command.wait(lambda done=done: command.micro_batches >= done + 2, f"a run after loss {lost}")  # type: ignore[misc]
            assert command.scaling["workers_replaced"] == lost
            time.sleep(APART_SECONDS + 1.0)  # what is lost sooner is lost at once
            for pid in worker.executor_pids().values():
                os.kill(pid, signal.SIGKILL)
        command.wait(lambda: command.scaling["scaling_reason"] == "losing_workers", "a loop")
        told = command.scaling
    assert (told["workers_replaced"], told["workers_running"], told["workers_starting"]) == (FREQUENT_MOMENTS, 1, 0)
    assert "4 workers were lost within" in told["scaling_explanation"]
    assert "the last one: Command exited with code 137 (is its memory too small" in told["scaling_explanation"]
