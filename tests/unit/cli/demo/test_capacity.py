import pytest

from streamshed.cli.demo.capacity import (
    FIRST_ROWS,
    Sample,
    capacity_of,
    is_settled,
    next_rows,
    trigger_seconds,
)


def micro_batch(rows: int, *, fixed: float = 0.5, per_row: float = 3e-6) -> Sample:
    return Sample(rows=rows, seconds=fixed + per_row * rows)


COLD = Sample(rows=50_000, seconds=14.0)
WARM = [COLD, micro_batch(0), *(micro_batch(rows) for rows in (200_000, 400_000, 450_000)), micro_batch(0)]


def test_the_capacity_is_what_fits_beside_the_fixed_cost() -> None:
    capacity = capacity_of(WARM)
    assert capacity.trigger_seconds == 2
    assert capacity.fixed_seconds == pytest.approx(0.5)
    assert capacity.seconds_per_row == pytest.approx(3e-6)
    assert capacity.rows_per_second == pytest.approx(1.5 / 3e-6 / 2)


def test_a_slow_micro_batch_among_the_last_does_not_matter() -> None:
    slow = Sample(rows=400_000, seconds=9.0)
    assert capacity_of([*WARM, slow]).seconds_per_row == pytest.approx(3e-6)


def test_where_nothing_ran_without_rows_all_time_is_for_rows() -> None:
    assert capacity_of([Sample(rows=1_000_000, seconds=2.0)]).rows_per_second == pytest.approx(500_000)


def test_a_micro_batch_faster_than_one_without_rows_is_no_division_by_zero() -> None:
    capacity = capacity_of([COLD, Sample(rows=0, seconds=1.0), Sample(rows=100, seconds=0.4)])
    assert capacity.rows_per_second > 0


def test_a_dear_fixed_cost_makes_the_interval_longer() -> None:
    samples = [COLD, micro_batch(0, fixed=2.1), *(micro_batch(100_000, fixed=2.1) for _ in range(3))]
    assert trigger_seconds(samples) == 6
    assert capacity_of(samples).rows_per_second == pytest.approx((6 - 2.1) / 3e-6 / 6)


def test_nothing_can_be_said_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one micro-batch with rows"):
        capacity_of([Sample(rows=0, seconds=1.0)])


def test_micro_batches_grow_until_they_fill_the_interval() -> None:
    samples: list[Sample] = []
    sizes = []
    for _ in range(11):
        assert not is_settled(samples)
        sizes.append(next_rows(samples))
        samples += [micro_batch(sizes[-1]), micro_batch(0)]
    assert sizes[0] == FIRST_ROWS
    assert sizes[1] > sizes[0]
    assert 0.5 + 3e-6 * sizes[-1] == pytest.approx(0.9 * 2, rel=0.05)
    assert is_settled(samples)


def test_growth_is_bounded_either_way() -> None:
    assert next_rows([Sample(rows=1000, seconds=0.01)]) == 3000
    assert next_rows([Sample(rows=1000, seconds=50.0)]) == 500


def test_cold_micro_batches_do_not_settle_anything() -> None:
    assert not is_settled([])
    assert not is_settled([COLD] * 10)
