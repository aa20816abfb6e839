"""With the controller of the text load is shed by its shed factor, and workers come once that leaves τ ≥ τ3."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import SharedTime
from streamshed.control.shed_rule import ShedRule, shed_rule
from streamshed.elasticity.controllers import CONTROLLERS
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.shed_factor import EXPONENTS, ShedFactor
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.explain.clock_work import ClockWork
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import WorkNode, WorkTree
from streamshed.simulator.cluster import ClusterSettings
from streamshed.simulator.profiles import constant
from tests.property.control.clusters import Course, elastic_settings, run_on_cluster
from tests.property.control.worlds import INTERVAL, PLAIN
from tests.thoroughness import examples

SHAPES = st.sampled_from(sorted(EXPONENTS))
BASES = st.floats(0, 0.5)
ROUNDING = 0.07
"""Sampling rates are rounded to steps of so much."""


@given(st.floats(0.5, 0.9), BASES, SHAPES, st.floats(0.01, 50), st.floats(0.01, 50))
def test_more_load_never_leaves_less_time_nor_more_than_all(
    begin: float, base: float, shape: str, one: float, other: float
) -> None:
    rule = ShedRule(factor=ShedFactor(begin=begin, base=base, shape=shape))
    less, more = (
        rule.headroom(load * INTERVAL, fixed_seconds=0.0, available_seconds=INTERVAL) for load in sorted((one, other))
    )
    assert begin * (1 - 1e-9) <= less <= more * (1 + 1e-9)
    assert more <= 1 + 1e-9


@given(st.floats(0.5, 0.9), BASES, SHAPES, st.floats(0.1, 50))
def test_the_share_of_rows_that_is_dropped_is_the_shed_factor(
    begin: float, base: float, shape: str, offered: float
) -> None:
    """But where the shed factor jumps, as at τ2 with a base, and where all would be dropped."""
    factor = ShedFactor(begin=begin, base=base, shape=shape)
    settled = factor.settled(offered)
    assert settled <= max(1.0, offered)
    if begin < settled < 1:
        kept = settled / offered
        assert kept >= 1 - factor.at(settled) - 1e-6 or settled == pytest.approx(begin)
        assert kept == pytest.approx(1 - factor.at(settled), abs=1e-6) or settled == pytest.approx(begin)


def test_only_the_controller_of_the_text_sheds_by_it() -> None:
    elastic = ElasticSettings(base_shed=0.1, shed_shape="quadratic")
    found = {name: shed_rule(elastic, name) for name in CONTROLLERS}
    assert found == {**dict.fromkeys(CONTROLLERS), "thresholds": ShedRule(factor=elastic.shed_factor)}
    assert shed_rule(None) is None
    assert shed_rule(replace(elastic, controller="thresholds")) == found["thresholds"]


def test_without_it_the_headroom_counts() -> None:
    def headroom(settings: ControlSettings, seconds: float) -> float:
        tree = WorkTree((WorkNode(name="s", parent=None, seconds=seconds, query=0),))
        asked = [Demand(query="q", coefficient=0.01)]
        work = ClockWork(tree=tree, demands=asked, fixed_seconds=0.1, unsheddable_seconds=0.1)
        return SharedTime(["only"], settings).allotment("only", work).headroom

    plain = ControlSettings(trigger_interval_seconds=INTERVAL, headroom=0.7)
    assert headroom(plain, 100.0) == 0.7
    by_factor = replace(plain, shed_rule=ShedRule(factor=ShedFactor(begin=0.7)))
    assert headroom(by_factor, 100.0) > 0.95
    assert headroom(by_factor, 0.01) == pytest.approx(0.05 + 0.95 * 0.7)  # Of what the fixed part leaves.


def shed_by_factor(level: float, *, base: float = 0.0, shape: str = "linear", most: int = 1) -> Course:
    """A load of so many workers' whole time, over 150 micro-batches, on one worker to begin with."""
    elastic = replace(
        elastic_settings(add_after_seconds=20.0),
        base_shed=base,
        shed_shape=shape,
        limits=WorkerLimits(least=1, most=most),
    )
    cluster = ClusterSettings(running=1, most=most, start_seconds=10.0)
    load = constant(PLAIN.load(level / PLAIN.headroom))
    known = LoadPrior(
        fixed_seconds=PLAIN.fixed_share * PLAIN.budget_seconds,
        seconds_per_row=PLAIN.seconds_per_row,
        read_share=PLAIN.read_share,
        is_measured=True,
    )
    return run_on_cluster(PLAIN, load, 150, cluster=cluster, elastic=elastic, controller="thresholds", prior=known)


@examples(15)
@given(st.floats(1.1, 8), BASES, SHAPES)
def test_a_lasting_load_settles_where_the_shed_factor_does(level: float, base: float, shape: str) -> None:
    """PLAIN begins to shed at its headroom, and 5 % of what its rows take is not saved by dropping them."""
    factor = ShedFactor(begin=PLAIN.headroom, base=base, shape=shape)
    fixed = PLAIN.fixed_share * PLAIN.headroom
    settled = fixed + (1 - fixed) * factor.settled((level - fixed) / (1 - fixed))
    for done in shed_by_factor(level, base=base, shape=shape).trace[-50:]:
        utilization = done.processing_seconds / INTERVAL
        assert done.decision.budget_seconds / INTERVAL == pytest.approx(settled, abs=0.02)
        assert settled - ROUNDING * (settled - fixed) - 0.01 <= utilization <= settled + 0.01
        assert done.decision.shedding


def test_the_larger_the_load_the_less_is_left_of_the_headroom() -> None:
    found = {
        (level, shape): shed_by_factor(level, shape=shape).trace[-1].decision.budget_seconds / INTERVAL
        for level in (1.2, 2.0, 5.0)
        for shape in EXPONENTS
    }
    for shape in EXPONENTS:
        assert PLAIN.headroom < found[1.2, shape] < found[2.0, shape] < found[5.0, shape] < 1
    assert found[2.0, "linear"] < found[2.0, "quadratic"]


def test_workers_come_where_shedding_leaves_more_than_the_threshold_of_adding() -> None:
    """0.95 with a headroom of 0.8: linearly that takes four times what a worker can do, of which a quarter is kept."""
    slight, large = shed_by_factor(2.0, most=16), shed_by_factor(6.0, most=16)
    assert slight.rescales == 0
    assert slight.trace[-1].decision.shedding
    assert large.rescales >= 1
    assert large.steps[-1].view.workers.running >= 6 / PLAIN.headroom
    assert not large.trace[-1].decision.shedding
