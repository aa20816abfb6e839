import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed.simulator.profiles import LoadCurve, burst, constant, from_rates, ramp, steps

PROFILES = [
    constant(7),
    burst(start_seconds=3, end_seconds=5, low=2, high=11),
    ramp(start_seconds=2, end_seconds=8, low=1, high=9),
    steps(((0.0, 1), (2.0, 5), (4.0, 1), (6.0, 5), (8.0, 1))),
    from_rates([3, 0, 8, 1]),
    steps(((1.0, 4.0), (2.0, 0.0))),
]


@pytest.mark.parametrize("profile", PROFILES)
@given(end=st.floats(0, 12))
def test_rows_are_the_integral_of_the_load(profile: LoadCurve, end: float) -> None:
    pieces = 600
    middle_sum = sum(profile.load_at((place + 0.5) * end / pieces) for place in range(pieces)) * end / pieces
    assert profile.rows_before(end) == pytest.approx(middle_sum, abs=0.5)


@pytest.mark.parametrize("profile", PROFILES)
@given(times=st.lists(st.floats(0, 50), min_size=2, max_size=2))
def test_rows_never_unarrive(profile: LoadCurve, times: list[float]) -> None:
    earlier, later = sorted(times)
    assert profile.rows_before(earlier) <= profile.rows_before(later) + 1e-9


def test_a_step_takes_effect_at_its_time() -> None:
    profile = burst(start_seconds=10, end_seconds=20, low=1, high=5)
    assert [profile.load_at(time) for time in (9.999, 10, 19.999, 20, 1e9)] == [1, 5, 5, 1, 1]


def test_a_week_of_rates_is_looked_up_quickly_enough_to_be_exact() -> None:
    week = from_rates([float(second % 100) for second in range(7 * 24 * 3600)])
    assert week.rows_before(7 * 24 * 3600) == pytest.approx(49.5 * 7 * 24 * 3600)


@pytest.mark.parametrize(
    ("times", "loads", "message"),
    [
        ((), (), "at least one"),
        ((0.0, 1.0), (1.0,), "as many times as loads"),
        ((1.0, 0.0), (1.0, 1.0), "times must ascend"),
        ((0.0,), (-1.0,), "loads must be at least 0"),
        ((0.0,), (float("nan"),), "loads must be at least 0"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(times: tuple[float, ...], loads: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LoadCurve(times, loads)
