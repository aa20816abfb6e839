"""One burst, from any calm before it, with costs wrong by up to three either way."""

from dataclasses import replace

import pytest
from hypothesis import example, given

from tests.property.control.promises import broken, run_burst
from tests.property.control.worlds import PLAIN, World, worlds

BETWEEN_STEPS = replace(
    PLAIN, headroom=0.75, fixed_share=0.125, seconds_per_row=1e-5, read_share=0.03125, overload=2.25
)
"""One step of the sampling rate fits, but for a thousandth."""


@given(worlds())
@example(BETWEEN_STEPS)
def test_every_promise_is_kept(world: World) -> None:
    assert broken(run_burst(world)) == []


def test_the_very_first_micro_batch_is_shed_when_it_is_five_times_too_big() -> None:
    first = run_burst(PLAIN).trace[0]
    assert PLAIN.unshed_budgets(first) == pytest.approx(5.0, abs=0.01)
    assert first.decision.shedding
    assert first.utilization <= PLAIN.headroom
