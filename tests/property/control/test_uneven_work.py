"""Where one piece of the work is larger than others: it is cut, or workers that cannot carry load are not asked for."""

import math
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.elasticity.pieces import Pieces
from streamshed.simulator.cluster import ClusterSettings, piece_shares
from streamshed.simulator.profiles import constant
from tests.property.control.clusters import Course, elastic_settings, run_on_cluster
from tests.property.control.worlds import PLAIN
from tests.thoroughness import examples

EXAMPLES = examples(15)
PARTITIONS = 16
MICRO_BATCHES = 200
ELASTIC = elastic_settings(partitions=PARTITIONS)


def uneven(skew: float, *, running: int = 1, is_divisible: bool = False) -> ClusterSettings:
    return ClusterSettings(
        running=running,
        most=64,
        partitions=PARTITIONS,
        partition_skew=skew,
        start_seconds=10.0,
        is_divisible=is_divisible,
    )


def course(level: float, cluster: ClusterSettings) -> Course:
    load = constant(PLAIN.load(level))
    return run_on_cluster(PLAIN, load, MICRO_BATCHES, cluster=cluster, elastic=ELASTIC)


@EXAMPLES
@given(st.floats(1.3, 12), st.floats(0.7, 3))
def test_no_workers_are_asked_for_that_would_wait_for_the_largest_piece(level: float, skew: float) -> None:
    """However large the load, once it is known which piece is too large: after three micro-batches."""
    largest = float(piece_shares(PARTITIONS, skew)[0])
    useful = Pieces(PARTITIONS, largest).enough_workers(math.inf)
    found = course(level, uneven(skew))
    for step in found.steps[4:]:
        assert step.view.undivided_share == pytest.approx(largest)
        assert step.decision.workers <= max(useful, step.view.workers.committed)
    assert found.steps[-1].view.workers.running < 2 * useful
    assert found.reversals <= 1


@cache
def overloaded_course(running: int) -> Course:
    """Six workers' load, of which one piece is more than half."""
    return course(6.0, uneven(2.0, running=running))


@pytest.mark.parametrize("running", [1, 8])
def test_the_plan_says_that_more_workers_would_not_help(running: int) -> None:
    largest = float(piece_shares(PARTITIONS, 2.0)[0])
    found = overloaded_course(running)
    last = found.steps[-1]
    assert last.view.workers.running == math.ceil(1 / largest) == 2
    assert last.decision.reason == "skewed"
    assert "one piece is 0.63 of the work, beside which no more than 2 workers can carry load" in (
        last.decision.explanation
    )
    assert found.trace[-1].decision.shedding


def test_workers_that_wait_for_one_piece_are_released_though_load_is_shed() -> None:
    found = overloaded_course(8)
    (released,) = [step for step, change in zip(found.steps, found.changes, strict=True) if change]
    assert (released.view.workers.running, released.decision.workers, released.decision.reason) == (8, 2, "idle")


@EXAMPLES
@given(st.floats(1.3, 5), st.floats(0.7, 3))
def test_input_that_can_be_cut_is_carried_by_workers(level: float, skew: float) -> None:
    found = course(level, uneven(skew, is_divisible=True))
    assert not any(done.decision.shedding for done in found.trace[-50:])
    assert found.steps[-1].view.undivided_share == 0.0


@EXAMPLES
@given(st.integers(3, 12), st.floats(0.3, 0.9))
def test_one_worker_too_few_for_equal_pieces_is_no_skew(pieces: int, way: float) -> None:
    """One of them has two pieces, the others one each: who gets one more worker is twice as fast."""
    running = pieces - 1
    too_few, enough = (Pieces(pieces).effective_workers(workers) for workers in (running, pieces))
    cluster = ClusterSettings(running=running, most=pieces, partitions=pieces, start_seconds=10.0)
    fixed = PLAIN.fixed_share
    load = constant(PLAIN.load(fixed + (1 - fixed) * (too_few + way * (enough - too_few))))
    elastic = elastic_settings(partitions=pieces, most=pieces)
    found = run_on_cluster(PLAIN, load, 80, cluster=cluster, elastic=elastic)
    assert found.steps[-1].view.workers.running == pieces
    assert not any(done.decision.shedding for done in found.trace[-10:])
    assert all(step.decision.reason != "skewed" for step in found.steps)


@EXAMPLES
@given(st.floats(0.7, 3), st.integers(2, 16))
def test_what_is_predicted_on_the_same_workers_does_not_jump_when_a_bound_is_known(skew: float, running: int) -> None:
    """Costs were learned with the bound in the way; that it is known by now changes nothing of what they are."""
    elastic = replace(ELASTIC, controller="fixed")
    load = constant(PLAIN.load(1.3))
    cluster = uneven(skew, running=running)
    found = run_on_cluster(PLAIN, load, 20, cluster=cluster, elastic=elastic, controller="fixed")
    known = next(number for number, step in enumerate(found.steps) if step.view.undivided_share > 0)
    before, after = (found.trace[number].decision.expected_seconds for number in (known - 1, known))
    assert after == pytest.approx(before, rel=0.1)
    done = found.trace[-1]
    assert done.processing_seconds == pytest.approx(done.decision.expected_seconds, rel=0.1)
