"""A time domain that sees how its work is spread: input is cut finer, or a bound is known and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import SharedTime
from streamshed.elasticity.balance import StageWork
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.source.sources import rate
from streamshed.spark.cluster.domain_scaling import DomainScaling, DomainWorkers
from streamshed.spark.cluster.executor_pool import ExecutorPool
from streamshed.spark.cluster.shared_workers import SharedWorkers
from streamshed.statistics.measured import Measured
from tests.unit.control.examples import outcome, upcoming
from tests.unit.spark.executors_in_memory import ExecutorsInMemory

Tasks = tuple[float, ...]

EVEN: Tasks = (5.0, 5.0)
UNEVEN: Tasks = (9.0, 1.0)
ROWS = {"ticks": 1000}


@dataclass
class Told:
    """What the tasks of each micro-batch took, as a test says."""

    tasks: Tasks = EVEN
    is_input: bool = True
    pieces: list[int] = field(default_factory=list)

    def before(self, micro_batch_id: int) -> Sequence[Sequence[StageWork]]:
        """Return the same of every micro-batch."""
        stage = StageWork(
            tasks=len(self.tasks),
            seconds=sum(self.tasks),
            longest_seconds=max(self.tasks),
            is_input=self.is_input,
        )
        return [] if micro_batch_id == 0 else [[stage]]

    def cut(self, pieces: int, why: str) -> None:
        """Remember it."""
        assert why == "work is uneven"
        self.pieces.append(pieces)


@dataclass
class Domain:
    """A domain on two executors, of so many cores each."""

    told: Told
    cores: int = 1
    release_after_seconds: float = 900.0
    executors: ExecutorsInMemory = field(default_factory=lambda: ExecutorsInMemory(8, total=2))
    next_id: int = 0

    def __post_init__(self) -> None:
        self.executors.start_missing()
        self.pool = ExecutorPool(self.executors, most=6, start_seconds=5.0, period_seconds=10.0)
        limits = WorkerLimits(least=1, most=6)
        workers = DomainWorkers(
            ElasticSettings(limits=limits, release_after_seconds=self.release_after_seconds),
            self.pool,
            SharedWorkers(self.pool, {}, "ticks"),
            self.cores,
        )
        ticks = stream("ticks", rate(10), time="timestamp", watermark="1 second")
        queries = network(ticks.window("1 minute").agg(n="count(*)").query("q"))
        settings = ControlSettings(trigger_interval_seconds=2.0)
        time = SharedTime(["ticks"], settings).of("ticks")
        loop = ControlLoop(queries, settings, lambda: 0.0, time)
        self.scaling = DomainScaling(workers, loop, 8 * self.cores, lambda: 2 * self.cores, time)
        self.scaling.watch(self.told, self.told)

    def plan(self, *, times: float) -> str:
        """Return why so many workers are wanted; nothing is learned."""
        rows = {name: round(count * times) for name, count in ROWS.items()}
        self.scaling.loop.plan(upcoming(self.next_id, rows))
        self.next_id += 1
        return self.scaling.loop.step(self.next_id - 1).decision.reason

    def run(self, micro_batches: int, *, is_cold: bool = False) -> None:
        for _ in range(micro_batches):
            self.scaling.loop.plan(upcoming(self.next_id, ROWS))
            done = replace(outcome(self.next_id, ROWS, {}, 0.5), is_cold=is_cold)
            self.scaling.record(done, Measured())
            self.next_id += 1


def test_even_input_is_left_as_it_is() -> None:
    domain = Domain(Told())
    domain.run(10)
    assert domain.told.pieces == []


def test_uneven_input_is_cut_into_four_pieces_for_each_task_at_a_time() -> None:
    domain = Domain(Told(UNEVEN))
    domain.run(2)
    assert domain.told.pieces == []
    domain.run(1)
    assert domain.told.pieces == [8]
    status = domain.scaling.status(2)
    assert status is not None
    assert status.pieces_per_core == 4


def test_what_stays_large_is_told_to_the_controller() -> None:
    domain = Domain(Told(UNEVEN))
    domain.run(8)
    status = domain.scaling.status(7)
    assert status is not None
    assert status.undivided_share == 0.9
    assert "one piece is 0.9 of the work" in status.scaling_explanation


def test_a_worker_of_two_cores_is_twice_as_fast_beside_the_largest_piece() -> None:
    """So that piece is twice the share of its time."""
    domain = Domain(Told((3.0, 2.0, 2.0, 3.0), is_input=False), cores=2)
    domain.run(5)
    status = domain.scaling.status(4)
    assert status is not None
    assert status.undivided_share == 0.6


def test_tasks_that_run_while_workers_come_or_go_tell_nothing() -> None:
    domain = Domain(Told(UNEVEN))
    for _ in range(6):
        domain.executors.die(next(iter(domain.executors.there)))
        domain.executors.start_missing()
        domain.run(1)
    assert domain.told.pieces == []


def test_where_workers_are_lost_again_and_again_costs_are_learned_all_the_same() -> None:
    """And the journal says why only what lasts is counted on."""
    domain = Domain(Told())
    learned = []
    for number in range(20):
        domain.scaling.loop.plan(upcoming(number, ROWS))
        domain.executors.die(list(domain.executors.there)[-1], "Command exited with code 52")
        domain.executors.start_missing()
        learned.append(domain.scaling.record(outcome(number, ROWS, {}, 0.5), Measured()).learned)
    assert not any(learned[:3])
    assert all(learned[10:])
    status = domain.scaling.status(19)
    assert status is not None
    assert (status.scaling_reason, status.workers_starting) == ("losing_workers", 0)
    assert status.workers_replaced == 20
    assert "the last one: Command exited with code 52 (is its memory too small" in status.scaling_explanation


def test_a_cold_micro_batch_tells_nothing() -> None:
    domain = Domain(Told(UNEVEN))
    domain.run(6, is_cold=True)
    assert domain.told.pieces == []


def test_a_new_run_of_which_nothing_is_known_begins_with_the_least() -> None:
    assert Domain(Told()).scaling.first_workers([]) == 1


def test_after_a_restart_there_are_as_many_as_were_wanted_last() -> None:
    """Also where the latest row tells of none: nobody decided on workers for a micro-batch that is run again."""
    scaling = Domain(Told()).scaling
    assert scaling.first_workers([{"workers_wanted": 2}, {"workers_wanted": 4}, {"workers_wanted": None}]) == 4
    assert scaling.first_workers([{"workers_wanted": 99}]) == 4, "of eight pieces, six workers are no faster than four"
    assert scaling.first_workers([{"workers_wanted": None}, {}]) == 1


def test_of_a_checkpoint_that_knew_no_workers_the_costs_and_rows_are_known() -> None:
    domain = Domain(Told())
    domain.run(20)
    assert domain.scaling.first_workers([]) == 1
    for _ in range(16):
        domain.plan(times=OVERLOAD)
    assert domain.scaling.first_workers([]) == 4


OVERLOAD = 5000.0
"""Times as many rows as there are otherwise, by what rows are believed to cost: more than all workers can do."""


def waiting_for_more(*, release_after_seconds: float) -> Domain:
    """A domain that wants four workers of a cluster that has three, and knows by now that one does not come."""
    domain = Domain(Told(), release_after_seconds=release_after_seconds, executors=ExecutorsInMemory(3, total=2))
    for _ in range(30):
        domain.plan(times=OVERLOAD)
    assert domain.pool.wanted == 4
    domain.executors.start_missing()
    for _ in range(30):
        domain.plan(times=OVERLOAD)
    assert "have not come" in domain.pool.obstacle
    return domain


def test_workers_that_could_not_be_had_stay_wanted_while_load_is_shed() -> None:
    domain = waiting_for_more(release_after_seconds=60.0)
    assert domain.pool.wanted == 4


def test_they_are_no_longer_wanted_once_others_have_sufficed_for_long() -> None:
    """One that comes then would come for nothing."""
    domain = waiting_for_more(release_after_seconds=60.0)
    reasons = [(domain.plan(times=0.2 * OVERLOAD), domain.pool.wanted) for _ in range(25)]
    assert reasons[-1] == ("steady", 4)
    for _ in range(10):
        domain.plan(times=0.2 * OVERLOAD)
    assert domain.pool.wanted == 3
    domain.executors.places = 8
    domain.executors.start_missing()
    assert len(domain.executors.there) == 3


def test_one_that_died_while_nobody_heard_is_still_wanted() -> None:
    domain = Domain(Told(), release_after_seconds=60.0)
    for _ in range(60):
        domain.plan(times=0.6 * OVERLOAD / 3)
    domain.executors.hears = False
    domain.executors.die(next(iter(domain.executors.there)))
    for _ in range(20):
        domain.plan(times=0.6 * OVERLOAD / 3)
    assert domain.pool.wanted == 2
