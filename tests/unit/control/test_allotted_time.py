import pytest

from streamshed.control.allotted_time import allotted
from streamshed.control.settings import ControlSettings

SETTINGS = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=4.0, headroom=0.8)
GROWING = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=12.0, headroom=0.8, larger_micro_batches=True)


@pytest.mark.parametrize(
    ("elapsed_seconds", "seconds"),
    [(0.5, 1.6), (2.0, 1.6), (2.5, 1.2), (3.0, 0.8), (3.1, 1.6), (60.0, 1.6)],
)
def test_a_late_start_is_made_up_for_while_the_goal_can_be_met(elapsed_seconds: float, seconds: float) -> None:
    budget = allotted(SETTINGS, elapsed_seconds=elapsed_seconds, backlog_rows=0)
    assert budget.seconds == pytest.approx(seconds)


@pytest.mark.parametrize("elapsed_seconds", [0.0, 1.0, 2.0, 2.2, 2.9])
def test_what_fills_its_deadline_meets_the_latency_goal(elapsed_seconds: float) -> None:
    budget = allotted(SETTINGS, elapsed_seconds=elapsed_seconds, backlog_rows=0)
    assert elapsed_seconds + budget.seconds / budget.headroom <= 4.0 + 1e-9


def test_a_backlog_takes_back_larger_micro_batches() -> None:
    assert allotted(GROWING, elapsed_seconds=2.0, backlog_rows=0).seconds == pytest.approx(4.8)
    assert allotted(GROWING, elapsed_seconds=2.0, backlog_rows=1).seconds == pytest.approx(1.6)


@pytest.mark.parametrize(("held_up_seconds", "seconds"), [(0.0, 1.6), (0.5, 1.2), (1.5, 0.4), (1.6, 1.6)])
def test_what_holds_up_is_left_free_while_the_goal_can_be_met(held_up_seconds: float, seconds: float) -> None:
    budget = allotted(SETTINGS, elapsed_seconds=2.0, backlog_rows=0, held_up_seconds=held_up_seconds)
    assert budget.seconds == pytest.approx(seconds)


def test_a_goal_that_leaves_room_for_what_holds_up_costs_no_work() -> None:
    settings = ControlSettings(trigger_interval_seconds=2.0, latency_seconds=6.0, headroom=0.8)
    assert allotted(settings, elapsed_seconds=2.0, backlog_rows=0, held_up_seconds=2.0).seconds == pytest.approx(1.6)
    assert allotted(settings, elapsed_seconds=2.0, backlog_rows=0, held_up_seconds=2.5).seconds == pytest.approx(1.2)
