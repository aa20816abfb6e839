import pytest

from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.load import comparison_seconds, load_for
from streamshed.cli.demo.patience import calibration_seconds, patience, waiting_until
from streamshed.cli.terminal.failure import RunFailedError

TOTAL_SECONDS, GRACE_SECONDS = 260.0, 45.0


def worst_seconds(*, start_up_seconds: float, capacity: Capacity) -> float:
    """How long a demo takes in which everything takes as long as it may."""
    staging_seconds_per_row = 2e-6
    elapsed = start_up_seconds
    elapsed += 2 * calibration_seconds(TOTAL_SECONDS - elapsed)
    load = load_for(
        capacity,
        seconds_left=TOTAL_SECONDS - GRACE_SECONDS - elapsed,
        staging_seconds_per_row=staging_seconds_per_row,
        grace_seconds=GRACE_SECONDS,
    )
    elapsed += load.rows * staging_seconds_per_row
    comparison = comparison_seconds(load, capacity)
    waits = patience(TOTAL_SECONDS - elapsed - load.duration_seconds - comparison)
    return elapsed + load.duration_seconds + waits.catch_up_seconds + waits.drain_seconds + comparison


@pytest.mark.parametrize("start_up_seconds", [15.0, 30.0, 60.0, 90.0, 120.0, 200.0])
@pytest.mark.parametrize(
    "capacity",
    [
        Capacity(trigger_seconds=2, rows_per_second=400_000, fixed_seconds=0.4, seconds_per_row=2e-6),
        Capacity(trigger_seconds=2, rows_per_second=50_000, fixed_seconds=0.5, seconds_per_row=15e-6),
        Capacity(trigger_seconds=9, rows_per_second=5_000, fixed_seconds=3.5, seconds_per_row=120e-6),
        Capacity(trigger_seconds=30, rows_per_second=500, fixed_seconds=12.0, seconds_per_row=1.2e-3),
    ],
)
def test_a_demo_ends_in_time_or_says_that_it_cannot(start_up_seconds: float, capacity: Capacity) -> None:
    try:
        seconds = worst_seconds(start_up_seconds=start_up_seconds, capacity=capacity)
    except RunFailedError as error:
        assert "this machine is too slow, or too busy, for the demo" in str(error)  # noqa: PT017 - either will do
    else:
        assert seconds <= TOTAL_SECONDS + 1


def test_on_a_quick_machine_nothing_is_cut_short() -> None:
    assert calibration_seconds(TOTAL_SECONDS - 25) == 55
    assert patience(100.0).catch_up_seconds == 30


def test_less_time_is_never_more_patience() -> None:
    waits = [patience(seconds) for seconds in range(-50, 200, 5)]
    assert [one.catch_up_seconds for one in waits] == sorted(one.catch_up_seconds for one in waits)
    assert [one.drain_seconds for one in waits] == sorted(one.drain_seconds for one in waits)
    limits = [calibration_seconds(seconds) for seconds in range(-50, 300, 5)]
    assert limits == sorted(limits)


def test_watching_goes_on_until_the_end_and_not_longer() -> None:
    slept: list[float] = []
    wait = waiting_until(10.0, clock=lambda: 4.0 + sum(slept), sleep=slept.append)
    assert [wait(2.0) for _ in range(4)] == [False, False, False, True]
    assert slept == [2.0] * 4
