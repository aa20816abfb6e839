from dataclasses import dataclass, field

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.engine import EngineSettings, SimulatedMicroBatch
from streamshed.simulator.profiles import LoadCurve, burst, constant
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.oracles.simulation import simulate
from tests.unit.planning.networks import counting

COSTS = TrueCosts(fixed_seconds=0.5, rows={"packets": RowCost(read_seconds=0.0, work_seconds=0.01)})


@dataclass
class Watcher:
    """A control loop in advisory mode that keeps what it was asked and told."""

    asked: list[Upcoming] = field(default_factory=list)
    told: list[MicroBatchOutcome] = field(default_factory=list)
    loop: ControlLoop = field(
        default_factory=lambda: ControlLoop(
            counting("packets"), ControlSettings(trigger_interval_seconds=2.0, advisory=True), lambda: 0.0
        )
    )

    def plan(self, upcoming: Upcoming) -> Decision:
        self.asked.append(upcoming)
        return self.loop.plan(upcoming)

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        self.told.append(outcome)
        return self.loop.record(outcome)


def run(
    watcher: Watcher, load: LoadCurve, settings: EngineSettings | None = None, *, micro_batches: int = 6
) -> tuple[SimulatedMicroBatch, ...]:
    return simulate(
        watcher,
        load={"packets": load},
        costs=COSTS,
        settings=settings or EngineSettings(trigger_interval_seconds=2.0),
        micro_batches=micro_batches,
    )


def test_on_time_micro_batches_start_at_every_trigger_and_take_what_has_arrived() -> None:
    trace = run(Watcher(), constant(50))
    assert [done.started_at_seconds for done in trace] == [2, 4, 6, 8, 10, 12]
    assert {done.offered_rows["packets"] for done in trace} == {100}
    assert {done.processing_seconds for done in trace} == {1.5}
    assert {done.utilization for done in trace} == {0.75}
    assert {done.latency_seconds for done in trace} == {3.5}
    assert {done.backlog_rows for done in trace} == {0}


def test_a_late_micro_batch_delays_the_next_which_then_holds_more() -> None:
    trace = run(Watcher(), burst(start_seconds=2, end_seconds=4, low=50, high=150), micro_batches=5)
    assert [done.started_at_seconds for done in trace] == pytest.approx([2, 4, 7.5, 9.75, 11.37])
    assert [done.offered_rows["packets"] for done in trace] == [100, 300, 175, 112, 81]
    assert [done.processing_seconds for done in trace] == pytest.approx([1.5, 3.5, 2.25, 1.62, 1.31])
    assert [done.backlog_rows for done in trace] == [0, 75, 12, 0, 0]
    assert trace[2].latency_seconds == pytest.approx(7.5 + 2.25 - 4)


def test_what_a_capped_micro_batch_leaves_is_backlog() -> None:
    settings = EngineSettings(trigger_interval_seconds=2.0, largest_micro_batch_rows=80)
    watcher = Watcher()
    trace = run(watcher, constant(50), settings, micro_batches=3)
    assert [done.offered_rows["packets"] for done in trace] == [80, 80, 80]
    assert [done.backlog_rows for done in trace] == [20, 40, 60]
    assert [asked.backlog_rows for asked in watcher.asked] == [20, 40, 60]


def test_the_controller_is_asked_and_told_as_on_spark() -> None:
    watcher = Watcher()
    run(watcher, constant(50), micro_batches=3)
    assert [asked.micro_batch_id for asked in watcher.asked] == [0, 1, 2]
    assert [asked.now_seconds for asked in watcher.asked] == [2, 4, 6]
    assert all(asked.sizes_known and asked.offered_rows == {"packets": 100} for asked in watcher.asked)
    assert [told.started_at_seconds for told in watcher.told] == [2, 4, 6]
    assert watcher.told[0].admitted_rows == {"packets": 100}


def test_sizes_may_be_unknown_and_outcomes_late() -> None:
    watcher = Watcher()
    settings = EngineSettings(trigger_interval_seconds=2.0, sizes_known=False, outcomes_late_by=2)
    run(watcher, constant(50), settings, micro_batches=5)
    assert all(not asked.sizes_known and asked.offered_rows == {} for asked in watcher.asked)
    assert [told.micro_batch_id for told in watcher.told] == [0, 1, 2]
