from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed_bench.runs.ratios import Side, interleaved, median_interval, paired_ratios

# Ranks (from below) of the lower end of the 95 % interval of the median, from tables of the sign test.
RANKS = {6: 1, 8: 1, 9: 2, 12: 3, 20: 6, 25: 8, 30: 10, 32: 10, 40: 14, 50: 18}


def test_each_side_is_first_in_every_second_pair() -> None:
    order = interleaved(32)
    assert [order[first] for first in range(0, 8, 2)] == [Side.A, Side.B, Side.A, Side.B]
    assert order.count(Side.A) == order.count(Side.B) == 32


def test_no_side_has_more_than_two_turns_in_a_row() -> None:
    order = interleaved(10)
    assert all(
        len({first, second, third}) > 1 for first, second, third in zip(order, order[1:], order[2:], strict=False)
    )


def test_a_drift_weighs_on_both_sides_alike() -> None:
    order = interleaved(2)
    turns = {side: sum(turn for turn, who in enumerate(order) if who is side) for side in Side}
    assert turns[Side.A] == turns[Side.B]


def test_a_ratio_above_one_means_that_a_is_faster() -> None:
    assert paired_ratios((Side.A, Side.B, Side.B, Side.A), [1.0, 2.0, 3.0, 2.0]) == (2.0, 1.5)


@pytest.mark.parametrize(
    ("order", "seconds"),
    [((Side.A, Side.B), [1.0]), ((Side.A,), [1.0]), ((Side.A, Side.A), [1.0, 2.0])],
    ids=["fewer times", "half a pair", "twice the same"],
)
def test_what_is_no_pair_is_refused(order: tuple[Side, ...], seconds: list[float]) -> None:
    with pytest.raises(ValueError, match=r"expected one of each|two of each"):
        paired_ratios(order, seconds)


@pytest.mark.parametrize(("count", "rank"), RANKS.items())
def test_the_interval_has_the_ranks_of_the_sign_test(count: int, rank: int) -> None:
    interval = median_interval([float(value) for value in range(1, count + 1)])
    assert (interval.low, interval.high) == (rank, count + 1 - rank)


def test_few_values_give_an_interval_of_all() -> None:
    interval = median_interval([3.0, 1.0])
    assert (interval.low, interval.median, interval.high) == (1.0, 2.0, 3.0)


def test_no_values_have_no_median() -> None:
    with pytest.raises(ValueError, match="at least one"):
        median_interval([])


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=60))
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.median <= interval.high <= max(values)


@given(st.lists(st.floats(0.1, 10.0), min_size=1, max_size=40))
def test_more_confidence_widens_the_interval(values: list[float]) -> None:
    intervals = [median_interval(values, confidence=confidence) for confidence in (0.5, 0.8, 0.95, 0.99)]
    assert all(wide.low <= narrow.low and narrow.high <= wide.high for narrow, wide in pairwise(intervals))
