import pytest

from streamshed.elasticity.workers import Workers
from streamshed.spark.executor_pool import LEAST_PATIENCE_SECONDS, ExecutorPool
from streamshed.spark.executors import Executor, OneProcess
from tests.unit.spark.executors_in_memory import ExecutorsInMemory


def pool_over(executors: ExecutorsInMemory | OneProcess, *, most: int = 6) -> ExecutorPool:
    return ExecutorPool(executors, most=most, start_seconds=5.0, period_seconds=10.0)


def running(count: int, *, places: int = 8) -> tuple[ExecutorsInMemory, ExecutorPool]:
    executors = ExecutorsInMemory(places, total=count)
    executors.start_missing()
    pool = pool_over(executors)
    pool.workers(0.0)
    pool.want(count, 0.0)
    return executors, pool


def test_those_asked_for_start_and_then_run() -> None:
    executors, pool = running(2)
    pool.want(5, 1.0)
    assert pool.workers(2.0) == Workers(running=2, starting=3, free=1)
    executors.start_missing()
    assert pool.workers(3.0) == Workers(running=5, starting=0, free=1)


def test_those_released_leave_and_the_youngest_idle_ones_do() -> None:
    executors, pool = running(4)
    executors.there["3"] = Executor("3", active_tasks=1)
    pool.workers(1.0)
    pool.want(2, 1.0)
    assert set(executors.there) == {"0", "3"}
    assert executors.total == 2
    assert pool.workers(2.0) == Workers(running=2, starting=0, free=4)
    assert pool.replaced == 0


def test_one_that_dies_is_counted_and_still_wanted() -> None:
    executors, pool = running(3)
    executors.die("1")
    assert pool.workers(5.0) == Workers(running=2, starting=1, free=3)
    assert executors.requests[-1] == 3
    executors.start_missing()
    assert pool.workers(10.0) == Workers(running=3, starting=0, free=3)
    assert (pool.replaced, pool.obstacle) == (1, "")


def test_each_coming_and_going_is_a_change() -> None:
    executors, pool = running(2)
    assert pool.changes == 0
    executors.die("0")
    pool.workers(1.0)
    executors.start_missing()
    pool.workers(2.0)
    pool.workers(3.0)
    assert pool.changes == 2


def test_those_that_do_not_come_are_not_counted_on_for_ever() -> None:
    executors, pool = running(2, places=3)
    pool.want(5, 0.0)
    executors.start_missing()
    assert pool.workers(1.0) == Workers(running=3, starting=2, free=1)
    late = 1.0 + LEAST_PATIENCE_SECONDS
    assert pool.workers(late) == Workers(running=3, starting=2, free=1)
    assert pool.workers(late + 1.0) == Workers(running=3)
    assert "2 of 5 workers have not come" in pool.obstacle
    executors.places = 5
    executors.start_missing()
    assert pool.workers(late + 60.0) == Workers(running=5, starting=0, free=1)
    assert pool.obstacle == ""


def test_a_cluster_that_does_not_hear_gives_none() -> None:
    executors, pool = running(2)
    executors.hears = False
    pool.want(5, 1.0)
    assert pool.workers(1.0) == Workers(running=2)
    assert "master" in pool.obstacle
    executors.hears = True
    assert pool.workers(1.0 + LEAST_PATIENCE_SECONDS) == Workers(running=2, starting=3, free=1)


def test_spark_that_does_not_answer_has_the_workers_that_it_had() -> None:
    executors, pool = running(3)
    executors.answers = False
    assert pool.workers(1.0) == Workers(running=3)
    assert pool.obstacle
    executors.answers = True
    assert pool.workers(2.0) == Workers(running=3, starting=0, free=3)
    assert pool.changes == 0


def test_those_that_nobody_asked_for_are_released() -> None:
    executors = ExecutorsInMemory(8)
    pool = pool_over(executors)
    pool.workers(0.0)
    pool.want(1, 0.0)
    executors.total = 4
    executors.start_missing()
    assert pool.workers(1.0).running == 1
    assert (len(executors.there), executors.total) == (1, 1)


def test_all_lost_is_one_to_come() -> None:
    executors, pool = running(2)
    executors.there.clear()
    assert pool.workers(1.0) == Workers(running=1, starting=1, free=4)
    assert pool.replaced == 2


def test_one_process_cannot_grow() -> None:
    pool = pool_over(OneProcess("local[2]"))
    pool.want(4, 0.0)
    assert pool.workers(1.0) == Workers(running=1)
    assert "local[2]" in pool.obstacle


def test_the_busiest_executor_is_told_from_the_others() -> None:
    executors, pool = running(2)
    executors.there = {"0": Executor("0", task_seconds=9.0), "1": Executor("1", task_seconds=3.0)}
    pool.workers(10.0)
    assert pool.skew == pytest.approx(1.5)
