import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.elasticity.workers import Workers
from streamshed.spark.cluster.executor_losses import ExecutorLosses
from streamshed.spark.cluster.executor_pool import LEAST_PATIENCE_SECONDS, LOOP_PATIENCES, ExecutorPool
from streamshed.spark.cluster.executors import Executor, OneProcess
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


def test_what_is_wanted_while_spark_does_not_answer_is_asked_for_when_it_does() -> None:
    """Else it would have to be paid for a second time."""
    executors, pool = running(2)
    asked = len(executors.requests)
    executors.answers, executors.obstacle = False, "Spark has not answered for 5 s"
    pool.want(5, 1.0)
    assert pool.workers(2.0) == Workers(running=2)
    assert len(executors.requests) == asked
    executors.answers, executors.obstacle = True, ""
    late = 2.0 + LEAST_PATIENCE_SECONDS
    assert pool.workers(late) == Workers(running=2, starting=3, free=1)
    assert executors.requests[asked:] == [5]
    executors.start_missing()
    assert pool.workers(late + 1.0) == Workers(running=5, starting=0, free=1)


def test_fewer_that_were_wanted_meanwhile_are_released_then() -> None:
    executors, pool = running(4)
    executors.obstacle = "Spark has not answered for 5 s"
    pool.want(2, 1.0)
    assert len(executors.there) == 4
    executors.obstacle = ""
    assert pool.workers(2.0) == Workers(running=2, starting=0, free=4)
    assert (len(executors.there), executors.total, pool.replaced) == (2, 2, 0)


def test_the_fewest_are_asked_for_though_spark_did_not_answer_at_the_start() -> None:
    executors = ExecutorsInMemory(8, total=1, answers=False, obstacle="Spark has not answered for 5 s")
    executors.start_missing()
    pool = pool_over(executors)
    pool.workers(0.0)
    pool.want(3, 0.0)
    executors.answers, executors.obstacle = True, ""
    assert pool.workers(2.0) == Workers(running=1, starting=2, free=3)
    assert executors.total == 3


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


def crash(executors: ExecutorsInMemory, executor_id: str, reason: str = "Command exited with code 1") -> None:
    """Lose one, in whose place another starts at once."""
    executors.die(executor_id, reason)
    executors.start_missing()


def test_a_single_loss_is_no_loop() -> None:
    executors, pool = running(1)
    for moment, executor_id in enumerate("01"):
        crash(executors, executor_id)
        assert pool.workers(10.0 + 40.0 * moment) == Workers(running=1, starting=0, free=5)
    assert (pool.is_losing, pool.obstacle, pool.replaced) == (False, "", 2)


def test_a_loop_of_losses_is_told_and_nothing_more_is_counted_on() -> None:
    executors, pool = running(1)
    for moment, executor_id in enumerate("0123"):
        crash(executors, executor_id, f"Command exited with code {51 + moment}")
        found = pool.workers(10.0 + 40.0 * moment)
    assert found == Workers(running=1)
    assert pool.is_losing
    assert "4 workers were lost within 120 s and replaced, the last one: Command exited with code 54" in pool.obstacle
    assert executors.total == 1, "those that die are still to be replaced"


@pytest.mark.parametrize("code", [52, 137])
def test_a_loop_for_want_of_memory_says_what_to_do(code: int) -> None:
    executors, pool = running(1)
    for moment, executor_id in enumerate("0123"):
        crash(executors, executor_id, f"Command exited with code {code}")
        pool.workers(10.0 + 40.0 * moment)
    assert f"the last one: Command exited with code {code} (is its memory too small" in pool.obstacle
    assert "is its memory too small for the state of a partition? spark.executor.memory" in pool.obstacle


def test_a_reason_that_spark_tells_later_is_told_later() -> None:
    executors, pool = running(1)
    for moment, executor_id in enumerate("0123"):
        crash(executors, executor_id)
        executors.reasons = {}
        pool.workers(10.0 + 40.0 * moment)
    assert "the last one: Spark does not say why" in pool.obstacle
    executors.reasons = {"3": "worker lost"}
    pool.workers(135.0)
    assert "the last one: worker lost" in pool.obstacle
    assert pool.replaced == 4


def test_of_several_those_that_last_are_counted_on() -> None:
    """One of three is on a machine that kills it, the others carry load."""
    executors, pool = running(3)
    late = LEAST_PATIENCE_SECONDS + 10.0
    for moment, executor_id in enumerate("2345"):
        crash(executors, executor_id)
        found = pool.workers(late + 20.0 * moment)
    assert found == Workers(running=2)
    assert pool.wanted == 3


def test_a_loop_that_is_over_is_forgotten() -> None:
    executors, pool = running(1)
    for moment, executor_id in enumerate("0123"):
        crash(executors, executor_id)
        pool.workers(10.0 + 40.0 * moment)
    assert pool.workers(130.0 + LOOP_PATIENCES * LEAST_PATIENCE_SECONDS) == Workers(running=1, starting=0, free=5)
    assert (pool.is_losing, pool.obstacle) == (False, "")


def test_in_a_loop_coming_and_going_is_no_news() -> None:
    executors, pool = running(1)
    changes = []
    for moment in range(8):
        crash(executors, str(moment))
        pool.workers(10.0 + 40.0 * moment)
        changes.append(pool.changes)
    assert changes == [1, 2, 3, 3, 3, 3, 3, 3]


def test_those_lost_between_two_looks_count() -> None:
    executors, pool = running(1)
    for executor_id in "0123":
        crash(executors, executor_id)
    pool.workers(10.0)
    assert pool.replaced == 4
    assert not pool.is_losing, "so many at once may be one machine"
    pool.workers(20.0)
    assert pool.replaced == 4


def test_those_lost_before_and_those_released_do_not_count() -> None:
    executors = ExecutorsInMemory(8, total=4, reasons={"99": "Command exited with code 1"})
    executors.start_missing()
    pool = pool_over(executors)
    pool.workers(0.0)
    pool.want(2, 0.0)
    pool.workers(1.0)
    executors.reasons["98"] = "Executor killed by driver."
    crash(executors, "0")
    pool.workers(2.0)
    assert pool.replaced == 1


def test_a_machine_that_is_lost_with_all_its_workers_is_no_loop() -> None:
    executors, pool = running(6)
    for executor_id in "012345":
        executors.die(executor_id)
    assert pool.workers(10.0) == Workers(running=1, starting=5, free=0)
    executors.start_missing()
    assert pool.workers(20.0) == Workers(running=6, starting=0, free=0)
    assert (pool.is_losing, pool.replaced) == (False, 6)


def test_in_a_large_cluster_single_losses_are_no_loop_but_no_news_either() -> None:
    executors = ExecutorsInMemory(200, total=100)
    executors.start_missing()
    pool = pool_over(executors, most=150)
    pool.workers(0.0)
    pool.want(100, 0.0)
    for moment in range(6):
        crash(executors, str(moment))
        assert pool.workers(10.0 + 30.0 * moment) == Workers(running=100, starting=0, free=50)
    assert not pool.is_losing
    assert pool.changes == 3


def test_one_that_comes_and_goes_does_not_prolong_waiting_for_others() -> None:
    """Three are wanted; two places are there, at one of which executors do not last."""
    executors, pool = running(2, places=2)
    pool.want(4, 0.0)
    for moment, executor_id in enumerate("12"):
        executors.die(executor_id)
        pool.workers(10.0 + 15.0 * moment)
        executors.start_missing()
        pool.workers(15.0 + 15.0 * moment)
    assert not pool.is_losing
    assert pool.obstacle == ""
    pool.workers(LEAST_PATIENCE_SECONDS + 1.0)
    assert "2 of 4 workers have not come for 31 s" in pool.obstacle


@given(st.integers(1, 6), st.lists(st.tuples(st.floats(0.5, 60.0), st.integers(0, 3), st.booleans()), max_size=40))
def test_whatever_comes_and_goes_counts_fit(wanted: int, course: list[tuple[float, int, bool]]) -> None:
    """No more is counted than there is, what is wanted stays, and what is not to be had is said why."""
    executors, pool = running(wanted)
    now, lost = 0.0, 0
    for seconds, dying, is_starting in course:
        now += seconds
        for executor_id in list(executors.there)[:dying]:
            executors.die(executor_id)
            lost += 1
        if is_starting:
            executors.start_missing()
        found = pool.workers(now)
        assert 1 <= found.running <= max(1, len(executors.there))
        assert found.committed <= wanted
        assert pool.wanted == wanted
        if pool.obstacle:
            assert found.obtainable == found.running
        else:
            assert (found.committed, found.obtainable) == (wanted, 6)
    assert pool.replaced == lost


@given(st.lists(st.tuples(st.floats(0.0, 100.0), st.integers(0, 5)), max_size=40), st.integers(1, 20))
def test_losses_are_a_loop_as_long_as_they_are_remembered(course: list[tuple[float, int]], wanted: int) -> None:
    losses, now = ExecutorLosses(window_seconds=200.0), 0.0
    told: list[float] = []
    for seconds, count in course:
        now += seconds
        losses = losses.observed(count, now)
        told += [now] * count
        known = [time for time in told if now - time <= 200.0]
        assert losses.count == len(known)
        assert losses.span_seconds <= 200.0
        if losses.is_loop(wanted=wanted):
            assert losses.are_frequent
            assert len(known) > wanted
            assert len(set(known)) >= 4
