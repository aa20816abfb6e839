"""Shedding and scaling together, on a cluster in virtual time, with costs wrong by up to three either way."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.journal import JournalEntry
from streamshed.elasticity.controllers import controller_named
from streamshed.elasticity.hold_up import HoldUp
from streamshed.elasticity.thresholds import Thresholds
from streamshed.simulator.cluster import ClusterSettings, VirtualCluster
from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.profiles import burst, constant, steps
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.oracles.simulation import simulate
from tests.property.control.clusters import Course, Watched, elastic_settings, gives_all, profile, run_on_cluster
from tests.property.control.worlds import INTERVAL, PLAIN, STREAM, World, worlds
from tests.thoroughness import examples

EXAMPLES = examples(15)
LATENCY_GOAL = 2 * INTERVAL

CLUSTER = ClusterSettings(running=1, most=64, start_seconds=10.0)
ELASTIC = elastic_settings()


@st.composite
def loads(draw: st.DrawFn) -> list[tuple[float, float]]:
    """Levels in budgets of one worker, each for half a minute or more."""
    lengths = draw(st.lists(st.floats(30, 240), min_size=1, max_size=5))
    starts = [0.0, *(sum(lengths[: place + 1]) for place in range(len(lengths) - 1))]
    return [(start, draw(st.floats(0.4, 12))) for start in starts]


@EXAMPLES
@given(worlds(), loads())
def test_answers_are_in_time_or_all_is_shed_that_may_be(world: World, levels: list[tuple[float, float]]) -> None:
    """But for the three micro-batches after a change of load, in which costs are learned, and what those delay."""
    course = run_on_cluster(world, profile(world, levels), 300, cluster=CLUSTER, elastic=ELASTIC)
    jumps = [start for start, _ in levels]
    for number, done in enumerate(course.trace):
        learning = any(0 <= done.started_at_seconds - jump <= 5 * INTERVAL for jump in jumps)
        late = done.latency_seconds > LATENCY_GOAL * (1 + 1e-9)
        assert not late or learning or gives_all(course, number) or gives_all(course, number - 1)


@EXAMPLES
@given(worlds(), loads(), st.floats(0, 0.07), st.integers(0, 99))
def test_workers_do_not_come_and_go(world: World, levels: list[tuple[float, float]], noise: float, seed: int) -> None:
    cluster = replace(CLUSTER, seed=seed)
    course = run_on_cluster(world, profile(world, levels), 300, cluster=cluster, elastic=ELASTIC, noise_deviation=noise)
    seconds = 300 * INTERVAL
    assert course.reversals <= 2 * seconds / ELASTIC.release_after_seconds + 1


@EXAMPLES
@given(worlds(), st.floats(1.3, 12))
def test_once_workers_carry_it_a_load_that_lasts_is_not_shed(world: World, level: float) -> None:
    """Costs that are wrong by three may ask for too many workers at first; these are released, once."""
    course = run_on_cluster(world, constant(world.load(level)), 200, cluster=CLUSTER, elastic=ELASTIC)
    assert not any(done.decision.shedding for done in course.trace[-50:])
    assert course.reversals <= (world.row_wrong_by != 1.0 or world.fixed_wrong_by != 1.0)


@cache
def through_a_burst() -> Course:
    """Eight minutes of three workers' load, from the second minute on."""
    load = burst(start_seconds=120, end_seconds=600, low=PLAIN.load(0.5), high=PLAIN.load(3.0))
    return run_on_cluster(PLAIN, load, 420, cluster=CLUSTER, elastic=ELASTIC)


def test_load_is_shed_at_once_and_no_longer_when_new_workers_carry_it() -> None:
    course = through_a_burst()
    shed = [done.started_at_seconds for done in course.trace if done.decision.shedding]
    asked = [step for step, change in zip(course.steps, course.changes, strict=True) if change > 0]
    assert 120 < shed[0] <= 120 + 2 * INTERVAL
    assert shed[0] < asked[0].view.now_seconds
    assert shed[-1] <= asked[-1].view.now_seconds + CLUSTER.start_seconds + 2 * INTERVAL
    assert course.steps[-1].view.workers.running == 1
    assert course.rescales <= 4


def test_what_many_workers_take_is_predicted_from_what_one_took() -> None:
    course = through_a_burst()
    moved = [
        number
        for number in range(1, len(course.steps))
        if course.steps[number].view.workers.running != course.steps[number - 1].view.workers.running
    ]
    assert moved
    for number in moved:
        done = course.trace[number]
        assert done.processing_seconds == pytest.approx(done.decision.expected_seconds, rel=0.15)


def test_a_worker_that_dies_is_replaced_and_not_taken_for_load() -> None:
    cluster = ClusterSettings(running=8, most=64, start_seconds=10.0, failures_per_worker_day=200.0, seed=3)
    elastic = elastic_settings(release_after_seconds=3600.0)
    course = run_on_cluster(PLAIN, constant(8 * PLAIN.load(0.5)), 300, cluster=cluster, elastic=elastic)
    assert course.failures >= 5
    assert course.rescales == 0
    assert min(step.view.workers.running for step in course.steps) < 8


def test_more_workers_than_partitions_are_never_asked_for() -> None:
    elastic = elastic_settings(partitions=6)
    cluster = ClusterSettings(running=1, most=64, partitions=6, start_seconds=10.0)
    course = run_on_cluster(PLAIN, constant(PLAIN.load(20.0)), 200, cluster=cluster, elastic=elastic)
    assert max(step.decision.workers for step in course.steps) == 6
    assert course.steps[-1].decision.reason == "no_free_worker"
    assert course.trace[-1].decision.shedding


def test_asked_again_for_the_same_micro_batch_no_more_workers_are_wanted() -> None:
    course = run_on_cluster(PLAIN, constant(PLAIN.load(3.0)), 30, cluster=CLUSTER, elastic=ELASTIC)
    assert [step.micro_batch_id for step in course.steps] == list(range(30))


def crowded(held_up_seconds: float, hold_up: HoldUp) -> Course:
    """A load that workers are added for twice, who start on cores that those which run need."""
    load = steps([(0, PLAIN.load(0.5)), (120, PLAIN.load(3.0)), (300, PLAIN.load(20.0))])
    cluster = replace(CLUSTER, start_seconds=INTERVAL, start_work_seconds=held_up_seconds)
    return run_on_cluster(
        PLAIN, load, 250, cluster=cluster, elastic=ELASTIC, hold_up=hold_up, latency_seconds=3 * INTERVAL
    )


@EXAMPLES
@given(st.floats(0.2, 1.7))
def test_what_workers_hold_up_as_they_start_is_learned(intervals: float) -> None:
    course = crowded(intervals * INTERVAL, HoldUp())
    first, *later = [step for step in course.steps if step.adds]
    assert first.held_up_seconds == 0
    assert later
    assert all(step.held_up_seconds == pytest.approx(intervals * INTERVAL, rel=0.3) for step in later)
    assert not any(step.held_up_seconds for step in course.steps if not step.are_starting)


@EXAMPLES
@given(st.floats(0.2, 1.7))
def test_answers_are_in_time_also_while_workers_start_if_it_is_known_what_that_holds_up(intervals: float) -> None:
    course = crowded(intervals * INTERVAL, HoldUp(intervals * INTERVAL))
    for step, done in zip(course.steps, course.trace, strict=True):
        assert not step.are_starting or done.latency_seconds <= 3 * INTERVAL


class Cold(Watched):
    """All of whose micro-batches compile as well."""

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        return super().record(replace(outcome, is_cold=True))


def test_what_compiling_takes_is_not_held_up_by_workers() -> None:
    virtual = VirtualCluster(replace(CLUSTER, start_work_seconds=INTERVAL))
    elastic = replace(ELASTIC, thresholds=Thresholds(shed=PLAIN.headroom))
    cold = Cold(ElasticLoop(PLAIN.loop(), controller_named("predictive", elastic), virtual))
    simulate(
        cold,
        load={STREAM: steps([(0, PLAIN.load(0.5)), (60, PLAIN.load(3.0)), (120, PLAIN.load(20.0))])},
        costs=PLAIN.costs(cluster=virtual),
        settings=EngineSettings(trigger_interval_seconds=INTERVAL),
        micro_batches=90,
    )
    assert sum(step.are_starting for step in cold.steps) > 2
    assert not any(step.held_up_seconds for step in cold.steps)
