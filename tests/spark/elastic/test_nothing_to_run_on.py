"""A cluster that gives no executor, or none that lasts: `streamshed run` ends with one clear error."""

from __future__ import annotations

from streamshed.cli.terminal.exit_code import ExitCode
from tests.spark.elastic.course import Course


def test_a_cluster_without_a_worker(course: Course) -> None:
    ended = course.without_a_worker
    assert ended.code == ExitCode.REFUSED
    assert f'error: the cluster "{course.url}" has given the application no worker (executor)' in ended.errors
    assert f"it has no worker (start one: sbin/start-worker.sh {course.url})" in ended.errors
    assert "Traceback" not in ended.errors


def test_a_worker_that_is_too_small_for_an_executor(course: Course) -> None:
    too_small = [told for told in course.refusals if "300 MiB" in told]
    assert "an executor takes 512 MiB and 1 core, and its worker has 300 MiB and 1 core" in too_small[0]


def test_a_master_and_the_last_executor_that_go(course: Course) -> None:
    ended = course.without_a_master
    assert ended.code == ExitCode.FAILED
    where = f'error: the run failed: the cluster "{course.url}" has given the application no worker'
    assert where in ended.errors
    assert "its master cannot be reached: 127.0.0.1:" in ended.errors
    assert "Traceback" not in ended.errors
