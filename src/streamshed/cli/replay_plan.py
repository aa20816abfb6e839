"""What a replay delivers and when, from what the command line says."""

from dataclasses import dataclass
from pathlib import Path

from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.load_profile import LoadProfile, constant_load, parse_load_profile, read_rates
from streamshed.traces.trace import Trace

_SECOND = 1_000_000
_MOST_ROWS_PER_SECOND = 1e9
_LONGEST_SECONDS = 366 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """How fast and how long a trace is to be replayed; None is what was not said.

    Args:
        speed: Multiplies the trace's own rows per second.
        rows_per_second: The base rate instead.
        profile: Load over time, as `parse_load_profile` reads it.
        rates: A file with the rows of every second instead.
        duration_microseconds: How long a constant load lasts.
        repeat: Begin the trace again at its end.
    """

    speed: float | None = None
    rows_per_second: float | None = None
    profile: str | None = None
    rates: Path | None = None
    duration_microseconds: int | None = None
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """Base rate and load over time; `passes` is how often the trace is delivered, in whole and in part."""

    rows_per_second: float
    profile: LoadProfile
    rows: int
    passes: float


def plan_replay(trace: Trace, request: ReplayRequest) -> ReplayPlan:
    """Settle a replay.

    Without profile, rates and duration the trace is delivered once.

    Raises:
        InvalidReplayError: Two things were asked for that exclude each other, the replay would take longer than a
            year or bring more than a row per nanosecond, or the trace is too short and `repeat` was not asked for.
        InvalidLoadProfileError: The profile cannot be read.
    """
    _check_exclusive(request)
    if request.rates is not None:
        rows_per_second, profile = 1.0, read_rates(request.rates)
    else:
        rows_per_second = request.rows_per_second or trace.rows_per_second * (request.speed or 1.0)
        _check_time(trace, request, rows_per_second)
        profile = _profile(trace, request, rows_per_second)
    rows = profile.rows_until(profile.duration_microseconds, rows_per_second=rows_per_second)
    if rows > trace.rows and not request.repeat:
        raise InvalidReplayError(
            f"the replay needs {rows:,} rows, the trace has {trace.rows:,}: add --repeat to begin it again,"
            " or choose a lower rate or a shorter time"
        )
    return ReplayPlan(rows_per_second=rows_per_second, profile=profile, rows=rows, passes=round(rows / trace.rows, 3))


def _profile(trace: Trace, request: ReplayRequest, rows_per_second: float) -> LoadProfile:
    if request.profile is not None:
        return parse_load_profile(request.profile)
    if request.duration_microseconds is not None:
        return constant_load(request.duration_microseconds)
    if request.repeat:
        raise InvalidReplayError("how long is the trace to be repeated? add --duration, --profile or --rates")
    return constant_load(max(1, round(trace.rows / rows_per_second * _SECOND)))


def _check_time(trace: Trace, request: ReplayRequest, rows_per_second: float) -> None:
    """Refuse what nobody can have meant, before it is counted in microseconds."""
    if rows_per_second > _MOST_ROWS_PER_SECOND:
        raise InvalidReplayError(
            f"a replay has at most {_MOST_ROWS_PER_SECOND:g} rows per second, got {rows_per_second:g}"
            " (--speed multiplies the trace's own)"
        )
    takes_as_long_as_its_rows = request.profile is None and request.duration_microseconds is None and not request.repeat
    if takes_as_long_as_its_rows and trace.rows > rows_per_second * _LONGEST_SECONDS:
        raise InvalidReplayError(
            f"the {trace.rows:,} rows of the trace would take longer than a year at {rows_per_second:g} rows per second"
        )


def _check_exclusive(request: ReplayRequest) -> None:
    given = {
        "--rates": request.rates is not None,
        "--profile": request.profile is not None,
        "--duration": request.duration_microseconds is not None,
        "--speed": request.speed is not None,
        "--rows-per-second": request.rows_per_second is not None,
    }
    pairs = (
        ("--speed", "--rows-per-second"),
        ("--profile", "--duration"),
        ("--rates", "--profile"),
        ("--rates", "--duration"),
        ("--rates", "--speed"),
        ("--rates", "--rows-per-second"),
    )
    for first, second in pairs:
        if given[first] and given[second]:
            raise InvalidReplayError(f"{first} and {second} exclude each other: leave one out")
