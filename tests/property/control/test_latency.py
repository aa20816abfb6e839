"""Arrival to answer stays within the goal, whether micro-batches may grow or not."""

from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.profiles import constant
from tests.property.control.worlds import INTERVAL, STREAM, World, worlds
from tests.thoroughness import examples


@examples(40)
@given(worlds(), st.floats(1.6, 8.0), st.booleans())
def test_the_latency_goal_is_met_from_the_fifth_micro_batch_on(world: World, intervals: float, larger: bool) -> None:
    goal_seconds = intervals * INTERVAL
    loop = world.loop(latency_seconds=goal_seconds, larger_micro_batches=larger)
    unsheddable = (world.fixed_share + world.overload * world.read_share) * world.budget_seconds
    assume(unsheddable <= 0.75 * world.headroom * loop.settings.deadline_seconds)
    trace = world.run(constant(world.load(world.overload)), 40, controller=loop)
    assert all(done.latency_seconds <= goal_seconds for done in trace[4:])


@examples(40)
@given(worlds(), st.floats(4.0, 8.0))
def test_micro_batches_grow_before_rows_are_shed(world: World, intervals: float) -> None:
    """A load whose rows take 80 % of the machine needs larger micro-batches, not shedding."""
    row_share = 0.8 * world.headroom
    load = row_share / world.seconds_per_row
    goal_seconds = intervals * INTERVAL
    loop = world.loop(latency_seconds=goal_seconds, larger_micro_batches=True)
    settles_at = world.fixed_share * world.budget_seconds / (1 - row_share)
    assume(settles_at <= 0.85 * world.headroom * loop.settings.deadline_seconds)
    trace = world.run(constant(load), 60, controller=loop)
    assert not any(done.decision.shedding for done in trace[20:])
    assert all(done.latency_seconds <= goal_seconds for done in trace[20:])


@examples(40)
@given(worlds(), st.integers(5, 12))
def test_a_backlog_behind_capped_micro_batches_is_worked_off(world: World, cap_tenths: int) -> None:
    """Sources may cap a micro-batch; whatever load the cap lets through is caught up with after a pause."""
    rows_per_interval = world.load(world.calm) * INTERVAL
    engine = EngineSettings(
        trigger_interval_seconds=INTERVAL,
        largest_micro_batch_rows=int(rows_per_interval * (1 + cap_tenths / 10)) + 1,
    )
    trace = world.run(constant(world.load(world.calm)), 60, costs=world.costs(pauses={20: 6.0}), engine=engine)
    assert all(done.utilization <= 1 for done in trace[25:])
    assert not any(done.backlog_rows or done.decision.shedding for done in trace[50:])
    assert all(done.offered_rows[STREAM] <= (engine.largest_micro_batch_rows or 0) for done in trace)
