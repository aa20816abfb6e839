from dataclasses import replace

import pytest

from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.demo.load import DemoLoad, load_for
from streamshed.cli.terminal.failure import RunFailedError

CAPACITY = Capacity(trigger_seconds=2, rows_per_second=200_000, fixed_seconds=0.5, seconds_per_row=4e-6)
LOAD = DemoLoad(trigger_seconds=2, rows_per_second=1000, phase_seconds=30)


def test_calm_burst_calm() -> None:
    assert (LOAD.burst_seconds, LOAD.duration_seconds) == ((30, 60), 100)
    assert [LOAD.factor_at(seconds) for seconds in (0, 29.9, 30, 59.9, 60, 99)] == [1, 1, 5, 5, 1, 1]
    assert LOAD.profile.duration_microseconds == 100_000_000
    assert LOAD.rows == LOAD.profile.rows_until(100_000_000, rows_per_second=1000)


def test_1x_is_comfortable_and_5x_is_overload() -> None:
    load = load_for(CAPACITY, seconds_left=1000, staging_seconds_per_row=0)
    assert load.rows_per_second < 0.5 * CAPACITY.rows_per_second
    assert 5 * load.rows_per_second > 1.5 * CAPACITY.rows_per_second


def test_phases_are_as_long_as_the_time_that_is_left_allows() -> None:
    phases = [
        load_for(CAPACITY, seconds_left=left, staging_seconds_per_row=1e-6).phase_seconds
        for left in (1000, 200, 160, 0)
    ]
    assert phases == sorted(phases, reverse=True)
    assert (phases[0], phases[-1]) == (40, 16)


def test_the_demo_ends_in_time() -> None:
    load = load_for(CAPACITY, seconds_left=160, staging_seconds_per_row=1e-6)
    assert load.duration_seconds + load.rows * (1e-6 + 2e-6) < 160


@pytest.mark.parametrize("trigger_seconds", [2, 3, 5, 7, 60])
@pytest.mark.parametrize("seconds_left", [0, 100, 200, 1000])
def test_the_load_changes_between_micro_batches(trigger_seconds: int, seconds_left: float) -> None:
    capacity = replace(CAPACITY, trigger_seconds=trigger_seconds)
    load = load_for(capacity, seconds_left=seconds_left, staging_seconds_per_row=1e-6)
    assert load.trigger_seconds == trigger_seconds
    assert load.phase_seconds % trigger_seconds == 0 < load.phase_seconds


def test_where_not_even_the_shortest_fits_the_demo_ends() -> None:
    with pytest.raises(RunFailedError, match=r"the shortest load would take \d+ s, and 50 s are left: this machine is"):
        load_for(CAPACITY, seconds_left=20, staging_seconds_per_row=1e-6, grace_seconds=30)
