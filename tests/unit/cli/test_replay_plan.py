from pathlib import Path

import pyarrow as pa
import pytest

from streamshed.cli.replay_plan import ReplayRequest, plan_replay
from streamshed.errors import StreamshedError
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.trace import trace_of

SECOND = 1_000_000
TRACE = trace_of(
    pa.table(
        {
            "ts": pa.array([n * SECOND // 10 for n in range(100)], pa.timestamp("us", "UTC")),
            "size": range(100),
        }
    )
)


def test_by_default_the_trace_once_as_fast_as_it_was() -> None:
    plan = plan_replay(TRACE, ReplayRequest())
    assert (plan.rows, plan.passes) == (100, 1.0)
    assert plan.rows_per_second == pytest.approx(10)
    assert plan.profile.duration_microseconds == pytest.approx(10 * SECOND)


def test_twice_as_fast_takes_half_the_time() -> None:
    plan = plan_replay(TRACE, ReplayRequest(speed=2))
    assert plan.rows == 100
    assert plan.profile.duration_microseconds == pytest.approx(5 * SECOND)


def test_a_profile_multiplies_the_rows_per_second() -> None:
    plan = plan_replay(TRACE, ReplayRequest(rows_per_second=20, profile="1x:2s,5x:2s,1x:2s", repeat=True))
    assert (plan.rows, plan.passes) == (280, 2.8)


def test_rates_are_rows_per_second(tmp_path: Path) -> None:
    path = tmp_path / "rates.txt"
    path.write_text("10\n30\n")
    plan = plan_replay(TRACE, ReplayRequest(rates=path))
    assert (plan.rows, plan.rows_per_second) == (40, 1.0)


def test_a_duration_at_constant_load() -> None:
    assert plan_replay(TRACE, ReplayRequest(rows_per_second=10, duration_microseconds=3 * SECOND)).rows == 30


def test_a_trace_that_is_too_short_has_to_be_repeated_knowingly() -> None:
    with pytest.raises(InvalidReplayError, match=r"needs 200 rows, the trace has 100: add --repeat"):
        plan_replay(TRACE, ReplayRequest(rows_per_second=100, duration_microseconds=2 * SECOND))


def test_repeating_without_end_is_refused() -> None:
    with pytest.raises(InvalidReplayError, match="how long is the trace to be repeated"):
        plan_replay(TRACE, ReplayRequest(repeat=True))


@pytest.mark.parametrize(
    ("asked", "first", "second"),
    [
        (ReplayRequest(speed=1, rows_per_second=1), "--speed", "--rows-per-second"),
        (ReplayRequest(profile="1x:1s", duration_microseconds=1), "--profile", "--duration"),
        (ReplayRequest(rates=Path("r"), profile="1x:1s"), "--rates", "--profile"),
        (ReplayRequest(rates=Path("r"), speed=1), "--rates", "--speed"),
    ],
)
def test_what_excludes_each_other(asked: ReplayRequest, first: str, second: str) -> None:
    with pytest.raises(StreamshedError, match=f"{first} and {second} exclude each other"):
        plan_replay(TRACE, asked)


@pytest.mark.parametrize("asked", [ReplayRequest(rows_per_second=1e-300), ReplayRequest(speed=1e-300)])
def test_a_replay_that_would_never_end_is_refused(asked: ReplayRequest) -> None:
    with pytest.raises(InvalidReplayError, match="the 100 rows of the trace would take longer than a year at 1e-"):
        plan_replay(TRACE, asked)


@pytest.mark.parametrize("asked", [ReplayRequest(rows_per_second=1e300), ReplayRequest(speed=1.7e308)])
def test_rows_that_nothing_could_take_are_refused(asked: ReplayRequest) -> None:
    with pytest.raises(InvalidReplayError, match="at most 1e\\+09 rows per second"):
        plan_replay(TRACE, asked)
