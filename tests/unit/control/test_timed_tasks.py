"""The clocks of tasks that read rows themselves tell reading and work apart, from the first micro-batch on."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import network
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome
from streamshed.statistics.speedup import UNREAD_COST, reading_cost, scattered_cost
from streamshed.statistics.task_costs import DEAREST_SCATTERED, scattered_factors, task_costs
from streamshed.statistics.task_report import TaskReport
from tests.unit.control.examples import outcome, upcoming
from tests.unit.planning.networks import rows_of

ASKED = network(rows_of("packets").window("1 minute").agg(n="count(*)").query("all"))
SETTINGS = ControlSettings(trigger_interval_seconds=3.0)
TASKS = 2


@dataclass
class World:
    """A machine, and the control loop of a run on it.

    Attributes:
        fixed: Seconds of each micro-batch.
        read: Seconds that it takes to read a row.
        work: Seconds of work on a row.
        is_timed: Whether tasks tell what they took.
        loop: The control loop.
        micro_batches: How many there were.
    """

    fixed: float
    read: float
    work: float
    is_timed: bool
    loop: ControlLoop = field(default_factory=lambda: ControlLoop(ASKED, SETTINGS, time.time))
    micro_batches: int = 0

    def run(self, rows: int, *, slow_seconds: float = 0.0, is_cold: bool = False, left_rows: int = 0) -> float:
        """Run a micro-batch, and return the share of work that was done."""
        offered = {"packets": rows}
        plan = self.loop.plan(upcoming(self.micro_batches, offered)).plan
        share = plan.work_shares.get("packets", 1.0)
        reading, work = self.read * rows, self.work * rows * share
        clocks = TaskReport(read_seconds=TASKS * reading, work_seconds=TASKS * work, left_rows=left_rows)
        seconds = self.fixed + reading + work + slow_seconds
        taken = replace(outcome(self.micro_batches, offered, {"packets": share}, seconds), is_cold=is_cold)
        measured = Measured(task_reports={"packets": clocks}, parallel_tasks=TASKS) if self.is_timed else Measured()
        self.loop.record(taken, measured)
        self.micro_batches += 1
        return share

    def off(self) -> tuple[float, float]:
        """How many times what it takes the load model believes to read a row, and of work on it."""
        model = self.loop.state.load_model
        return model.read_seconds_per_row("packets") / self.read, model.work_seconds_per_row("packets") / self.work


def test_a_slow_beginning_is_not_put_down_to_work() -> None:
    """Of 8 million rows half fits. That the first micro-batch took so long is believed to be fixed for a while."""
    shares = {}
    for is_timed in (True, False):
        world = World(1.0, 5e-8, 2.5e-7, is_timed)
        world.run(1_000_000, slow_seconds=2.5)
        shares[is_timed] = [world.run(8_000_000) for _ in range(4)]
    assert shares[True][-1] > 0.35
    assert all(timed > 2 * other for timed, other in zip(shares[True], shares[False], strict=True))


def test_after_a_burst_everything_is_kept_at_once() -> None:
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    for rows in (1_000_000, *[20_000_000] * 5):
        share = world.run(rows)
    assert share < 0.15
    assert world.run(4_000_000) == 1.0


@given(
    fixed=st.floats(0.3, 1.5),
    read=st.floats(2e-8, 2e-7),
    work_of_reading=st.floats(0.5, 10.0),
    slow_seconds=st.floats(0.0, 3.0),
)
def test_costs_are_near_what_tasks_take_whatever_else_a_micro_batch_took(
    fixed: float, read: float, work_of_reading: float, slow_seconds: float
) -> None:
    world = World(fixed, read, work_of_reading * read, is_timed=True)
    world.run(1_000_000, slow_seconds=slow_seconds)
    world.run(2_000_000)
    assert max(abs(math.log(factor)) for factor in world.off()) < math.log(2)


def test_what_tasks_take_who_compile_tells_nothing() -> None:
    world = World(1.0, 5e-6, 5e-6, is_timed=True)
    world.run(100_000, is_cold=True)
    assert world.loop.state.learned.task_seconds == {}
    assert world.loop.state.load_model.tasks == {}


def test_it_is_kept_for_the_next_process() -> None:
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    for rows in (1_000_000, 2_000_000):
        world.run(rows)
    restored = ControlLoop.from_json(world.loop.to_json(), network=ASKED, settings=SETTINGS, clock=time.time)
    assert restored.state.load_model == world.loop.state.load_model
    assert restored.state.learned.task_seconds == world.loop.state.learned.task_seconds
    assert restored.state.load_model.tasks["packets"] == pytest.approx((5e-8, 2.5e-7))


def test_it_holds_for_workers_that_are_not_as_fast_as_was_thought() -> None:
    """What is known is known for one worker; they were thought to be four times as fast, and are twice."""
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    world.run(1_000_000)
    of_one = world.loop.state
    of_slower = of_one.with_speedups(lambda thought: thought / 2, latest=4.0)
    assert of_slower.load_model.tasks["packets"] == of_one.load_model.tasks["packets"].times(0.5)
    again, before = (state.learned.task_seconds["packets"] for state in (of_slower, of_one))
    assert again["read_seconds"] == 0.5 * before["read_seconds"]
    assert again["read_rows"] == before["read_rows"]


def read_in_part(world: World, factor: float, *, read_share: float = 0.1, width: int = 1) -> MicroBatchOutcome:
    """Run a micro-batch of a million rows of which a share is read, and return what the loop knows of it.

    It takes so many times as long as is believed to read the rows that are read.
    """
    number, rows = world.micro_batches, 1_000_000
    reading = world.read * rows * reading_cost(read_share, scattered_cost(width, factor))
    work = world.work * rows * read_share
    world.loop.plan(upcoming(number, {"packets": rows}))
    clocks = TaskReport(read_seconds=TASKS * reading, work_seconds=TASKS * work)
    taken = outcome(number, {"packets": rows}, {"packets": read_share}, world.fixed + reading + work)
    world.loop.record(
        replace(taken, read_shares={"packets": read_share}, bundle_widths={"packets": width}),
        Measured(task_reports={"packets": clocks}, parallel_tasks=TASKS),
    )
    world.micro_batches += 1
    last = world.loop.state.last_outcome
    assert last is not None
    return last


@pytest.mark.parametrize("width", [1, 8])
def test_where_blocks_are_left_unread_from_the_start_scattered_rows_cost_what_is_believed(width: int) -> None:
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    last = read_in_part(world, 1.0, width=width)
    assert last.scattered_costs == {}
    assert world.loop.state.load_model.tasks["packets"] == pytest.approx((5e-8, 2.5e-7))


@given(factor=st.floats(0.4, 1.3), read_share=st.floats(0.01, 0.12), widths=st.lists(st.sampled_from([1, 2, 4, 16])))
def test_what_scattered_rows_cost_is_learned(factor: float, read_share: float, widths: list[int]) -> None:
    """It is known after one micro-batch; and however many read no other rows, what all rows cost is not forgotten."""
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    world.run(1_000_000)
    for width in (*widths, 8):
        cost = scattered_cost(width, factor)
        last = read_in_part(world, factor, read_share=read_share, width=width)
        assert last.scattered_costs["packets"] == pytest.approx(cost)
        assert last.costed_rows["packets"] == pytest.approx(1e6 * reading_cost(read_share, cost))
    assert world.loop.state.load_model.tasks["packets"] == pytest.approx((5e-8, 2.5e-7))
    expected = world.fixed + 1e6 * (reading_cost(read_share, cost) * world.read + read_share * world.work)
    assert last.processing_seconds == pytest.approx(expected)


def test_the_dearer_scattered_rows_have_been_the_fewer_are_read() -> None:
    shares = []
    for factor in (0.2, 0.5, 1.0):
        world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
        world.run(1_000_000)
        read_in_part(world, factor)
        coming = replace(upcoming(world.micro_batches, {"packets": 100_000_000}), blocks={"packets": 100_000})
        shares.append(world.loop.plan(coming).read_shares["packets"])
    assert shares == sorted(set(shares), reverse=True)


def test_scattered_rows_are_never_believed_to_be_much_dearer_than_they_are_known_to_be() -> None:
    unread = {"scattered_costs": 6e5, "unread_rows": 9e5}
    told = {"read_seconds": 1.0, "read_rows": 1e6, **unread}
    passing = UNREAD_COST * 0.9
    for seconds, factor in ((0.01, 0.0), (passing + 0.3, 0.5), (passing + 2.4, DEAREST_SCATTERED), (9.0, 4.0)):
        learned = scattered_factors({"packets": {**told, "scattered_seconds": seconds}})
        assert learned == {"packets": pytest.approx(factor)}
    assert scattered_cost(1, 0.0) == 1.0


def test_what_rows_cost_outlasts_the_longest_burst() -> None:
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    world.run(1_000_000)
    before = dict(world.loop.state.learned.task_seconds["packets"])
    for _ in range(5):
        read_in_part(world, 0.5)
    after = world.loop.state.learned.task_seconds["packets"]
    assert (after["read_seconds"], after["read_rows"]) == (before["read_seconds"], before["read_rows"])
    assert after["scattered_costs"] == pytest.approx(6e5 * sum(0.8**age for age in range(5)))


def test_what_an_earlier_version_has_learned_of_scattered_rows_alone_is_passed_over() -> None:
    told = {"work_seconds": 1.0, "work_rows": 1e6, "scattered_seconds": 0.5, "scattered_rows": 1e6, "unread_rows": 9e6}
    assert task_costs({"packets": told}) == {}
    assert scattered_factors({"packets": told}) == {}


def test_tasks_that_leave_many_rows_to_spark_do_not_tell_what_rows_cost() -> None:
    world = World(1.0, 5e-8, 2.5e-7, is_timed=True)
    world.run(1_000_000)
    for left_rows, is_clear in ((50_000, True), (50_001, False), (0, True)):
        world.run(1_000_000, left_rows=left_rows)
        assert ("packets" in world.loop.state.load_model.tasks) == is_clear
        assert ("packets" in world.loop.state.learned.task_seconds) == is_clear
