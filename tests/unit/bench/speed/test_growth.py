import pytest

from streamshed_bench.speed.throughput import worst_doubling


def test_the_worst_pair_of_neighbors_counts() -> None:
    assert worst_doubling({1: 100.0, 2: 50.0, 4: 10.0, 8: 9.0}) == pytest.approx(5.0)


def test_distant_sizes_are_brought_to_a_doubling() -> None:
    assert worst_doubling({1: 64.0, 64: 1.0}) == pytest.approx(2.0)


def test_what_gets_faster_grows_by_less_than_one() -> None:
    assert worst_doubling({1: 1.0, 2: 2.0}) == pytest.approx(0.5)


def test_one_size_does_not_grow() -> None:
    with pytest.raises(ValueError, match="at least two sizes, got 1"):
        worst_doubling({7: 1.0})
