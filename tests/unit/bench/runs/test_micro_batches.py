import pytest

from streamshed_bench.runs.micro_batches import joint_rows_per_second, rows_per_second
from tests.unit.bench.measurements import one_after_another


def test_the_cold_micro_batch_does_not_count() -> None:
    assert rows_per_second(one_after_another(100, [50.0, 1.0, 3.0]), skipped=1) == 50.0


def test_nothing_left_to_count_is_refused() -> None:
    with pytest.raises(ValueError, match="all 1 micro-batches are skipped"):
        rows_per_second(one_after_another(100, [1.0]), skipped=1)


def test_side_by_side_the_slowest_decides() -> None:
    quick = one_after_another(100, [1.0, 1.0, 1.0])
    slow = one_after_another(100, [5.0, 5.0, 5.0], started=1.0)
    assert joint_rows_per_second([quick, slow], skipped=1) == 20.0


def test_side_by_side_from_the_first_start() -> None:
    early = one_after_another(100, [1.0, 1.0])
    late = one_after_another(100, [1.0, 1.0], started=2.0)
    assert joint_rows_per_second([early, late], skipped=0) == 50.0


@pytest.mark.parametrize(("lengths", "skipped"), [((2, 3), 0), ((2, 2), 2)])
def test_queries_over_different_micro_batches_are_refused(lengths: tuple[int, int], skipped: int) -> None:
    queries = [one_after_another(1, [1.0] * length) for length in lengths]
    with pytest.raises(ValueError, match="expected one number above"):
        joint_rows_per_second(queries, skipped=skipped)
