"""Several clocks on one machine: one budget, and each second of it goes where it buys most."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.decision import Decision
from streamshed.control.hysteresis import HysteresisSettings
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import SharedTime
from streamshed.network.model.network import network
from streamshed.network.model.query import Query
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.plan.work_shares import WORTH_SAVING
from streamshed.statistics.network_statistics import (
    NetworkStatistics,
    StreamStatistics,
)
from tests.oracles.explaining import explain
from tests.thoroughness import examples
from tests.unit.control.examples import upcoming
from tests.unit.planning.networks import rows_of

TRIGGER, HEADROOM, FIXED, READ_SHARE = 2.0, 0.8, 0.1, 0.01
SECONDS_PER_ROW = 1e-6
STEP = 10 ** (1 / 32)
"""Rates are rounded to steps of so much."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock with one query that counts the rows of one stream."""

    name: str
    rows: int
    weight: float = 1.0
    priority: int = 0

    @property
    def query(self) -> Query:
        aggregate = rows_of(self.name).window("1 minute").agg(n="count(*)")
        return aggregate.query(self.name, weight=self.weight, priority=self.priority)

    @property
    def seconds(self) -> float:
        """What its rows take, nothing shed."""
        return self.rows * SECONDS_PER_ROW


def decided(*clocks: Clock, micro_batches: int = 2) -> dict[str, Decision]:
    """The latest decision of each, after all have planned some micro-batches, a calm one among them."""
    prior = LoadPrior(fixed_seconds=FIXED, seconds_per_row=SECONDS_PER_ROW, read_share=READ_SHARE, is_measured=True)
    settings = ControlSettings(trigger_interval_seconds=TRIGGER, headroom=HEADROOM, prior=prior)
    time = SharedTime([clock.name for clock in clocks], settings)
    loops = {c.name: ControlLoop(network(c.query), settings, lambda: 0.0, time.of(c.name)) for c in clocks}
    for number in range(micro_batches + 1):
        found = {
            c.name: loops[c.name].plan(upcoming(number, {c.name: c.rows if number else c.rows // 10})) for c in clocks
        }
    return found


ROWS = st.integers(50_000, 20_000_000)
CLOCKS = st.builds(
    lambda first, other: (first, other),
    *(st.builds(Clock, st.just(n), ROWS, st.sampled_from((1.0, 3.0))) for n in "ab"),
)


@examples(60)
@given(CLOCKS)
def test_no_clock_is_shed_while_all_fit_and_together_they_fill_the_headroom_else(clocks: tuple[Clock, Clock]) -> None:
    """A clock that would take but little from the headroom is kept whole for some micro-batches first."""
    found = decided(*clocks, micro_batches=HysteresisSettings().busy_micro_batches)
    budget = HEADROOM * TRIGGER
    unshed = sum(FIXED + clock.seconds for clock in clocks)
    taken = sum(decision.expected_seconds for decision in found.values())
    if unshed <= budget:
        assert not any(decision.shedding for decision in found.values())
    unsheddable = sum(FIXED + READ_SHARE * clock.seconds for clock in clocks)
    if unsheddable < budget / 2 and unshed > 1.5 * budget:
        assert budget / STEP / STEP - 2 * FIXED <= taken <= budget * (1 + 1e-6)


@pytest.mark.parametrize("rows", [100_000, 1_000_000, 1_300_000])
def test_what_an_idle_clock_leaves_is_there_for_the_other(rows: int) -> None:
    """An even part is 0.8 s; all that the idle one takes is 0.1 s of the 1.6 s."""
    found = decided(Clock("busy", rows), Clock("idle", 0))
    assert not found["busy"].shedding


@examples(60)
@given(st.floats(1.1, 6.0), st.floats(1.1, 6.0), st.sampled_from((1.0, 2.0)))
def test_rates_are_those_of_the_closed_formula(one: float, other: float, weight: float) -> None:
    """Counts of n rows a second are off by c = 1/(60·n/2): Σ w²·c/P is least at P in proportion to w·sqrt(c/T)."""
    clocks = [Clock("a", round(one * 1e6), weight), Clock("b", round(other * 1e6))]
    found = decided(*clocks)
    budget = HEADROOM * TRIGGER - sum(FIXED + READ_SHARE * clock.seconds for clock in clocks)
    work = {clock.name: (1 - READ_SHARE) * clock.seconds for clock in clocks}
    wanted = {clock.name: clock.weight / clock.rows for clock in clocks}
    scale = budget / sum(work[name] * wanted[name] for name in work)
    for _ in clocks:  # those that reach 1 leave the rest to the others
        full = [name for name in work if scale * wanted[name] >= 1]
        rest = [name for name in work if name not in full]
        if not rest:
            break
        scale = (budget - sum(work[name] for name in full)) / sum(work[name] * wanted[name] for name in rest)
    for name, decision in found.items():
        expected = min(1.0, scale * wanted[name])
        (rate,) = decision.effective_sampling_rates.values()
        assert expected / STEP**3 <= rate <= min(1.0, expected * STEP**3)


@examples(40)
@given(st.floats(0.2, 8.0), st.floats(0.2, 8.0))
def test_a_clock_of_lower_priority_gets_next_to_nothing_while_the_other_is_not_exact(one: float, other: float) -> None:
    found = decided(Clock("high", round(one * 1e6), priority=1), Clock("low", round(other * 1e6)))
    high, low = found["high"], found["low"]
    if high.shedding:
        left = WORTH_SAVING * low.plan.unsheddable_seconds + LEAST_OF_A_CLOCK
        assert low.expected_seconds <= low.plan.unsheddable_seconds + left


LEAST_OF_A_CLOCK = 0.05 * HEADROOM * TRIGGER


@examples(40)
@given(st.floats(0.5, 8.0), st.floats(0.5, 8.0), st.sampled_from((1.0, 4.0)))
def test_explain_plans_with_the_same(one: float, other: float, weight: float) -> None:
    clocks = [Clock("a", round(one * 1e6), weight), Clock("b", round(other * 1e6))]
    known = NetworkStatistics(
        fixed_seconds=2 * FIXED,
        streams={
            clock.name: StreamStatistics(
                rows_per_second=clock.rows / TRIGGER,
                read_seconds_per_row=READ_SHARE * SECONDS_PER_ROW,
                parse_seconds_per_row=(1 - READ_SHARE) * SECONDS_PER_ROW,
            )
            for clock in clocks
        },
    )
    together = network(*(clock.query for clock in clocks))
    load = sum(clock.seconds for clock in clocks) / (HEADROOM * TRIGGER - 2 * FIXED)
    said = explain(together, known, load_factor=load, trigger_interval_seconds=TRIGGER, headroom=HEADROOM)
    planned = {outlook.query: outlook.effective_sampling_rate for outlook in said.outlooks}
    for name, decision in decided(*clocks).items():
        (rate,) = decision.effective_sampling_rates.values()
        assert planned[name] / STEP**3 <= rate <= min(1.0, planned[name] * STEP**3)
