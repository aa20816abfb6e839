import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed_bench.errors import UnmeasurableCostError
from streamshed_bench.runs.cost_fit import LinearCost, fit_cost
from tests.unit.bench.measurements import ran

SIZES = [100_000, 400_000] * 4


@given(fixed=st.floats(0.0, 2.0), per_row=st.floats(1e-7, 1e-5))
def test_a_line_is_found(fixed: float, per_row: float) -> None:
    cost = fit_cost([ran(rows, fixed + rows * per_row) for rows in SIZES])
    assert cost.seconds_per_row == pytest.approx(per_row, rel=1e-6)
    assert cost.fixed_seconds == pytest.approx(fixed, abs=1e-6)


def test_a_disturbed_micro_batch_does_not_matter() -> None:
    times = [0.5 + rows * 1e-6 for rows in SIZES]
    times[3] *= 10
    cost = fit_cost([ran(rows, seconds) for rows, seconds in zip(SIZES, times, strict=True)])
    assert cost.seconds_per_row == pytest.approx(1e-6, rel=0.05)


def test_the_fixed_cost_is_never_negative() -> None:
    assert fit_cost([ran(100, 0.1), ran(200, 0.3)]).fixed_seconds == 0.0


def test_one_size_is_refused() -> None:
    with pytest.raises(ValueError, match="clearly different sizes"):
        fit_cost([ran(100, 1.0), ran(110, 1.1)])


def test_micro_batches_without_rows_tell_what_is_fixed_and_nothing_of_rows() -> None:
    cost = fit_cost([ran(0, 0.5), ran(0, 0.5), ran(1000, 1.5)])
    assert (cost.fixed_seconds, round(cost.seconds_per_row, 9)) == (0.5, 0.001)
    with pytest.raises(UnmeasurableCostError, match="clearly different sizes"):
        fit_cost([ran(0, 0.5), ran(0, 0.7)])


def test_rows_that_cost_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="was the machine busy"):
        fit_cost([ran(100, 2.0), ran(200, 1.0)])


def test_no_rows_fit_into_less_than_the_fixed_cost() -> None:
    assert LinearCost(fixed_seconds=1.0, seconds_per_row=1e-6).rows_within(0.5) == 0.0
