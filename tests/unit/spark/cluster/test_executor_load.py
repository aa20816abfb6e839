from dataclasses import replace

from streamshed.spark.cluster.executor_load import ExecutorLoad
from streamshed.spark.cluster.executor_pool import ExecutorPool
from streamshed.spark.cluster.executors import Executor
from tests.unit.spark.executors_in_memory import ExecutorsInMemory


def executors(*seconds: float) -> list[Executor]:
    return [Executor(str(number), task_seconds=took) for number, took in enumerate(seconds)]


def test_one_that_leaves_is_not_idle() -> None:
    load = ExecutorLoad(period_seconds=10.0)
    load.observed(executors(0.0, 0.0, 0.0), 0.0)
    load.leave({"2"})
    load.observed(executors(9.0, 9.0, 1.0), 10.0)
    assert load.skew == 1.0
    load.observed(executors(18.0, 18.0, 1.0), 20.0)
    assert load.skew == 1.0


def test_the_others_are_compared_while_one_leaves() -> None:
    load = ExecutorLoad(period_seconds=10.0)
    load.observed(executors(0.0, 0.0, 0.0), 0.0)
    load.leave({"2"})
    load.observed(executors(9.0, 3.0, 0.0), 10.0)
    assert load.skew == 1.5


def test_a_release_is_no_skew() -> None:
    """Spark lets an executor finish, and it is still there when executors are compared."""
    there = StillThere(8, total=4)
    there.start_missing()
    pool = ExecutorPool(there, most=6, start_seconds=5.0, period_seconds=10.0)
    for now in range(0, 31, 2):
        if now == 4:
            pool.want(2, float(now))
        pool.workers(float(now))
        there.work(2.0)
    assert len(there.there) == 4
    assert pool.skew == 1.0


class StillThere(ExecutorsInMemory):
    """Executors that do not go at once when they are released, but get no more tasks."""

    released: frozenset[str] = frozenset()

    def release(self, executor_ids: object) -> bool:
        assert isinstance(executor_ids, set)
        self.released |= executor_ids
        return True

    def work(self, seconds: float) -> None:
        self.there = {
            name: one if name in self.released else replace(one, task_seconds=one.task_seconds + seconds)
            for name, one in self.there.items()
        }
