"""What the control loop promises about a burst, one function each."""

from collections.abc import Callable
from dataclasses import dataclass

from streamshed.simulator.engine import Controller, EngineSettings
from streamshed.simulator.profiles import burst
from tests.property.control.worlds import INTERVAL, STREAM, Trace, World, codes, reversals

LONG = 30
"""Micro-batches of overload."""

ROUNDING = 1.01
"""What a model that is still converging may be off."""


@dataclass(frozen=True)
class Burst:
    """Micro-batches before, during and after an overload; `overloaded` begins where one does not fit."""

    world: World
    trace: Trace
    overloaded: Trace
    after: Trace


def run_burst(world: World, *, controller: Controller | None = None, engine: EngineSettings | None = None) -> Burst:
    end_seconds = world.start_seconds + LONG * INTERVAL
    load = burst(
        start_seconds=world.start_seconds,
        end_seconds=end_seconds,
        low=world.load(world.calm),
        high=world.load(world.overload),
    )
    micro_batches = world.calm_micro_batches + LONG + 12
    trace = world.run(load, micro_batches, controller=controller, engine=engine)
    after = [done for done in trace if done.started_at_seconds >= end_seconds]
    return Burst(world, trace, world.overloaded(trace, end_seconds), after)


def none_is_late_from_the_fourth_on(run: Burst) -> bool:
    return all(done.utilization <= 1 for done in run.overloaded[3:])


def headroom_is_kept_from_the_eighth_on(run: Burst) -> bool:
    return all(done.utilization <= run.world.headroom * ROUNDING for done in run.overloaded[7:])


def nothing_waits_from_the_eighth_on(run: Burst) -> bool:
    return not any(done.backlog_rows for done in run.overloaded[7:])


def rates_do_not_oscillate(run: Burst) -> bool:
    steady = codes(run.overloaded[8:])
    return reversals(steady) <= 1 and max(steady[10:]) - min(steady[10:]) <= 1


def no_more_is_shed_than_the_load_asks(run: Burst) -> bool:
    used = [done.utilization for done in run.overloaded[14:]]
    return sum(used) / len(used) >= 0.88 * run.world.headroom


def the_first_overloaded_micro_batch_is_shed_already(run: Burst) -> bool:
    """As soon as a few calm ones have shown what rows cost, and the excess is more than those leave open.

    Calm micro-batches of one size show a sum: which part of it is fixed cost, only the belief says.
    """
    world, first = run.world, run.overloaded[0]
    shown = world.calm_micro_batches >= 5 and world.calm >= 2 * world.fixed_share
    excess = min(world.unshed_budgets(first), world.unshed_budgets_by_belief(first))
    return first.decision.shedding or not (shown and excess >= 1.3)


def calm_is_left_alone(run: Burst) -> bool:
    """But for the first micro-batches, whose costs are not known yet."""
    calm = [done for done in run.trace[4:] if done.started_at_seconds <= run.world.start_seconds]
    return not any(done.decision.shedding for done in calm)


def two_micro_batches_later_all_is_whole_again(run: Burst) -> bool:
    """Two after the one that still holds rows of the burst."""
    return not any(done.decision.shedding or done.backlog_rows for done in run.after[2:])


def reasons_match_what_is_done(run: Burst) -> bool:
    decisions = [done.decision for done in run.trace]
    lossless = {"within_budget", "larger_micro_batch", "entering", "not_worth_shedding", "catching_up"}
    return all(known.shedding == (known.reason not in lossless) for known in decisions) and all(
        known.decision.offered_rows[STREAM] == known.offered_rows[STREAM] for known in run.trace
    )


PROMISES: tuple[Callable[[Burst], bool], ...] = (
    none_is_late_from_the_fourth_on,
    headroom_is_kept_from_the_eighth_on,
    nothing_waits_from_the_eighth_on,
    rates_do_not_oscillate,
    no_more_is_shed_than_the_load_asks,
    the_first_overloaded_micro_batch_is_shed_already,
    calm_is_left_alone,
    two_micro_batches_later_all_is_whole_again,
    reasons_match_what_is_done,
)


def broken(run: Burst) -> list[str]:
    """Return the names of the promises that a run breaks."""
    return [promise.__name__ for promise in PROMISES if not promise(run)]
