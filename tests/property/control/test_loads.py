"""Loads that rise slowly, come and go, or are not known in advance."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.profiles import constant, ramp, steps
from tests.property.control.promises import run_burst
from tests.property.control.worlds import INTERVAL, PLAIN, STREAM, Trace, World, codes, reversals, worlds
from tests.thoroughness import examples

EXAMPLES = examples(40)


def run_ramp(world: World, *, micro_batches: int, sizes_known: bool = True) -> Trace:
    """From calm to overload within so many micro-batches, then as many on top."""
    load = ramp(
        start_seconds=world.start_seconds,
        end_seconds=world.start_seconds + micro_batches * INTERVAL,
        low=world.load(world.calm),
        high=world.load(world.overload),
    )
    engine = EngineSettings(trigger_interval_seconds=INTERVAL, sizes_known=sizes_known)
    return world.run(load, world.calm_micro_batches + 2 * micro_batches, engine=engine)


@EXAMPLES
@given(worlds(), st.integers(10, 40))
def test_a_ramp_keeps_the_headroom_and_rates_only_fall(world: World, micro_batches: int) -> None:
    overloaded = world.overloaded(run_ramp(world, micro_batches=micro_batches))
    assert all(done.utilization <= 1 for done in overloaded[3:])
    settled = [done for done in overloaded[7:] if done.decision.reason != "entering"]
    assert all(done.utilization <= world.headroom * 1.02 for done in settled)
    assert reversals(codes(overloaded[7:])) <= 2


@EXAMPLES
@given(worlds(), st.integers(20, 40))
def test_a_ramp_of_unknown_sizes_makes_no_one_late(world: World, micro_batches: int) -> None:
    trace = run_ramp(world, micro_batches=micro_batches, sizes_known=False)
    assert all(done.utilization <= 1 for done in world.overloaded(trace)[3:])


@EXAMPLES
@given(worlds(), st.integers(6, 20))
def test_a_square_wave_is_met_at_every_edge_once_it_was_seen(world: World, half: int) -> None:
    loads = (world.load(world.calm), world.load(world.overload))
    square_wave = steps(tuple((number * half * INTERVAL, loads[number % 2]) for number in range(11)))
    trace = world.run(square_wave, 10 * half)
    later = [done for done in trace if done.started_at_seconds > 4 * half * INTERVAL]
    high = [world.unshed_budgets(done) > 1.1 for done in later]
    calm = [not is_high and not was_high for was_high, is_high in zip([True, *high], high, strict=False)]
    assert all(done.utilization <= 1 and not done.backlog_rows for done in later)
    assert all(done.decision.shedding for done, is_high in zip(later, high, strict=True) if is_high)
    quiet = [done for done, is_calm in zip(later, calm, strict=True) if is_calm]
    assert not any(done.decision.shedding for done in quiet[1:] if world.unshed_budgets(done) < 0.85)


@EXAMPLES
@given(worlds())
def test_a_burst_of_unknown_size_is_caught_up_with(world: World) -> None:
    engine = EngineSettings(trigger_interval_seconds=INTERVAL, sizes_known=False)
    run = run_burst(world, engine=engine)
    assert all(done.utilization <= 1 for done in run.overloaded[4:])
    assert all(done.utilization <= world.headroom * 1.02 for done in run.overloaded[9:])
    # The end of a burst, too, is known one micro-batch later.
    assert not any(done.decision.shedding or done.backlog_rows for done in run.after[3:])


@EXAMPLES
@given(worlds())
def test_outcomes_that_come_one_micro_batch_late_do_no_harm(world: World) -> None:
    engine = EngineSettings(trigger_interval_seconds=INTERVAL, outcomes_late_by=1)
    run = run_burst(world, engine=engine)
    assert all(done.utilization <= 1 for done in run.overloaded[5:])
    assert all(done.utilization <= world.headroom * 1.02 for done in run.overloaded[11:])
    steady = codes(run.overloaded[16:])
    assert max(steady) - min(steady) <= 4
    assert not any(done.decision.shedding or done.backlog_rows for done in run.after[3:])


@pytest.mark.parametrize("load_in_budgets", [0.97, 1.0, 1.03])
def test_at_the_very_edge_rates_do_not_flap(load_in_budgets: float) -> None:
    trace = PLAIN.run(constant(PLAIN.load(load_in_budgets)), 200, costs=PLAIN.costs(noise_deviation=0.03))
    changes = [one != other for one, other in zip(codes(trace), codes(trace)[1:], strict=False)]
    assert max(codes(trace)[10:]) <= 4
    assert sum(changes[10:]) <= 90


@EXAMPLES
@given(worlds(), st.floats(0.05, 0.6))
def test_a_lasting_overload_is_answered_from_most_of_what_fits(world: World, fixed_share: float) -> None:
    largest = fixed_share + (0.75 - fixed_share) / world.read_share
    world = replace(world, fixed_share=fixed_share, fixed_wrong_by=1.0, row_wrong_by=1.0, calm_micro_batches=0)
    assume(largest > 1.3)
    overload = min(world.overload, largest)
    trace = world.run(constant(world.load(overload)), 60)
    work = (overload - fixed_share) * (1 - world.read_share)
    fitting = (1 - fixed_share - (overload - fixed_share) * world.read_share) / work
    assert all(done.decision.work_shares[STREAM] >= 0.8 * fitting for done in trace[40:])
