import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from streamshed.traces.staged_feed import StagedFeed
from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.inputs.workload import SEVEN_QUERIES
from streamshed_bench.runs.burst_feed import event_seconds
from streamshed_bench.runs.burst_figures import ShedMicroBatch, Window, windows_outside
from streamshed_bench.runs.burst_sizes import BURST_FACTOR, CALM_LOAD, FULL, HEADROOM, QUICK
from streamshed_bench.runs.calibration import Capacity
from streamshed_bench.runs.cost_fit import LinearCost
from streamshed_bench.runs.pictures import draw_burst
from streamshed_bench.speed.burst import NATIVE, BurstOutcome, course_of, figures_of
from streamshed_bench.speed.burst_runs import OurBurst
from tests.unit.bench.measurements import ran

CAPACITY = Capacity(
    cost=LinearCost(fixed_seconds=0.4, seconds_per_row=1e-6),
    unsheddable=LinearCost(fixed_seconds=0.4, seconds_per_row=2e-7),
)
FEED = StagedFeed(
    folder=Path("staged"),
    files=(),
    duration_seconds=FULL.seconds * FULL.event_speed,
    start_microseconds=1_735_689_600_000_000,
    next_offsets=(),
)
START = 1000.0 - 0.3


def micro_batches() -> tuple[ShedMicroBatch, ...]:
    """One per trigger interval, each with what came in the interval before it; shed while it was the burst's."""
    rows = CAPACITY.calm_rows_per_second(2.0) * 2.0
    found = []
    for number in range(FULL.micro_batches):
        in_burst = FULL.before <= number < FULL.before + FULL.during
        found.append(
            ShedMicroBatch(
                time=ran(
                    round(rows * (BURST_FACTOR if in_burst else 1.0)),
                    1.6 if in_burst else 1.4,
                    started=1000.0 + 2.0 * (number + 1),
                ),
                sampling_rate=0.3 if in_burst else 1.0,
                backlog_rows=0,
            )
        )
    return tuple(found)


def outside() -> frozenset[Window]:
    def event(clock: float) -> float:
        return event_seconds(FEED, clock, FULL)

    begin, end = FULL.burst_seconds
    return windows_outside(
        SEVEN_QUERIES,
        fed_seconds=(event(0.0), event(FULL.seconds)),
        burst_seconds=(event(begin), event(end)),
    )


def outcome() -> BurstOutcome:
    answers: defaultdict[Window, list[bool]] = defaultdict(list)
    answers.update({window: [True] for window in outside()})
    ours = OurBurst(start_seconds=START, micro_batches=micro_batches(), answers=answers, worst_lateness_seconds=0.001)
    return BurstOutcome(capacity=CAPACITY, feed=FEED, ours=ours, others={NATIVE: ((5.0, 5.0), (50.0, 45.0))})


def test_a_burst_that_is_mastered() -> None:
    figures = figures_of(outcome(), FULL)
    assert figures["p95_time_ratio"] == pytest.approx(0.8)
    assert figures["micro_batches"] == 60
    assert figures["microbatches_to_exact"] == 2
    assert figures["exact_windows_outside_burst"] == figures["windows_outside_burst"] > 100
    assert figures["least_sampling_rate"] == 0.3
    assert figures["worst_delay_native_seconds"] == 45.0


def test_an_inexact_window_outside_the_burst_is_seen() -> None:
    measured = outcome()
    window = next(iter(outside()))
    answers = {**measured.ours.answers, window: [True, False]}
    figures = figures_of(replace(measured, ours=replace(measured.ours, answers=answers)), FULL)
    assert figures["exact_windows_outside_burst"] == figures["windows_outside_burst"] - 1


def test_the_unsheddable_share_is_that_of_a_micro_batch_of_the_burst() -> None:
    rows = BURST_FACTOR * CAPACITY.calm_rows_per_second(2.0) * 2.0
    expected = (0.4 + rows * 2e-7) / (0.4 + rows * 1e-6)
    assert figures_of(outcome(), FULL)["unsheddable_share"] == pytest.approx(expected)


def test_figures_fit_into_json() -> None:
    figures = figures_of(outcome(), FULL)
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_the_load_is_relative_to_what_is_sustained() -> None:
    course = course_of(outcome(), FULL)
    assert max(load for _, load in course.load) == pytest.approx(CALM_LOAD * BURST_FACTOR, rel=1e-3)


def test_what_is_sustained_fits_the_headroom() -> None:
    rows = CAPACITY.rows_per_second(2.0) * 2.0
    assert CAPACITY.cost.seconds(rows) == pytest.approx(HEADROOM * 2.0)


def test_a_machine_too_slow_for_the_trigger_interval_is_said() -> None:
    slow = replace(CAPACITY, cost=LinearCost(fixed_seconds=3.0, seconds_per_row=1e-6))
    with pytest.raises(UnfinishedBenchmarkError, match=r"3\.00 s without any row"):
        slow.rows_per_second(2.0)


def test_the_burst_takes_whole_micro_batches() -> None:
    for sizes in (FULL, QUICK):
        assert sizes.profile.duration_microseconds == sizes.seconds * sizes.event_speed * 1e6
        begin, end = sizes.burst_seconds
        assert begin % sizes.trigger_seconds == end % sizes.trigger_seconds == 0
        assert (sizes.trigger_seconds / sizes.file_seconds).is_integer()


def test_the_full_benchmark_has_enough_micro_batches() -> None:
    assert FULL.micro_batches >= 40
    assert not FULL.left_out
    assert QUICK.left_out


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    draw_burst(tmp_path / "burst.png", course_of(outcome(), FULL))
    assert (tmp_path / "burst.png").read_bytes().startswith(b"\x89PNG")
