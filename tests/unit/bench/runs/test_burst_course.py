from streamshed_bench.runs.burst_course import delays_of, slowest
from tests.unit.bench.measurements import ran


def test_who_keeps_up_is_late_by_an_interval_and_its_own_time() -> None:
    run = [ran(10, 1.0, started=100.0 + 2.0 * number) for number in range(1, 4)]
    assert delays_of(run, start_seconds=100.0) == ((3.0, 3.0), (5.0, 3.0), (7.0, 3.0))


def test_who_falls_behind_is_later_and_later() -> None:
    run = [ran(10, 4.0, started=2.0), ran(20, 8.0, started=6.0), ran(40, 16.0, started=14.0)]
    assert [delay for _, delay in delays_of(run, start_seconds=0.0)] == [6.0, 12.0, 24.0]


def test_nobody_ran() -> None:
    assert delays_of([], start_seconds=0.0) == ()


def test_the_slowest_at_each_time() -> None:
    fast = ((1.0, 1.0), (2.0, 1.0), (3.0, 1.0))
    slow = ((2.5, 9.0), (3.5, 0.5))
    assert slowest([fast, slow]) == ((1.0, 1.0), (2.0, 1.0), (2.5, 9.0), (3.0, 9.0), (3.5, 1.0))
