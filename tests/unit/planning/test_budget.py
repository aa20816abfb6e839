from typing import Any

import pytest

from streamshed.planning.plan.budget import Budget

VALID: dict[str, Any] = {"trigger_interval_seconds": 2.0, "deadline_seconds": 2.0, "headroom": 0.8}


def test_headroom_and_drain_each_take_their_part() -> None:
    assert Budget(**VALID).seconds == pytest.approx(1.6)
    assert Budget(**VALID, drain_seconds=0.6).seconds == pytest.approx(1.0)


def test_beyond_the_trigger_interval_micro_batches_grow() -> None:
    budget = Budget(**{**VALID, "deadline_seconds": 5.0})
    assert budget.seconds == pytest.approx(4.0)
    assert budget.lossless_seconds == pytest.approx(1.6)
    assert budget.utilization(4.0) == 2.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trigger_interval_seconds": 0.0}, "trigger_interval_seconds must be positive"),
        ({"headroom": 0.0}, "headroom must be in"),
        ({"headroom": 1.01}, "headroom must be in"),
        ({"drain_seconds": -0.1}, "drain_seconds must be at least 0"),
        ({"drain_seconds": 1.6}, "leave something of the 1.6 s"),
        ({"deadline_seconds": 0.0}, "leave something"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Budget(**{**VALID, **wrong})
