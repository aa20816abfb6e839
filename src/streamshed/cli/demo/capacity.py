"""How many rows per second a machine sustains, from micro-batches of known size and time."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.network.run.load_prior import LoadPrior

FIRST_ROWS = 50_000
_SHORTEST_TRIGGER_SECONDS, _TRIGGER_BY_FIXED = 2, 2.5
_WARM = 5
_FASTER = 1.05
_FULL = 0.9
_MOST_GROWTH, _LEAST_GROWTH = 3.0, 0.5
_LEAST_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One micro-batch: its rows, and how long it took."""

    rows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a machine sustains at a trigger interval T: (T − fixed)/(T · per row).

    Args:
        trigger_seconds: T.
        rows_per_second: The same as a number.
        fixed_seconds: What a micro-batch takes without rows.
        seconds_per_row: What each row adds.
    """

    trigger_seconds: int
    rows_per_second: float
    fixed_seconds: float
    seconds_per_row: float

    @property
    def prior(self) -> LoadPrior:
        """What a control loop may believe from the start."""
        return LoadPrior(
            fixed_seconds=max(self.fixed_seconds, _LEAST_SECONDS),
            seconds_per_row=self.seconds_per_row,
            is_measured=True,
        )


def capacity_of(samples: Sequence[Sample]) -> Capacity:
    """Estimate the capacity from the latest micro-batches, when the machine is warm.

    Args:
        samples: In order, with rows and without; the first ones are slow, since nothing is compiled yet.

    Returns:
        The capacity: medians of the last five micro-batches with rows, and of the last five without.

    Raises:
        ValueError: No micro-batch has rows.

    Example:
        >>> samples = [Sample(rows=9_000, seconds=9.0), Sample(rows=0, seconds=0.5)]
        >>> samples += [Sample(rows=400_000, seconds=1.5), Sample(rows=600_000, seconds=2.0)]
        >>> capacity = capacity_of(samples)
        >>> round(capacity.rows_per_second), capacity.fixed_seconds, capacity.seconds_per_row
        (300000, 0.5, 2.5e-06)
    """
    loaded = loaded_samples(samples)
    if not loaded:
        raise ValueError("calibration needs at least one micro-batch with rows, got none")
    trigger = trigger_seconds(samples)
    fixed = min(_fixed_seconds(samples), *(0.9 * sample.seconds for sample in loaded[-_WARM:]))
    per_row = statistics.median((sample.seconds - fixed) / sample.rows for sample in loaded[-_WARM:])
    return Capacity(
        trigger_seconds=trigger,
        rows_per_second=(trigger - fixed) / per_row / trigger,
        fixed_seconds=fixed,
        seconds_per_row=per_row,
    )


def trigger_seconds(samples: Sequence[Sample]) -> int:
    """Choose the trigger interval: 2 s, or more where a micro-batch without rows takes long already.

    Example:
        >>> trigger_seconds([Sample(rows=9_000, seconds=9.0), Sample(rows=0, seconds=0.5)])
        2
        >>> trigger_seconds([Sample(rows=9_000, seconds=9.0), Sample(rows=0, seconds=1.5)])
        4
    """
    return max(_SHORTEST_TRIGGER_SECONDS, math.ceil(_TRIGGER_BY_FIXED * _fixed_seconds(samples)))


def next_rows(samples: Sequence[Sample]) -> int:
    """Say how many rows the next micro-batch should have, to take about nine tenths of the interval."""
    loaded = loaded_samples(samples)
    if not loaded:
        return FIRST_ROWS
    last = loaded[-1]
    growth = _FULL * trigger_seconds(samples) / max(last.seconds, 1e-3)
    return round(last.rows * min(_MOST_GROWTH, max(_LEAST_GROWTH, growth)))


def is_settled(samples: Sequence[Sample]) -> bool:
    """Whether the last micro-batches took about one interval, and no longer get faster, as Java compiles what runs.

    Example:
        >>> is_settled([Sample(rows=400_000, seconds=1.8)] * 10)
        True
        >>> is_settled([Sample(rows=400_000 + 30_000 * number, seconds=1.8) for number in range(10)])
        False
    """
    loaded, trigger = loaded_samples(samples), trigger_seconds(samples)
    before, last = loaded[-2 * _WARM : -_WARM], loaded[-_WARM:]
    if len(before) < _WARM or not all(0.6 <= sample.seconds / trigger <= 1.5 for sample in last[-2:]):
        return False
    earlier, now = (statistics.median(sample.rows / sample.seconds for sample in some) for some in (before, last))
    return now <= _FASTER * earlier


def _fixed_seconds(samples: Sequence[Sample]) -> float:
    """What the latest micro-batches without rows took; the first one of all compiles, and does not count."""
    idle = [sample.seconds for sample in samples[1:] if not sample.rows]
    return statistics.median(idle[-_WARM:]) if idle else 0.0


def loaded_samples(samples: Sequence[Sample]) -> list[Sample]:
    """Those that have rows."""
    return [sample for sample in samples if sample.rows > 0]
