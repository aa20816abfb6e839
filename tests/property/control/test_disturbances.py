"""Costs that are noisy, drift, jump, or go mad for a moment."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.profiles import constant
from tests.property.control.worlds import INTERVAL, PLAIN, Trace, World, codes, worlds
from tests.thoroughness import examples

EXAMPLES = examples(40)

LAG = 1.08
"""What a model may be off that follows costs which drift."""


def overloaded(world: World, micro_batches: int = 60, *, seed: int = 0, **costs: object) -> Trace:
    """Overload from the first micro-batch on."""
    engine = EngineSettings(trigger_interval_seconds=INTERVAL, seed=seed)
    load = constant(world.load(world.overload))
    return world.run(load, micro_batches, costs=world.costs(**costs), engine=engine)


def drift(amplitude: float, period_micro_batches: float) -> Callable[[float], float]:
    """Work that becomes dearer and cheaper by `amplitude`, as when a selectivity drifts."""
    turns = 2 * math.pi / (period_micro_batches * INTERVAL)
    return lambda now: 1 + amplitude * math.sin(turns * now)


@EXAMPLES
@given(worlds(), st.floats(0.1, 0.5), st.floats(60, 200))
def test_a_drifting_selectivity_is_followed(world: World, amplitude: float, period: float) -> None:
    trace = overloaded(world, 120, work_factor=drift(amplitude, period))
    assert all(done.utilization <= 1 for done in trace[3:])
    settled = [done for done in trace[7:] if done.decision.reason != "entering"]
    assert all(done.utilization <= LAG * world.headroom for done in settled)
    used = [done.utilization for done in trace[20:]]
    assert 0.8 * world.headroom <= sum(used) / len(used) <= 1.02 * world.headroom


@EXAMPLES
@given(worlds(), st.integers(0, 1000))
def test_noise_of_seven_percent_rarely_makes_anyone_late(world: World, seed: int) -> None:
    world = replace(world, headroom=min(world.headroom, 0.8))
    trace = overloaded(world, 100, seed=seed, noise_deviation=0.07)
    used = [done.utilization for done in trace[10:]]
    assert sum(used) / len(used) <= 1.02 * world.headroom
    assert sum(utilization > 1 for utilization in used) <= 3
    assert max(codes(trace)[20:]) - min(codes(trace)[20:]) <= 24


@pytest.mark.parametrize("factor", [3.0, 1 / 3])
def test_work_that_becomes_three_times_dearer_or_cheaper_is_met_within_four(factor: float) -> None:
    trace = overloaded(PLAIN, work_factor=lambda now: factor if now > 60 else 1.0)
    changed = [done for done in trace if done.started_at_seconds > 60]
    assert all(done.utilization <= 1 for done in changed[3:])
    assert all(done.utilization <= 1.02 * PLAIN.headroom for done in changed[7:])
    assert all(done.utilization >= 0.85 * PLAIN.headroom for done in changed[7:])


@pytest.mark.parametrize("wrong_by", [1.0, 3.0])
def test_a_pause_ten_times_too_long_is_over_when_its_backlog_is(wrong_by: float) -> None:
    world = replace(PLAIN, overload=3.0, read_share=0.03, row_wrong_by=wrong_by)
    trace = overloaded(world, pauses={30: 10.0})
    before = codes(trace)[29]
    assert all(done.utilization <= 1 for done in trace[33:])
    assert all(abs(code - before) <= 1 for code in codes(trace)[36:])


def test_a_pause_in_calm_costs_rows_of_one_micro_batch_at_most() -> None:
    trace = PLAIN.run(constant(PLAIN.load(0.5)), 60, costs=PLAIN.costs(pauses={30: 10.0}))
    assert [done.micro_batch_id for done in trace if done.decision.shedding] == [31]
    assert all(done.utilization <= PLAIN.headroom for done in trace[31:])


@EXAMPLES
@given(
    fixed_share=st.floats(0.1, 0.5),
    load_in_budgets=st.floats(0.55, 0.85),
    factor=st.floats(1.5, 2.5),
    at=st.integers(2, 16),
)
@example(fixed_share=0.5, load_in_budgets=0.8, factor=2.0, at=2)
@example(fixed_share=0.45, load_in_budgets=0.82, factor=2.0, at=3)
def test_a_hiccup_in_calm_costs_no_rows(fixed_share: float, load_in_budgets: float, factor: float, at: int) -> None:
    """As long as the rows that came meanwhile fit by themselves; of costs that were measured before."""
    world = replace(PLAIN, fixed_share=fixed_share, read_share=0.25)
    late_seconds = max(0.0, factor * load_in_budgets * world.budget_seconds - INTERVAL)
    assume(fixed_share + (load_in_budgets - fixed_share) * (1 + late_seconds / INTERVAL) <= 0.95)
    prior = LoadPrior(
        fixed_seconds=fixed_share * world.budget_seconds, seconds_per_row=world.seconds_per_row, is_measured=True
    )
    load, costs = constant(world.load(load_in_budgets)), world.costs(pauses={at: factor})
    trace = world.run(load, 24, controller=world.loop(prior=prior), costs=costs)
    assert not any(done.decision.shedding for done in trace)


@pytest.mark.parametrize("warm_up", [(3.0, 2.0, 1.2), (5.0, 4.0, 3.0, 2.0, 1.5, 1.2)])
@pytest.mark.parametrize("load_in_budgets", [0.3, 0.6])
def test_a_cold_start_leaves_no_lasting_shedding(warm_up: tuple[float, ...], load_in_budgets: float) -> None:
    trace = PLAIN.run(constant(PLAIN.load(load_in_budgets)), 30, costs=PLAIN.costs(warm_up=warm_up))
    warm = len(warm_up)
    assert not any(done.decision.shedding for done in trace[warm + 1 :])
    assert not any(done.backlog_rows for done in trace[warm:])


def test_a_cold_start_under_overload_ends_at_the_right_rates() -> None:
    warm = overloaded(PLAIN)
    cold = overloaded(PLAIN, warm_up=(5.0, 4.0, 3.0, 2.0, 1.5, 1.2))
    assert all(abs(one - other) <= 1 for one, other in zip(codes(cold)[15:], codes(warm)[15:], strict=True))
