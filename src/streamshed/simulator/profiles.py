"""Load over time: how many rows have arrived by when."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """Rows per second as a piecewise linear function of time, so that arrivals are known exactly.

    Before the first point and after the last the load stays what it is there. Two points at the same time
    make a step.

    Args:
        times: Seconds of the points, ascending.
        rows_per_second: The load at each point.

    Raises:
        ValueError: There is no point, the lengths differ, times descend, or a load is negative.

    Example:
        >>> ramp(start_seconds=10, end_seconds=20, low=0, high=100).rows_before(20)
        500.0
    """

    times: tuple[float, ...]
    rows_per_second: tuple[float, ...]
    _areas: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.times or len(self.times) != len(self.rows_per_second):
            raise ValueError(
                f"load profile: expected as many times as loads and at least one,"
                f" got {len(self.times)} and {len(self.rows_per_second)}"
            )
        if any(later < earlier for earlier, later in pairwise(self.times)):
            raise ValueError(f"load profile: times must ascend, got {self.times}")
        if not all(math.isfinite(load) and load >= 0 for load in self.rows_per_second):
            raise ValueError(f"load profile: loads must be at least 0, got {self.rows_per_second}")
        pieces = (
            (later - earlier) * (low + high) / 2
            for (earlier, later), (low, high) in zip(pairwise(self.times), pairwise(self.rows_per_second), strict=True)
        )
        object.__setattr__(self, "_areas", tuple(accumulate(pieces, initial=0.0)))

    def load_at(self, seconds: float) -> float:
        """Return the rows per second at a time; at a step, those after it."""
        after = bisect_right(self.times, seconds)
        if after == 0:
            return self.rows_per_second[0]
        if after == len(self.times):
            return self.rows_per_second[-1]
        (earlier, later), (low, high) = (points[after - 1 : after + 1] for points in (self.times, self.rows_per_second))
        return low + (high - low) * (seconds - earlier) / (later - earlier)

    @property
    def peak_seconds(self) -> float:
        """When the load is at its largest for the first time."""
        return self.times[self.rows_per_second.index(max(self.rows_per_second))]

    def rows_before(self, seconds: float) -> float:
        """Return how many rows arrive from time 0 until `seconds`."""
        return self._integral(seconds) - self._integral(0.0)

    def _integral(self, seconds: float) -> float:
        """Return the rows from the first point until `seconds`; negative before it."""
        after = bisect_right(self.times, seconds)
        if after == 0:
            return (seconds - self.times[0]) * self.rows_per_second[0]
        since = seconds - self.times[after - 1]
        return self._areas[after - 1] + since * (self.rows_per_second[after - 1] + self.load_at(seconds)) / 2


def scaled(profile: LoadCurve, factor: float) -> LoadCurve:
    """Return a profile whose loads are so many times those of another.

    Example:
        >>> scaled(constant(50), 3.0).load_at(0)
        150.0
    """
    return LoadCurve(profile.times, tuple(factor * load for load in profile.rows_per_second))


def constant(rows_per_second: float) -> LoadCurve:
    """Return a load that never changes.

    Example:
        >>> constant(50).rows_before(4)
        200.0
    """
    return LoadCurve((0.0,), (rows_per_second,))


def burst(*, start_seconds: float, end_seconds: float, low: float, high: float) -> LoadCurve:
    """Return a load of `low` rows per second that is `high` from `start_seconds` to `end_seconds`.

    Example:
        >>> profile = burst(start_seconds=10, end_seconds=12, low=100, high=500)
        >>> profile.load_at(10), profile.load_at(12), profile.rows_before(20)
        (500.0, 100.0, 2800.0)
    """
    return steps(((0.0, low), (start_seconds, high), (end_seconds, low)))


def ramp(*, start_seconds: float, end_seconds: float, low: float, high: float) -> LoadCurve:
    """Return a load that goes evenly from `low` to `high` rows per second, and stays there."""
    return LoadCurve((start_seconds, end_seconds), (low, high))


def diurnal(*, low: float, high: float, days: int = 1) -> LoadCurve:
    """Return a load that is `low` at midnight and `high` at noon, evenly rounded in between: half a cosine each way.

    Example:
        >>> profile = diurnal(low=1, high=3)
        >>> [round(profile.load_at(hour * 3600), 3) for hour in (0, 6, 12, 18, 24)]
        [1.0, 2.0, 3.0, 2.0, 1.0]
    """
    times = range(0, days * _DAY + 1, _DIURNAL_STEP)
    return LoadCurve(
        tuple(map(float, times)),
        tuple(low + (high - low) * (1 - math.cos(2 * math.pi * time / _DAY)) / 2 for time in times),
    )


def flash_crowd(
    *, start_seconds: float, rise_seconds: float, half_life_seconds: float, low: float, high: float
) -> LoadCurve:
    """Return a load that rises from `low` to `high`, and wears off: half of the excess in each half-life.

    Example:
        >>> profile = flash_crowd(start_seconds=100, rise_seconds=60, half_life_seconds=600, low=1.0, high=10.0)
        >>> [round(profile.load_at(time), 2) for time in (0, 100, 160, 760, 1360, 1e9)]
        [1.0, 1.0, 10.0, 5.5, 3.25, 1.0]
    """
    peak_seconds = start_seconds + rise_seconds
    halves = [step / _STEPS_PER_HALF for step in range(_HALVES * _STEPS_PER_HALF + 1)]
    times = (start_seconds, *(peak_seconds + half * half_life_seconds for half in halves))
    loads = (low, *(low + (high - low) * 0.5**half for half in halves))
    return LoadCurve((*times, times[-1]), (*loads, low))


_DAY, _DIURNAL_STEP = 86_400, 300
_HALVES, _STEPS_PER_HALF = 10, 10


def from_rates(rows_per_second: Sequence[float], *, seconds_each: float = 1.0) -> LoadCurve:
    """Return a load given as one figure per interval of `seconds_each`; it ends with the last.

    Example:
        >>> from_rates([10, 30, 20]).rows_before(3)
        60.0
    """
    return steps(tuple((index * seconds_each, load) for index, load in enumerate(rows_per_second)))


def steps(levels: Sequence[tuple[float, float]]) -> LoadCurve:
    """Return a load that jumps to a level at each of the given times.

    Args:
        levels: Pairs of a time in seconds and the rows per second from then on, ascending.
    """
    times = [float(time) for time, _ in levels]
    loads = [float(load) for _, load in levels]
    return LoadCurve(
        tuple(time for index, time in enumerate(times) for time in ([time] if index == 0 else [time, time])),
        tuple(
            load for index, level in enumerate(loads) for load in ([level] if index == 0 else [loads[index - 1], level])
        ),
    )
