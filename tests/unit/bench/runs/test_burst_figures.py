import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamshed_bench.inputs.workload import SEVEN_QUERIES, SLIDE_SECONDS
from streamshed_bench.runs.burst_figures import (
    ShedMicroBatch,
    exact_windows,
    micro_batches_to_exact,
    percentile,
    windows_outside,
)
from tests.unit.bench.measurements import ran

BURST_END = 39.7


def course(*rates: float, seconds: float = 1.0, backlog: int = 0) -> list[ShedMicroBatch]:
    """Micro-batches every 2 s from 36 s on: two of the burst, then, from 40 s on, those after it."""
    return [
        ShedMicroBatch(time=ran(100, seconds, started=36.0 + 2.0 * number), sampling_rate=rate, backlog_rows=backlog)
        for number, rate in enumerate(rates)
    ]


def to_exact(micro_batches: list[ShedMicroBatch]) -> int:
    return micro_batches_to_exact(micro_batches, burst_end_seconds=BURST_END, trigger_seconds=2.0)


def test_the_micro_batch_with_the_last_rows_of_the_burst_is_the_first() -> None:
    assert to_exact(course(0.3, 0.3, 0.3, 1.0, 1.0)) == 2


def test_nothing_shed_after_the_burst() -> None:
    assert to_exact(course(0.3, 0.3, 1.0, 1.0)) == 1


def test_a_relapse_counts() -> None:
    assert to_exact(course(0.3, 0.3, 1.0, 1.0, 0.9, 1.0)) == 4


def test_a_backlog_counts() -> None:
    assert to_exact(course(0.3, 0.3, 1.0, 1.0, backlog=5)) == 3


def test_a_micro_batch_that_takes_too_long_counts() -> None:
    assert to_exact(course(1.0, 1.0, 1.0, seconds=2.5)) == 2


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 10.0), (0.95, 19.0), (0.951, 20.0), (1.0, 20.0)])
def test_percentiles_are_values_that_occurred(share: float, expected: float) -> None:
    assert percentile([float(value) for value in range(20, 0, -1)], share) == expected


@given(st.integers(0, 500), st.integers(0, 100), st.integers(0, 500))
def test_windows_outside_hold_rows_and_touch_no_burst(before: int, during: int, after: int) -> None:
    fed = (1000.0, 1000.0 + before + during + after)
    burst = (1000.0 + before, 1000.0 + before + during)
    sizes = {query.name: query.window_seconds for query in SEVEN_QUERIES}
    outside = windows_outside(SEVEN_QUERIES, fed_seconds=fed, burst_seconds=burst)
    for name, start in outside:
        end = start + sizes[name]
        assert start % SLIDE_SECONDS == 0
        assert start < fed[1]
        assert end > fed[0]
        assert end <= burst[0] or start >= burst[1]


def test_every_window_outside_is_found() -> None:
    outside = windows_outside(SEVEN_QUERIES[:1], fed_seconds=(0.0, 300.0), burst_seconds=(100.0, 200.0))
    assert sorted(start for _, start in outside) == [*range(-50, 50, 10), *range(200, 300, 10)]


def test_a_window_without_answer_is_not_exact() -> None:
    answers = {("q", 0): [True], ("q", 10): [True, False], ("q", 20): []}
    assert exact_windows(answers, [("q", 0), ("q", 10), ("q", 20), ("q", 30)]) == 1
