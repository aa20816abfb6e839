import numpy as np
import pytest

from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.load_profile import constant_load, parse_load_profile
from streamshed.traces.repeat import Pacing, Repetition, repeated
from tests.unit.traces.small_trace import START, small_table, small_trace

SECOND = 1_000_000


def test_steady_pacing_gives_every_interval_what_the_profile_says() -> None:
    repetition = Repetition(
        trace=small_trace(), profile=parse_load_profile("1x:2s,5x:2s,0x:1s,1x:1s"), rows_per_second=100
    )
    until = [repetition.rows_until(seconds * SECOND) for seconds in range(7)]
    assert np.diff(until).tolist() == [100, 100, 500, 500, 0, 100]


def test_steady_pacing_keeps_the_gaps_in_proportion() -> None:
    repetition = Repetition(trace=small_trace([0, 100, 400, 900]), profile=constant_load(SECOND), rows_per_second=4)
    # The pass takes 900 and one mean gap of 300.
    arrivals = repetition.arrivals(0, 4, begin=0, end=1200)
    assert arrivals.tolist() == [0, 100, 400, 900]
    assert repetition.arrivals(4, 8, begin=1200, end=2400).tolist() == [1200, 1300, 1600, 2100]


def test_rows_of_one_moment_are_spread_over_their_interval() -> None:
    repetition = Repetition(trace=small_trace([0, 0, 0, 0, 0, 1000]), profile=constant_load(SECOND), rows_per_second=4)
    assert repetition.arrivals(0, 4, begin=0, end=1000).tolist() == [0, 250, 500, 750]


def test_trace_pacing_keeps_bursts_and_the_mean() -> None:
    times = [*range(100), *range(100, 10_000, 99)]
    trace = small_trace(times)
    repetition = Repetition(
        trace=trace, profile=constant_load(10 * SECOND), rows_per_second=trace.rows, pacing=Pacing.TRACE
    )
    assert repetition.rows_until(10 * SECOND) == 10 * trace.rows
    assert repetition.rows_until(SECOND // 50) > 0.4 * trace.rows
    arrivals = repetition.arrivals(0, trace.rows, begin=0, end=SECOND)
    gaps, recorded = np.diff(arrivals), np.diff(times)
    assert np.allclose(gaps, recorded * SECOND / trace.period_microseconds, atol=1)


def test_trace_pacing_runs_at_the_factor_of_the_profile() -> None:
    trace = small_trace([0, 100, 200, 300])
    profile = parse_load_profile("1x:1s,4x:1s,0x:1s,1x:1s")
    repetition = Repetition(trace=trace, profile=profile, rows_per_second=4, pacing=Pacing.TRACE)
    until = [repetition.rows_until(seconds * SECOND) for seconds in range(5)]
    assert np.diff(until).tolist() == [4, 16, 0, 4]
    assert np.diff(repetition.arrivals(4, 20, begin=SECOND, end=2 * SECOND)).tolist() == [62_500] * 15
    assert repetition.arrivals(20, 24, begin=3 * SECOND, end=4 * SECOND)[0] == 3 * SECOND


@pytest.mark.parametrize("pacing", list(Pacing))
def test_event_time_goes_on_over_the_passes(pacing: Pacing) -> None:
    trace = small_trace()
    repetition = Repetition(trace=trace, profile=constant_load(SECOND), rows_per_second=trace.rows * 20, pacing=pacing)
    arrivals = repetition.arrivals(0, trace.rows * 20, begin=0, end=SECOND)
    times = repetition.event_times(0, trace.rows * 20, arrivals)
    assert (np.diff(times) >= 0).all()
    first_of_passes = times[:: trace.rows]
    assert (np.diff(first_of_passes) > 0).all()
    assert times[0] == START
    assert times[-1] < START + SECOND


def test_event_time_starts_where_it_is_told() -> None:
    repetition = Repetition(trace=small_trace(), profile=constant_load(SECOND), rows_per_second=6, start_microseconds=5)
    arrivals = repetition.arrivals(0, 6, begin=0, end=SECOND)
    assert repetition.event_times(0, 6, arrivals)[0] == 5


def test_rows_out_of_order_stay_so() -> None:
    trace = small_trace([0, 200, 100, 300])
    repetition = Repetition(trace=trace, profile=constant_load(SECOND), rows_per_second=4, pacing=Pacing.TRACE)
    arrivals = repetition.arrivals(0, 4, begin=0, end=SECOND)
    assert arrivals.tolist() == [0, 500_000, 500_000, 750_000]
    assert (repetition.event_times(0, 4, arrivals) - START).tolist() == [0, 500_000, 250_000, 750_000]


def test_a_null_time_stays_null() -> None:
    repetition = Repetition(trace=small_trace([0, None, 200]), profile=constant_load(SECOND), rows_per_second=3)
    rows = repetition.rows(1, 6, times=np.arange(5))
    assert [time is None for time in rows.column("ts").to_pylist()] == [True, False, False, True, False]
    assert rows.column("number").to_pylist() == [1, 2, 0, 1, 2]


def test_no_rows_no_arrivals() -> None:
    repetition = Repetition(trace=small_trace(), profile=constant_load(SECOND), rows_per_second=1)
    assert repetition.arrivals(3, 3, begin=0, end=1).tolist() == []
    assert repeated(small_table([0, 1]), 1, 1).num_rows == 0


def test_many_passes_are_taken_at_once() -> None:
    numbers = repeated(small_table([0, 1, 2]), 2, 1000).column("number")
    assert numbers.num_chunks == 1
    assert numbers.to_pylist() == [row % 3 for row in range(2, 1000)]


@pytest.mark.parametrize("rows_per_second", [0, -1, float("inf"), float("nan")])
def test_the_base_rate_must_be_above_zero(rows_per_second: float) -> None:
    with pytest.raises(InvalidReplayError, match="rows per second must be above 0"):
        Repetition(trace=small_trace(), profile=constant_load(1), rows_per_second=rows_per_second)


def test_the_interval_must_be_above_zero() -> None:
    with pytest.raises(InvalidReplayError, match="interval must last longer than 0"):
        Repetition(trace=small_trace(), profile=constant_load(1), rows_per_second=1, interval_microseconds=0)
